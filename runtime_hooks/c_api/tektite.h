/* The C interface of the Tektite compiler: the only header a host includes.
 *
 * A host (the TensorFlow hook, the `tektite` command) hands over graphs as
 * serialized GraphDef bytes and tensors as plain pointers.  No C++ type, no
 * protobuf message and no abseil type crosses this line, so the host and the
 * compiler may be built against different versions of each (examples/host/main.cc is a host).
 * Example(tektite_options* options, const void* graph, size_t size, tektite_call* call):
 *   tektite_status status;
 *   tektite_compiler* compiler = tektite_compiler_create(options, &status);
 *   tektite_cluster* cluster = tektite_cluster_create(compiler, "name", graph, size, &status);
 *   if (tektite_cluster_run(cluster, call, &status) != TEKTITE_OK) return;  // the host computes
 *
 * Rules: every function is thread-safe unless it says otherwise; nothing is
 * thrown; nothing aborts the process; a returned string is released with
 * tektite_string_free; sizes are in bytes; dtype numbers are those of
 * tensorflow.DataType; dimensions are row-major, outermost first.
 */
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_TEKTITE_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_TEKTITE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEKTITE_ABI_VERSION 6
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

/* Why the host's own kernels ran instead of a cluster, or why it put none into a graph.  The names
 * without the prefix are keys of statistics; tektite_list_reasons says what each means. */
typedef enum tektite_fallback {
  TEKTITE_FALLBACK_NONE = 0,
  TEKTITE_FALLBACK_BAD_ARGUMENT,
  TEKTITE_FALLBACK_CANCELLED,
  TEKTITE_FALLBACK_CHECK_FAILED,
  TEKTITE_FALLBACK_CONTEST_OPEN,
  TEKTITE_FALLBACK_DEVICE_LOST,
  TEKTITE_FALLBACK_HOST_BODY,
  TEKTITE_FALLBACK_HOST_CONTROL_FLOW,
  TEKTITE_FALLBACK_HOST_CYCLE,
  TEKTITE_FALLBACK_HOST_DEVICE,
  TEKTITE_FALLBACK_HOST_EMPTY_CLUSTER,
  TEKTITE_FALLBACK_HOST_GAVE_WAY,
  TEKTITE_FALLBACK_HOST_GRAPH_TOO_LARGE,
  TEKTITE_FALLBACK_HOST_MARKING_FAILED,
  TEKTITE_FALLBACK_HOST_NO_BINDING,
  TEKTITE_FALLBACK_HOST_NO_CLUSTER,
  TEKTITE_FALLBACK_HOST_NO_OUTPUT,
  TEKTITE_FALLBACK_HOST_NO_TENSORS,
  TEKTITE_FALLBACK_HOST_REF_TYPE,
  TEKTITE_FALLBACK_HOST_UNLIKE_XLA,
  TEKTITE_FALLBACK_HOST_VARIABLE_ALIASED,
  TEKTITE_FALLBACK_HOST_VARIABLE_MISSING,
  TEKTITE_FALLBACK_HOST_VARIABLE_SPARSE,
  TEKTITE_FALLBACK_HOST_VARIABLE_TYPE,
  TEKTITE_FALLBACK_HOST_VARIABLE_UNINITIALIZED,
  TEKTITE_FALLBACK_INTERNAL_ERROR,
  TEKTITE_FALLBACK_MEASURING_HOST,
  TEKTITE_FALLBACK_NOT_COMPILED,
  TEKTITE_FALLBACK_NO_CODE,
  TEKTITE_FALLBACK_NO_MEMORY,
  TEKTITE_FALLBACK_OVER_BUDGET,
  TEKTITE_FALLBACK_SLOWER_THAN_HOST
} tektite_fallback;

/* Filled by every call that takes one; the message is one line, always terminated. */
typedef struct tektite_status {
  int32_t code;
  char message[508];
} tektite_status;

