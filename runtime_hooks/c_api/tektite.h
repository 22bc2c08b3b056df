/* The C interface of the Tektite compiler: the only header a host includes.
 *
 * A host (the TensorFlow hook, the `tektite` command) hands over graphs as serialized GraphDef
 * bytes and tensors as plain pointers.  No C++ type, no protobuf message and no abseil type crosses
 * this line, so the host and the compiler may be built against different versions of each
 * (examples/host/main.cc is a host).
 * Example(tektite_options* options, const void* graph, size_t size, tektite_call* call):
 *   tektite_status status;
 *   tektite_compiler* compiler = tektite_compiler_create(options, &status);
 *   tektite_cluster* cluster = tektite_cluster_create(compiler, "name", graph, size, &status);
 *   if (tektite_cluster_run(cluster, call, &status) != TEKTITE_OK) return;  // nothing ran it
 *
 * Rules: every function is thread-safe unless it says otherwise; nothing is thrown; nothing aborts
 * the process; a returned string is released with tektite_string_free; sizes are in bytes; dtype
 * numbers are those of tensorflow.DataType; dimensions are row-major, outermost first.
 */
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_TEKTITE_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_TEKTITE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEKTITE_ABI_VERSION 7
#define TEKTITE_API __attribute__((visibility("default")))

/* The numbers are those of absl::StatusCode. */
typedef enum tektite_code {
  TEKTITE_OK = 0,
  TEKTITE_CANCELLED = 1, /* tektite_call.is_cancelled said so */
  TEKTITE_INVALID_ARGUMENT = 3,
  TEKTITE_DEADLINE_EXCEEDED = 4, /* compiling took more than its budget */
  TEKTITE_NOT_FOUND = 5,
  TEKTITE_RESOURCE_EXHAUSTED = 8,
  TEKTITE_FAILED_PRECONDITION = 9,
  TEKTITE_ABORTED = 10,       /* the card that the code is for was lost to this process */
  TEKTITE_UNIMPLEMENTED = 12, /* no code for this graph or shape: an ordinary answer */
  TEKTITE_INTERNAL = 13,
  TEKTITE_UNAVAILABLE = 14 /* not compiled yet: use the host's kernels meanwhile; of a compiler:
                              there is no card, or no driver for it */
} tektite_code;

/* Why the host's own kernels run a call.  The names without the prefix are keys of statistics;
 * tektite_list("reasons") says what each means.  A host's own reasons are the host's to number. */
typedef enum tektite_fallback {
  TEKTITE_FALLBACK_NONE = 0,
  TEKTITE_FALLBACK_BAD_ARGUMENT,
  TEKTITE_FALLBACK_CANCELLED,
  TEKTITE_FALLBACK_CHECK_FAILED,
  TEKTITE_FALLBACK_COMPARING,
  TEKTITE_FALLBACK_DEVICE_LOST,
  TEKTITE_FALLBACK_INTERNAL_ERROR,
  TEKTITE_FALLBACK_MEASURING_HOST,
  TEKTITE_FALLBACK_NOT_COMPILED,
  TEKTITE_FALLBACK_NO_CODE,
  TEKTITE_FALLBACK_NO_MEMORY,
  TEKTITE_FALLBACK_OVER_BUDGET,
  TEKTITE_FALLBACK_SLOWER_THAN_HOST,
  TEKTITE_FALLBACK_TOO_MANY_FAILURES
} tektite_fallback;

/* Filled by every call that takes one; the message is one line, always terminated. */
typedef struct tektite_status {
  int32_t code;
  int32_t fallback; /* of tektite_cluster_run, the tektite_fallback; of all else 0 */
  char message[504];
} tektite_status;
typedef struct tektite_compiler tektite_compiler;
typedef struct tektite_cluster tektite_cluster;

/* TEKTITE_ABI_VERSION the library was built with; a host checks it before any other call. */
TEKTITE_API int32_t tektite_abi_version(void);
/* Build identification for people, such as "0.1.0 (llvm 22.1.8)"; static storage. */
TEKTITE_API const char* tektite_version(void);
TEKTITE_API void tektite_string_free(char* text);

