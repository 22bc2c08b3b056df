#include "jit/aot/header.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace tektite::aot {
namespace {

// Types that the headers of all libraries share.
constexpr char kSharedTypes[] = R"(#ifndef TEKTITE_AOT_TYPES
#define TEKTITE_AOT_TYPES
/* The low byte of a code that is not 0. */
enum tektite_aot_error {
  TEKTITE_AOT_BAD_ARGUMENT = 1, /* null, or not aligned to its elements */
  TEKTITE_AOT_BAD_SIZES = 2,    /* that the code does not serve */
  TEKTITE_AOT_BAD_ARENA = 3,    /* null, not aligned to 64 bytes, or too short */
  TEKTITE_AOT_CHECK_FAILED = 4, /* a value, an index for example, is out of its range */
  TEKTITE_AOT_WRONG_CPU = 5,
  TEKTITE_AOT_BAD_WEIGHTS = 6 /* none, damaged, or another library's */
};
/* Memory that a call works in: 64-byte aligned, of one call at a time, with any content. */
typedef struct tektite_aot_arena {
  void* data;
  int64_t bytes;
} tektite_aot_arena;
/* Weights that lie outside of a library, at a multiple of 64 bytes; calls only read them. */
typedef struct tektite_aot_weights {
  const void* data;
  int64_t bytes;
} tektite_aot_weights;
/* How a file of weights is looked at while it is mapped. */
typedef enum tektite_aot_check {
  TEKTITE_AOT_CHECK_ALL = 0, /* reads all of it: finds damage */
  TEKTITE_AOT_CHECK_SEAL = 1 /* its length and last 64 bytes: that it is this library's */
} tektite_aot_check;
/* Threads of the caller's.  parallel_for calls body(argument, 0) to body(argument, count - 1), at
 * once or one after the other, on any threads, and returns when all have returned. */
typedef struct tektite_aot_threads {
  int32_t count; /* more than 1024 count as 1024 */
  void* context;
  void (*parallel_for)(void* context, int32_t count, void (*body)(void* argument, int32_t index),
                       void* argument);
} tektite_aot_threads;
#endif
)";

constexpr char kCheckWeights[] =
    R"(#define $name_weights_bytes INT64_C($bytes) /* the file $name.weights */
/* Whether these are the weights that the library was made with.  Reads all of them; calls look at
 * the last 64 bytes alone. */
int32_t $name_check_weights(
    const tektite_aot_weights* weights, const tektite_aot_threads* threads);
)";

constexpr char kMapWeights[] =
    R"(/* Maps the file $name.weights and checks it.  It must not become shorter meanwhile. */
int32_t $name_map_weights(
    const char* path, tektite_aot_check check, const tektite_aot_threads* threads,
    tektite_aot_weights* weights);
void $name_unmap_weights(tektite_aot_weights* weights);
)";

constexpr char kText[] = R"(/* $name: a model as a library, made ahead of time.
 * $made_by, for $cpu.
 *
$usage *
 * Functions return 0, or a code whose low byte is a tektite_aot_error and for which $name_message
 * has a sentence; nothing has then been written but the arena, and, after
 * TEKTITE_AOT_CHECK_FAILED, results.  They allocate nothing, start no thread and keep no state of
 * calls, so that threads may call at once, each with an arena of its own.
 * Tensors are row-major; f16 and bf16 are given as their bits, a bool as a byte, 0 or 1.
 * Arguments, results and the arena must not overlap.
 */
#ifndef TEKTITE_AOT_$GUARD_H_
#define TEKTITE_AOT_$GUARD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

$types
$structs/* The bytes of an arena for a call, or minus a code; `threads` as in the call, NULL: none.  Does
 * what is done once, which a first call would do: asks cpuid, has the system map weights. */
int64_t $name_arena_bytes($sizes_argconst tektite_aot_threads* threads);
/* `threads` NULL: the calling thread alone.  The results are the same for every number. */
int32_t $name_run($sizes_argconst $name_args* args, $state_arg$name_results* results,
    tektite_aot_arena arena, $weights_argconst tektite_aot_threads* threads);
$weights_functions/* "no error" for 0; a static string. */
const char* $name_message(int32_t code);

#ifdef __cplusplus
}  /* extern "C" */