typedef struct tektite_compiler tektite_compiler;
typedef struct tektite_marking tektite_marking;
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
  size_t struct_size;   /* sizeof(tektite_options) */
  const char* flags;    /* "--name=value --other=value", as in TEKTITE_FLAGS; may be NULL.
                           A flag that is unknown or malformed is reported on stderr in one
                           line that names it, and otherwise ignored. */
  const char* backend;  /* "cpu", "gpu", "reference"; NULL: the best one that --device allows */
  const char* host;     /* "tensorflow 2.21.0": caches keep hosts apart; may be NULL */
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

/* The value of a flag that is a number or a bool (0 or 1); `otherwise` when there is none of that
 * name. */
TEKTITE_API int64_t tektite_flag(const tektite_compiler* compiler, const char* name,
                                 int64_t otherwise);

/* Counters and reasons since the compiler was made, as a JSON object ("kernels": compiled by this
 * process; "loaded_kernels": taken from the disk cache or a pack; "disk":
 * jit/cache/disk_counter_list.inc):
 * {"clusters": n, "compiles": n, "request_compiles": n (by calls, which waited for them),
 *  "compile_seconds": x, "load_seconds": x (for programs that were found on disk), "kernels": n,
 *  "kernel_cache_hits": n,
 *  "generic_artifacts": n, "specialized_artifacts": n (code for many shapes, for one),
 *  "generic_refusals": n, "generic_refusal_example": "..." (code for many shapes could not be
 * made), "guard_failures": n, "guard_failure_example": "..." (it did not fit a call's sizes),
 *  "runs": n, "fallbacks": {"REASON_CODE": n, ...}, "ops": n, "clustered_ops": n,
 *  "loaded_kernels": n, "disk": {"hits": n, "misses": n, ...},
 *  "split_fusions": n, "interpreted_kernels": n, "unsettled_graphs": n (simplifying was cut off),
 *  "host_side_kernels": n (steps of a card's programs that the host runs),
 *  "weight_bytes": n, "arena_bytes": n,
 *  "left_out": {"REASON_CODE": {"ops": n, "example": "..."}},
 *  "fallback_examples": {"REASON_CODE": "message of the first"}}
 * and with --profile_kernels also, the longest first,
 *  "profile": [{"cluster": "...", "kernel": "...", "runs": n, "microseconds": x, "flops": x,
 *               "bytes": n, "weight_bytes": n, "shape": "..."}]
 * ("cluster" is its name and the shape's number; flops and bytes are what one run has to do and to
 *  move at least, weight_bytes what of it are weights, shape says of what size it is, for people).
 */
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
                           calls, under the names "call/node"; a header that lacks it says 0 */
  const char* const* card_devices; /* devices of cards, by the names that nodes have of them, whose
                                      clusters the host gives to a compiler for that card; nodes
                                      on other cards are left out */
  int32_t num_card_devices;        /* a header that lacks it says 0 */
  int32_t is_function; /* not 0: the graph is a function's, which the host can call past its own
                          runtime where one cluster is all that it does; a header that lacks it
                          says 0 */
} tektite_mark_options;

/* Decides which nodes of a placed GraphDef are compiled together.  Nodes are matched by name.
 * _XlaCompile=false is respected in both modes; nodes with different _XlaScope or different
 * devices never share a cluster.  With --keep_loops functional loops and branches (While, If, Case)
 * may be members, if they carry _lower_using_switch_merge or _tektite_kept and the graph's library
 * has their functions; with --take_over_xla also calls with _XlaMustCompile.  NULL and a status for
 * bytes that are no GraphDef. */
TEKTITE_API tektite_marking* tektite_mark(tektite_compiler* compiler, const void* graph_def,
                                          size_t size, const tektite_mark_options* options,
                                          tektite_status* status);
TEKTITE_API int32_t tektite_marking_num_clusters(const tektite_marking* marking);
/* The names below live as long as the marking. */
TEKTITE_API const char* tektite_marking_cluster_name(const tektite_marking* marking,
                                                     int32_t cluster);
TEKTITE_API int32_t tektite_marking_num_nodes(const tektite_marking* marking, int32_t cluster);
TEKTITE_API const char* tektite_marking_node(const tektite_marking* marking, int32_t cluster,
                                             int32_t node);
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