/* ---- compiler ---------------------------------------------------------- */

/* Memory of the host's, 64-byte aligned, for what is kept from call to call: results computed from
 * weights alone, and what calls work in.  NULL when there is none; the compiler then takes the
 * system's.  Called on any thread. */
typedef void* (*tektite_memory_allocate_fn)(void* context, size_t bytes);
typedef void (*tektite_memory_release_fn)(void* context, void* block);

typedef struct tektite_options {
  size_t struct_size;       /* sizeof(tektite_options) */
  const char* flags;        /* "--name=value --other=value", as in TEKTITE_FLAGS; may be NULL.
                               A flag that is unknown or malformed is reported on stderr in one
                               line that names it, and otherwise ignored. */
  const char* backend;      /* "cpu", "gpu", "reference"; NULL: the best one that --device allows */
  const char* host;         /* "tensorflow 2.21.0": caches keep hosts apart; may be NULL */
  const char* host_kernels; /* whose speed measured results are about, for later processes:
                               "TensorFlow with oneDNN"; may be NULL */
  void* memory_context; /* handed to the functions below, which must serve until the process ends */
  tektite_memory_allocate_fn memory_allocate; /* NULL: all memory is the system's */
  tektite_memory_release_fn memory_release;
  void* card_memory_context; /* the same for the card's memory, for a compiler that has one: what is
                                returned must be ready for every stream, and is given back when
                                nothing on the card uses it; NULL: the driver's */
  tektite_memory_allocate_fn card_memory_allocate;
  tektite_memory_release_fn card_memory_release;
} tektite_options;
/* NULL and a status when no back end can be made. */
TEKTITE_API tektite_compiler* tektite_compiler_create(const tektite_options* options,
                                                      tektite_status* status);
TEKTITE_API void tektite_compiler_destroy(tektite_compiler* compiler);

/* The value of a flag that is a number or a bool (0 or 1); `otherwise`: there is none. */
TEKTITE_API int64_t tektite_flag(const tektite_compiler* compiler, const char* name,
                                 int64_t otherwise);
/* Counters and reasons so far, as JSON: jit/serving/compiler_state.h says which. */
TEKTITE_API char* tektite_stats_json(tektite_compiler* compiler);

/* ---- clustering --------------------------------------------------------- */

typedef enum tektite_mark_mode {
  TEKTITE_MARK_ALL = 0,   /* every node that can be compiled and is worth it */
  TEKTITE_MARK_SCOPED = 1 /* only nodes with _XlaCompile=true */
} tektite_mark_mode;

typedef struct tektite_mark_options {
  size_t struct_size;
  int32_t mode;               /* tektite_mark_mode */
  const char* const* fetches; /* node names that must stay outside clusters' insides; may be NULL */
  int32_t num_fetches;
  int32_t inline_calls; /* not 0: as if the bodies of called functions stood in the places of the
                           calls, under the names "call/node" */
  const char* const* card_devices; /* devices of cards, by the names that nodes have of them, whose
                                      clusters the host gives to a compiler for that card; nodes
                                      on other cards are left out */
  int32_t num_card_devices;
  int32_t is_function;  /* not 0: the graph is a function's, which the host can call past its own
                           runtime where one cluster is all that it does */
  const char* function; /* the host's name of that function, for clusters' names; may be NULL */
} tektite_mark_options;
typedef struct tektite_marked_node {
  const char* name;
  /* NULL: as the graph has it.  Otherwise bytes of a NodeDef: the node of that name gets its op and
   * inputs, and what only the old one needed goes. */
  const void* rewritten;
  size_t rewritten_size;
} tektite_marked_node;
typedef struct tektite_marked_cluster {
  const char* name;
  const tektite_marked_node* nodes;
  int32_t num_nodes;
} tektite_marked_cluster;
typedef struct tektite_marking {
  const tektite_marked_cluster* clusters;
  int32_t num_clusters;
} tektite_marking;

/* Decides which nodes of a placed GraphDef are compiled together.  Nodes are matched by name.
 * _XlaCompile=false is respected in both modes; nodes with different _XlaScope or different
 * devices never share a cluster.  With --keep_loops functional loops and branches (While, If, Case)
 * may be members, if they carry _lower_using_switch_merge or _tektite_kept and the graph's library
 * has their functions; with --take_over_xla also calls with _XlaMustCompile.  NULL and a status for
 * bytes that are no GraphDef. */