#include <new>
#ifdef __linux__
#include <sys/mman.h>
#endif

/* Calls with an arena of its own, which grows as needed.  One call at a time. */
class $name_model {
 public:
  explicit $name_model($weights_argconst tektite_aot_threads* threads = nullptr)
      : $keep_weightsthreads_(threads) {}
  $name_model(const $name_model&) = delete;
  $name_model& operator=(const $name_model&) = delete;
  ~$name_model() { Free(); }
  /* As $name_run. */
  int32_t Run($cc_sizes_argconst $name_args& args, $cc_state_arg$name_results& results) {
    const int32_t code = Prepare($cc_size);
    return code != 0 ? code : $name_run($cc_sizes&args, $cc_state&results, arena_, $cc_weightsthreads_);
  }
  /* What the first call would wait for: the memory of the arena, and pages of weights. */
  int32_t Prepare($cc_size_alone) {
    const int64_t bytes = $name_arena_bytes($cc_sizesthreads_);
    if (bytes < 0) return static_cast<int32_t>(-bytes);
    if (bytes > arena_.bytes) {
      Free();
      Allocate(bytes);
    }
    return 0;
  }
  static const char* Message(int32_t code) { return $name_message(code); }

 private:
  static constexpr int64_t kLargePage = 1 << 21;
  static std::align_val_t Alignment(int64_t bytes) {
    return std::align_val_t(bytes > kLargePage ? kLargePage : 64);
  }
  /* In large pages where it is large, which are few, and touched here. */
  void Allocate(int64_t bytes) {
    const int64_t unit = static_cast<int64_t>(Alignment(bytes));
    bytes = (bytes + unit - 1) / unit * unit;
    arena_ = {::operator new(static_cast<unsigned long>(bytes), Alignment(bytes)), bytes};
#ifdef MADV_HUGEPAGE
    if (unit == kLargePage) madvise(arena_.data, static_cast<unsigned long>(bytes), MADV_HUGEPAGE);
#endif
    for (int64_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(arena_.data)[at] = 0;
  }
  void Free() {
    if (arena_.data != nullptr) ::operator delete(arena_.data, Alignment(arena_.bytes));
    arena_ = {};
  }
$weights_member  const tektite_aot_threads* threads_;
  tektite_aot_arena arena_ = {};
};
#endif
#endif
)";

// "f32[n,1000], the tensor 'Identity'".
std::string Describe(const Tensor& tensor) {
  std::string text = tensor.shape.ToString();
  // What stands in a comment must not end it.
  const std::string original =
      absl::StrReplaceAll(tensor.original, {{"*/", "* /"}, {"\n", " "}, {"\\", "/"}});
  if (!original.empty() && original != tensor.name) absl::StrAppend(&text, ", '", original, "'");
  return text;
}

// An empty struct is no C.
std::string Struct(const std::string& name, const std::string& about, const std::string& fields) {
  return absl::StrCat("/* ", about, " */\ntypedef struct ", name, " {\n",
                      fields.empty() ? "  char nothing;\n" : fields, "} ", name, ";\n");
}

std::string Structs(const Library& library) {
  std::string arguments, state, results, sizes, text;
  for (const Tensor& tensor : library.arguments) {
    const std::string type = CType(tensor.shape.dtype());
    absl::StrAppend(tensor.is_state ? &state : &arguments, tensor.is_state ? "  " : "  const ",
                    type, "* ", tensor.name, "; /* ", Describe(tensor), " */\n");
  }
  for (const Tensor& tensor : library.results) {
    absl::StrAppend(&results, "  ", CType(tensor.shape.dtype()), "* ", tensor.name, "; /* ",
                    Describe(tensor), " */\n");
  }
  for (const std::string& size : library.sizes) absl::StrAppend(&sizes, "  int64_t ", size, ";\n");
  if (!sizes.empty()) {
    text = Struct(library.name + "_sizes", "Sizes that each call may choose.", sizes);
  }
  text += Struct(library.name + "_args", "Arguments, which a call reads.", arguments);
  if (!state.empty()) {
    text += Struct(library.name + "_state", "Values that a call reads and changes.", state);
  }
  return text + Struct(library.name + "_results", "Where a call writes its results.", results);
}