typedef struct tektite_call {
  size_t struct_size; /* sizeof(tektite_call); members that a host's header lacks count as NULL */
  const tektite_tensor* args;
  int32_t num_args;
  int32_t num_threads; /* size of the host's pool, the caller not counted; 0: run serially */
  void* context;       /* handed to the functions below */
  tektite_schedule_fn schedule; /* may be NULL when num_threads is 0 */
  tektite_allocate_fn allocate;
  tektite_forward_fn forward; /* may be NULL */
  uint64_t*
      artifact; /* gets the number of the code that ran, newer code's being higher; may be NULL */
  tektite_begin_updates_fn begin_updates; /* NULL: clusters with updates fail */
  int32_t reproducible; /* not 0: what runs is to depend on the graph and the sizes alone, as
                           --reproducible says of every call */
  tektite_is_cancelled_fn is_cancelled; /* may be NULL */
  const int64_t* host_ns; /* nanoseconds that the host's own kernels have taken for this cluster so
                             far: with --compile=async code is made when compiling is likely to pay;
                             NULL: it is made at the first call */
  int32_t among_others;   /* not 0: other work of the host's follows on the same threads, so that no
                             worker stays for the next call */
  int32_t result_space;   /* tektite_space: where `allocate` takes memory from */
  const int32_t* result_spaces; /* the same for each result; NULL: result_space for all */
  void* stream; /* the host's stream (a CUstream) of the card that the cluster's code is for: what
                   `args` hold of the card's memory is ready in its order, and so are results there,
                   and values that `begin_updates` asked for; the call returns before the card has
                   run it, unless results lie in the host's memory or it has to know a value.
                   The stream must be idle when the host destroys it.
                   NULL: all arguments are ready, and all results when the call returns */
} tektite_call;

/* Runs the cluster on the calling thread (and on the pool); compiles first when these shapes are
 * new and --compile=sync; with async it answers TEKTITE_UNAVAILABLE until code is ready.  A
 * reproducible call runs code for exactly its sizes, made as if no call had come before, and waits
 * for it; whether there is such code is the same in each of them.  On
 * anything but TEKTITE_OK no result may be used, no argument was changed, and the host runs its own
 * kernels. */
TEKTITE_API int32_t tektite_cluster_run(tektite_cluster* cluster, const tektite_call* call,
                                        tektite_status* status);

/* The tektite_fallback of a call that tektite_cluster_run answered with this tektite_code. */
TEKTITE_API int32_t tektite_fallback_of(int32_t code);
/* "NO_CODE"; static storage.  NULL for a number that is no tektite_fallback. */
TEKTITE_API const char* tektite_fallback_code(int32_t fallback);

/* Has fn(arg) called on a thread that compiles, of low priority, when its turn comes; 0: it will
 * not be.  The end of the process drops calls that wait.  A child made by fork() makes the calls
 * that were waiting as well. */
TEKTITE_API int32_t tektite_run_in_background(void (*fn)(void*), void* arg);

/* Waits until nothing is being compiled, or about to be, in this process; what waited until it
 * would pay (tektite_call::host_ns) is compiled at once. */
TEKTITE_API void tektite_wait_until_compiled(void);

/* Drops what waits, and waits for what runs in the background; nothing is compiled there any more.
 * The end of the process does so too; unless its main thread made the first compiler, among other
 * libraries' destructors: a host with work of its own there stops it before they begin. */
TEKTITE_API void tektite_stop_background(void);

/* ---- contests ------------------------------------------------------------ */

/* Decides which side runs a cluster's calls, its compiled code or the host's kernels: the one that
 * is faster on the calls themselves (jit/serving/contest.h).  A call whose turn is the host's must
 * be run by the host's kernels.  The disk cache keeps the results for later processes. */
typedef struct tektite_contest tektite_contest;

typedef struct tektite_turn {
  int32_t is_host;     /* not 0: the host's kernels run this call */
  int32_t is_measured; /* not 0: the call is timed, from begin to end */
  int32_t is_demoted;  /* not 0: the host's, because compiled code lost */
  uint64_t artifact;   /* of a compiled call: tektite_call.artifact; 0: unknown */
  uint64_t state[10];  /* the contest's own */
} tektite_turn;