TEKTITE_API tektite_marking* tektite_mark(tektite_compiler* compiler, const void* graph_def,
                                          size_t size, const tektite_mark_options* options,
                                          tektite_status* status);
TEKTITE_API void tektite_marking_destroy(tektite_marking* marking);
/* Whether a kernel of this TensorFlow op, such as "AssignVariableOp", changes the resource
 * variables among its inputs: 1 or 0.  For an op that runs functions, their nodes say so. */
TEKTITE_API int32_t tektite_op_assigns(const char* op);

/* ---- clusters ----------------------------------------------------------- */

/* `graph_def` is a closed graph whose inputs are `_Arg` nodes (attr `index`, `T`) and whose outputs
 * are `_Retval` nodes (attr `index`, `T`).  An `_Arg` of DT_RESOURCE stands for a variable; the
 * host passes the variable's value in its place at run time; the attr `_tektite_updated` says that
 * it changes with every run, so that nothing is arranged for keeping what is computed from it
 * alone.  Control edges say how reads and assignments of a variable follow each other.  Nothing is
 * compiled yet. */
TEKTITE_API tektite_cluster* tektite_cluster_create(tektite_compiler* compiler, const char* name,
                                                    const void* graph_def, size_t size,
                                                    tektite_status* status);
/* The same from the text form of the tensor IR (the first graph of the text). */
TEKTITE_API tektite_cluster* tektite_cluster_create_from_ir(tektite_compiler* compiler,
                                                            const char* name, const char* text,
                                                            size_t size, tektite_status* status);
TEKTITE_API void tektite_cluster_destroy(tektite_cluster* cluster);
TEKTITE_API int32_t tektite_cluster_num_args(const tektite_cluster* cluster);
TEKTITE_API int32_t tektite_cluster_num_results(const tektite_cluster* cluster);

/* Which memory a tensor lies in.  The host's is what any pointer of the process reaches; the
 * device's is that of the card on which the cluster's code runs.  Code for the host's CPU refuses
 * tensors of a device; code for a card copies those of the host. */
typedef enum tektite_space { TEKTITE_HOST = 0, TEKTITE_DEVICE = 1 } tektite_space;

typedef struct tektite_tensor {
  const void* data; /* NULL is fine when there are no elements */
  const int64_t* dims;
  int32_t rank;
  int32_t dtype;
  uint64_t version; /* 0: the content may change between calls.  Otherwise: in calls of this cluster
                       that pass the same version for this argument the content is the same, so that
                       what was computed from it alone may be kept. */
  int32_t space;    /* tektite_space: where `data` lies */
} tektite_tensor;

/* Runs `fn(arg)` once, some time, on another thread.  Must not block; may drop nothing. */
typedef void (*tektite_schedule_fn)(void* context, void (*fn)(void* arg), void* arg);
/* Returns memory (64-byte aligned) for result `index`, or NULL when there is none.  For a result
 * whose values decide how many rows it has it is called when they have been computed. */
typedef void* (*tektite_allocate_fn)(void* context, int32_t index, int32_t dtype, int32_t rank,
                                     const int64_t* dims);
/* Result `index` is argument `arg` unchanged: the host may share the buffer.  Returns 0 when done,
 * otherwise the compiler copies. */
typedef int32_t (*tektite_forward_fn)(void* context, int32_t index, int32_t arg);

/* The new value of argument `arg`, a variable that the cluster assigns to. */
typedef struct tektite_update {
  int32_t arg;
  int32_t in_place; /* not 0: `memory` may be the argument's own */
  void* memory;     /* the host's answer, 64-byte aligned: where the new value is to be written; in
                       the memory that the argument lies in */
} tektite_update;
/* Called at most once, when nothing can fail any more: `updates` are all that the call makes, and
 * count when it has returned.  Not 0: the host does not allow them; the call then fails without
 * having changed anything. */
typedef int32_t (*tektite_begin_updates_fn)(void* context, tektite_update* updates,
                                            int32_t num_updates);