std::string Usage(const Library& library, bool has_state) {
  const std::string& name = library.name;
  std::string sizes, args, results;
  for (const std::string& size : library.sizes)
    absl::StrAppend(&sizes, sizes.empty() ? "" : ", ", size);
  const std::string passed = sizes.empty() ? "" : "&sizes, ";
  std::string text;
  const bool is_outside = library.weights != WeightsPlace::kInside;
  if (is_outside) {
    absl::StrAppend(
        &text, " *   tektite_aot_weights weights",
        library.weights == WeightsPlace::kFile
            ? absl::StrCat(
                  ";\n *   int32_t bad = ", name, "_map_weights(\"", name,
                  ".weights\", TEKTITE_AOT_CHECK_ALL, NULL, &weights);\n *   if (bad != 0) puts(",
                  name, "_message(bad));\n")
            : " = {...};  the caller's copy of the file " + name + ".weights\n");
  }
  if (!sizes.empty()) absl::StrAppend(&text, " *   ", name, "_sizes sizes = {", sizes, "};\n");
  absl::StrAppend(&text, " *   tektite_aot_arena arena = {0, ", name, "_arena_bytes(", passed,
                  "NULL)};\n *   arena.data = aligned_alloc(64, arena.bytes);\n",
                  " *   int32_t code = ", name, "_run(", passed, "&args, ",
                  has_state ? "&state, " : "", "&results, arena, ", is_outside ? "&weights, " : "",
                  "NULL);\n *   if (code != 0) puts(", name, "_message(code));\n");
  return text;
}

// Of a library whose weights lie outside of it.
std::string WeightsFunctions(const Library& library) {
  if (library.weights == WeightsPlace::kInside) return "";
  return absl::StrReplaceAll(
      absl::StrCat(kCheckWeights, library.weights == WeightsPlace::kFile ? kMapWeights : ""),
      {{"$name", library.name}, {"$bytes", absl::StrCat(library.weights_bytes)}});
}

}  // namespace

std::string CType(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF32:
      return "float";
    case ir::DType::kF64:
      return "double";
    case ir::DType::kBool:
      return "uint8_t";
    case ir::DType::kF16:
    case ir::DType::kBF16:
      return "uint16_t";
    default: {
      const std::string name(ir::DTypeName(dtype));  // "s32", "u8"
      return absl::StrCat(name[0] == 'u' ? "uint" : "int", name.substr(1), "_t");
    }
  }
}

std::string WriteHeader(const Library& library, const Origin& origin) {
  const bool is_outside = library.weights != WeightsPlace::kInside;
  bool has_state = false;
  for (const Tensor& tensor : library.arguments) has_state |= tensor.is_state;
  const bool has_sizes = !library.sizes.empty();
  const std::string& name = library.name;
  return absl::StrReplaceAll(
      kText, {{"$usage", Usage(library, has_state)},
              {"$types", kSharedTypes},
              {"$structs", Structs(library)},
              {"$sizes_arg", has_sizes ? absl::StrCat("const ", name, "_sizes* sizes, ") : ""},
              {"$state_arg", has_state ? absl::StrCat("const ", name, "_state* state, ") : ""},
              {"$cc_sizes_arg", has_sizes ? absl::StrCat("const ", name, "_sizes& sizes, ") : ""},
              {"$cc_size_alone", has_sizes ? absl::StrCat("const ", name, "_sizes& sizes") : ""},
              {"$cc_sizes", has_sizes ? "&sizes, " : ""},
              {"$cc_size", has_sizes ? "sizes" : ""},
              {"$cc_state_arg", has_state ? absl::StrCat("const ", name, "_state& state, ") : ""},
              {"$cc_state", has_state ? "&state, " : ""},
              {"$weights_arg", is_outside ? "const tektite_aot_weights* weights, " : ""},
              {"$cc_weights", is_outside ? "weights_, " : ""},
              {"$keep_weights", is_outside ? "weights_(weights), " : ""},
              {"$weights_member", is_outside ? "  const tektite_aot_weights* weights_;\n" : ""},
              {"$weights_functions", WeightsFunctions(library)},
              {"$GUARD", absl::AsciiStrToUpper(name)},
              {"$made_by", origin.made_by},
              {"$cpu", origin.cpu},
              {"$name", name}});
}

}  // namespace tektite::aot