typedef struct tektite_contest_report {
  int32_t compiled;   /* classes of shapes that compiled code won */
  int32_t host;       /* that it lost */
  int32_t open;       /* not decided yet */
  double worst_ratio; /* compiled over host time, of those that it lost */
} tektite_contest_report;

/* `topic`: what a result depends on beside the cluster, its shapes, the build and the machine.
 * NULL when there is no memory.  A contest holds its cluster. */
TEKTITE_API tektite_contest* tektite_contest_create(tektite_cluster* cluster, const char* topic);
TEKTITE_API void tektite_contest_destroy(tektite_contest* contest);
/* Begins a call: sets *turn.  `which`: the arguments whose shapes tell one class of calls from
 * another; `host_extra_ns`: what calls by the host's kernels take beside what is timed. */
TEKTITE_API int32_t tektite_contest_begin(tektite_contest* contest, const tektite_tensor* args,
                                          const int32_t* which, int32_t num_which,
                                          double host_extra_ns, tektite_turn* turn);
/* The same for a caller who cannot run the host's kernels: 1 and compiled code's turn, unmeasured,
 * where it has won and no check is due; otherwise 0, and nothing has happened. */
TEKTITE_API int32_t tektite_contest_begin_if_won(tektite_contest* contest,
                                                 const tektite_tensor* args, const int32_t* which,
                                                 int32_t num_which, tektite_turn* turn);
/* Turns a measured turn of the host's into compiled code's, unmeasured; another follows later. */
TEKTITE_API void tektite_contest_postpone(tektite_turn* turn);
/* A measured turn begins now: what the caller has waited for since it asked does not count. */
TEKTITE_API void tektite_contest_restart(const tektite_contest* contest, tektite_turn* turn);
/* The call ended well.  A turn that is not ended is forgotten. */
TEKTITE_API void tektite_contest_end(tektite_contest* contest, const tektite_turn* turn);
/* Not 0: compiled code has won some class of shapes, here or in an earlier process. */
TEKTITE_API int32_t tektite_contest_has_won(const tektite_contest* contest);
TEKTITE_API void tektite_contest_summary(const tektite_contest* contest,
                                         tektite_contest_report* report);

/* ---- the disk cache ------------------------------------------------------ */

/* Each looks at the directory that `flags` name (as in tektite_options), and answers with a table
 * or a JSON text (tektite_format).  No compiler is needed, and other processes may use the cache
 * meanwhile.  TEKTITE_NOT_FOUND when there is no cache, no such entry, or no recorded run. */
TEKTITE_API char* tektite_cache_list(const char* flags, int32_t format, tektite_status* status);
/* `key`: the first digits of an entry's key. */
TEKTITE_API char* tektite_cache_show(const char* flags, const char* key, int32_t format,
                                     tektite_status* status);
/* Lists the entries that the last process missed, and which part of the key differed. */
TEKTITE_API char* tektite_cache_why(const char* flags, int32_t format, tektite_status* status);
/* Reads every entry; *bad gets the number of those that are not whole, which may be removed. */
TEKTITE_API char* tektite_cache_verify(const char* flags, int32_t remove, int32_t format,
                                       int64_t* bad, tektite_status* status);
/* Removes the files of dead processes, and the least recently used entries until the rest has at
 * most `max_bytes`; negative: the bound of --cache_mb. */
TEKTITE_API char* tektite_cache_gc(const char* flags, int64_t max_bytes, int32_t format,
                                   tektite_status* status);
/* *differences gets the number of parts in which the keys of two entries differ. */
TEKTITE_API char* tektite_cache_diff(const char* flags, const char* a, const char* b,
                                     int32_t format, int64_t* differences, tektite_status* status);
/* `keys`: first digits of keys, separated by commas; NULL: all, and the directory. */
TEKTITE_API char* tektite_cache_remove(const char* flags, const char* keys, int32_t format,
                                       tektite_status* status);
/* Writes a new secret key for packs to `path`, and its public half, for --pack_key, to `path`.pub.
 * Returns a line that says so. */