/* Returns nonzero when the caller no longer waits for the call.  Called now and then, on any
 * thread, until updates begin; calls of less than a millisecond do not ask. */
typedef int32_t (*tektite_is_cancelled_fn)(void* context);
/* Runs the call with the host's own kernels; returns TEKTITE_OK, or how that failed.  why->fallback
 * is the reason; where compiled code refused the call, code and message are its.  The host may
 * release tektite_call.args.  Of TEKTITE_FALLBACK_MEASURING_HOST, TEKTITE_UNAVAILABLE says that the
 * kernels are still to be made and nothing has happened: compiled code then runs the call, and none
 * waits for kernels that only a comparison needs. */
typedef int32_t (*tektite_run_host_fn)(void* context, const tektite_status* why);

typedef struct tektite_call {
  size_t struct_size; /* sizeof(tektite_call); members that a host's header lacks count as NULL */
  const tektite_tensor* args;
  int32_t num_args;
  int32_t num_threads; /* size of the host's pool, the caller not counted; 0: run serially */
  void* context;       /* handed to the functions below */
  tektite_schedule_fn schedule; /* may be NULL when num_threads is 0 */
  tektite_allocate_fn allocate;
  tektite_forward_fn forward;             /* may be NULL */
  tektite_begin_updates_fn begin_updates; /* NULL: clusters with updates fail */
  int32_t reproducible; /* not 0: what runs is to depend on the graph and the sizes alone, as
                           --reproducible says of every call */
  tektite_is_cancelled_fn is_cancelled; /* may be NULL */
  tektite_run_host_fn run_host; /* NULL: the host has no kernels, so that compiled code runs what it
                                   can, and is made at the first call */
  int32_t if_won; /* without run_host, not 0: a call that the host can also make in another way,
                     with run_host.  Compiled code serves it where it is known to be faster and no
                     comparison is due; otherwise nothing happens (TEKTITE_FALLBACK_COMPARING) */
  double host_extra_ns; /* what such a call takes the host beside its kernels */
  int32_t among_others; /* not 0: other work of the host's follows on the same threads, so that no
                           worker stays for the next call */
  int32_t result_space; /* tektite_space: where `allocate` takes memory from */
  const int32_t* result_spaces; /* the same for each result; NULL: result_space for all */
  void* stream; /* the host's stream (a CUstream) of the card that the cluster's code is for: what
                   `args` hold of the card's memory is ready in its order, and so are results there,
                   and values that `begin_updates` asked for; the call returns before the card has
                   run it, unless results lie in the host's memory or it has to know a value.
                   The stream must be idle when the host destroys it.
                   NULL: all arguments are ready, and all results when the call returns */
  /* For a profiler: a kernel of that name begins on this thread; NULL: it ends.  May be NULL. */
  void (*trace)(void* context, const char* name);
} tektite_call;

/* Runs a call on the calling thread (and on the pool), by compiled code or by run_host, whichever
 * is faster on such calls (jit/serving/faster_side.h); by run_host where there is no code.  With
 * --compile=sync code is made when these shapes are new, with async in the background when that is
 * likely to pay.  A reproducible call waits for code for exactly its sizes, made as if no call had
 * come before; whether there is such code is the same in each of them.
 * TEKTITE_OK: the call has run, by run_host if status->fallback is not 0.  Otherwise no result may
 * be used and no argument was changed, or the code is run_host's. */
TEKTITE_API int32_t tektite_cluster_run(tektite_cluster* cluster, const tektite_call* call,
                                        tektite_status* status);
/* 1: compiled code is known to be faster at some shapes, from this process or an earlier one; with
 * --compare=false, it has run.  -1: it fails in a row, so that it is hardly tried.  0: neither. */
TEKTITE_API int32_t tektite_cluster_has_won(tektite_cluster* cluster);
/* "NO_CODE"; static storage.  NULL for a number that is no tektite_fallback. */
TEKTITE_API const char* tektite_fallback_code(int32_t fallback);

/* Has fn(arg) called on a thread that compiles, of low priority, when its turn comes; 0: it will
 * not be.  The end of the process drops calls that wait.  A child made by fork() makes the calls
 * that were waiting as well. */
TEKTITE_API int32_t tektite_run_in_background(void (*fn)(void*), void* arg);
/* Waits until nothing is being compiled, or about to be, in this process; what waited until it
 * would pay is compiled at once. */
TEKTITE_API void tektite_wait_until_compiled(void);
/* Drops what waits, and waits for what runs in the background; nothing is compiled there any more.
 * The end of the process does so too; unless its main thread made the first compiler, among other
 * libraries' destructors: a host with work of its own there stops it before they begin. */
TEKTITE_API void tektite_stop_background(void);

/* ---- the disk cache ------------------------------------------------------ */

/* Answers a question of `tektite cache` (docs/cache.md) about the directory that `flags` name (as
 * in tektite_options), with a table or a JSON text (tektite_format).  No compiler is needed, and
 * other processes may use the cache meanwhile.  `words`, where a KEY is the first digits of an
 * entry's: "ls" · "show" KEY · "why" · "diff" KEY KEY · "verify" [1: removes what is not whole] ·
 *   "gc" [BYTES, else the bound of --cache_mb] · "rm" KEY ... or none: all, and the directory ·
 *   "pack" DIRECTORY [1: everything, else what the last process used] · "sign" DIRECTORY SECRET ·
 *   "key" FILE (a new secret key; its public half, for --pack_key, goes to FILE.pub)
 * *count gets the entries that are not whole, or the parts in which two keys differ.
 * TEKTITE_NOT_FOUND when there is no cache, no such entry, or no recorded run. */
TEKTITE_API char* tektite_cache(const char* flags, const char* const* words, int32_t num_words,
                                int32_t format, int64_t* count, tektite_status* status);

/* The counters of a process that runs or ran, from the file it maps (--stats_file): `which` is the
 * file, or the process's number, whose file lies in the directory of the disk cache; NULL: the
 * newest.  TEKTITE_TEXT, TEKTITE_JSON or TEKTITE_PROMETHEUS. */
TEKTITE_API char* tektite_stats_read(const char* flags, const char* which, int32_t format,
                                     tektite_status* status);

/* ---- tools -------------------------------------------------------------- */

typedef enum tektite_format {
  TEKTITE_TEXT = 0,
  TEKTITE_JSON = 1,
  TEKTITE_DOT = 2,
  TEKTITE_PROMETHEUS = 3,
  TEKTITE_KERNELS = 4 /* of tektite_explain with sizes: text, with how each kernel is made */
} tektite_format;

/* Reports what would be compiled of a model file's bytes (GraphDef binary or text, or
 * saved_model.pb), and why the rest would not.  `sizes` not NULL: also compiles each cluster to
 * report the memory of its calls; "n0=8,n1=128" sets the sizes that the graph leaves open, under
 * the names of the report, and the compiler assumes one for those that are not named. */
TEKTITE_API char* tektite_explain(tektite_compiler* compiler, const void* model, size_t size,
                                  const char* sizes, int32_t format, tektite_status* status);
/* Turns a frozen GraphDef into a closed one (placeholders become _Arg, `outputs` or else the sinks
 * _Retval) for tektite_cluster_create.  `signature` gets the names, "x=f32[?,3];y->out", with types
 * where they are known.  The caller releases both; *closed_size gets the bytes' size. */
TEKTITE_API char* tektite_close_graph(const void* graph_def, size_t size, const char* outputs,
                                      size_t* closed_size, char** signature,
                                      tektite_status* status);
/* Runs passes ("canonicalize,fuse"; NULL or "": the whole pipeline) over IR text. */
TEKTITE_API char* tektite_transform_ir(tektite_compiler* compiler, const char* text, size_t size,
                                       const char* passes, tektite_status* status);
/* "passes", in pipeline order; "reasons", why an op is in no cluster and then why a call is the
 * host's; "flags" of tektite_options, as "name=default": a line each, with a tab and a sentence. */
TEKTITE_API char* tektite_list(const char* what);

#ifdef __cplusplus
}
#endif
#endif /* TEKTITE_RUNTIME_HOOKS_C_API_TEKTITE_H_ */