TEKTITE_API char* tektite_cache_make_key(const char* path, tektite_status* status);
/* Signs tektite_pack in `directory` as it is now.  Returns a line that says so. */
TEKTITE_API char* tektite_cache_sign(const char* directory, const char* secret_key,
                                     tektite_status* status);
/* Copies what the last process used, or with `all` everything, to tektite_pack in `directory`, from
 * where --cache_pack=directory serves it. */
TEKTITE_API char* tektite_cache_pack(const char* flags, const char* directory, int32_t all,
                                     int32_t format, tektite_status* status);

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
  TEKTITE_KERNELS = 4 /* of tektite_explain_memory: text, with how each kernel is made */
} tektite_format;

/* Reports what would be compiled of a model file's bytes (GraphDef binary or text, or
 * saved_model.pb), and why the rest would not. */
TEKTITE_API char* tektite_explain(tektite_compiler* compiler, const void* model, size_t size,
                                  int32_t format, tektite_status* status);
/* The same, and compiles each cluster to report the memory of its calls. `sizes` sets the sizes
 * that the graph leaves open, under the names of the report: "n0=8,n1=128"; for null, or a size
 * that is not named, the compiler assumes one. */
TEKTITE_API char* tektite_explain_memory(tektite_compiler* compiler, const void* model, size_t size,
                                         const char* sizes, int32_t format, tektite_status* status);
/* Turns a frozen GraphDef into a closed one (placeholders become _Arg, `outputs` or else the sinks
 * become _Retval) for tektite_cluster_create; the names come back comma-separated in `signature`
 * ("x,y->out"). Both strings are released by the caller; *closed_size gets the bytes' size. */
TEKTITE_API char* tektite_close_graph(const void* graph_def, size_t size, const char* outputs,
                                      size_t* closed_size, char** signature,
                                      tektite_status* status);
/* Runs passes ("canonicalize,fuse"; NULL or "": the whole pipeline) over IR text. */
TEKTITE_API char* tektite_transform_ir(tektite_compiler* compiler, const char* text, size_t size,
                                       const char* passes, tektite_status* status);
/* A model as a library in C, compiled ahead of time (docs/ahead_of_time.md). */
typedef enum tektite_aot_form {
  TEKTITE_AOT_MODEL = 0,   /* GraphDef (binary or text) or saved_model.pb */
  TEKTITE_AOT_IR = 1,      /* the text form of the tensor IR */
  TEKTITE_AOT_CLUSTER = 2, /* a closed GraphDef, as tektite_cluster_create takes it */
} tektite_aot_form;
typedef struct tektite_aot_options {
  size_t struct_size;
  const char* flags; /* as in tektite_options; may be NULL */
  const char* name;  /* of the library, an identifier of C: NAME.h, libNAME.a, NAME_run */
  const char* cpu;   /* "native", "x86-64-v3", "x86-64-v4", or several of them, separated by commas:
                        a call runs the code for the most that its machine has; NULL: native */
  int32_t form;      /* tektite_aot_form: what the model is */
  const char* inputs;  /* types of inputs, "x=f32[n,224,224,3];y=s32[4]", where n is a size that
                          calls  choose; may be NULL: as the model says */
  const char* outputs; /* tensors, separated by commas; NULL: what nothing in the graph uses */
  const char* typical; /* "n=8": open sizes to lay memory out for; may be NULL */
  int32_t with_python; /* not 0: NAME.py, too, which calls libNAME.so */
} tektite_aot_options;
/* Writes the library into `directory`, which it makes where there is none; returns a report. */
TEKTITE_API char* tektite_aot(const void* model, size_t size, const char* directory,
                              const tektite_aot_options* options, tektite_status* status);
/* One name per line, in pipeline order, with a tab and a sentence. */
TEKTITE_API char* tektite_list_passes(void);
/* Why an op is in no cluster, then why a call or a cluster was left to the host, in the same form.
 */
TEKTITE_API char* tektite_list_reasons(void);
/* The flags of tektite_options, as "name=default", in the same form. */
TEKTITE_API char* tektite_list_flags(void);

#ifdef __cplusplus
}
#endif
#endif /* TEKTITE_RUNTIME_HOOKS_C_API_TEKTITE_H_ */
