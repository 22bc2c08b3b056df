#include "jit/aot/programs.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "jit/aot/header.h"

namespace tektite::aot {
namespace {

// What both programs begin with: tensors, their memory and their values.
constexpr char kTensors[] = R"(#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

$include

typedef struct tensor {
  const char* name;
  char kind; /* f: float or double, h: f16, b: bf16, i: integer */
  int bytes; /* of an element */
  int64_t count;
  const uint32_t* expected;
} tensor;

static void* memory_of(int64_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 64, (size_t)bytes + (bytes == 0)) != 0) exit((puts("no memory"), 1));
  return memory;
}

/* Memory for it with pseudo-random values: floats from -1 to 1, integers 0 or 1. */
static void* filled(const tensor* t, uint64_t number) {
  static const uint16_t halves[] = {0x0000, 0x3800, 0xbc00, 0x3400}, bf16[] = {0x0000, 0x3f00, 0xbf80, 0x3e80};
  unsigned char* const data = memory_of(t->count * t->bytes);
  memset(data, 0, (size_t)(t->count * t->bytes));
  for (int64_t i = 0; i < t->count; ++i) {
    number = number * 6364136223846793005u + 1442695040888963407u;
    const double value = ((double)(number >> 40) - 8388608.0) / 8388608.0;
    const float narrow = (float)value;
    unsigned char* const to = data + i * t->bytes;
    if (t->kind == 'f' && t->bytes == 8) memcpy(to, &value, 8);
    if (t->kind == 'f' && t->bytes == 4) memcpy(to, &narrow, 4);
    if (t->kind == 'h') memcpy(to, &halves[number >> 62], 2);
    if (t->kind == 'b') memcpy(to, &bf16[number >> 62], 2);
    if (t->kind == 'i') to[0] = (unsigned char)(number >> 63);
  }
  return data;
}

)";

constexpr char kTest[] = R"(/* $name_test.c: whether lib$name.a returns here what it should.
 *
 *   cc $name_test.c lib$name.a $libraries-o $name_test && ./$name_test
 *
 * On a CPU as that which it was made on, bits are the same; on others, floats are close. */
$tensors$goldenstatic double as_double(const tensor* t, const unsigned char* data) {
  uint16_t half;
  uint32_t word;
  float narrow;
  double value;
  if (t->bytes == 8) return memcpy(&value, data, 8), value;
  if (t->kind == 'f') return memcpy(&narrow, data, 4), narrow;
  memcpy(&half, data, 2);
  if (t->kind == 'b') {
    word = (uint32_t)half << 16;
    return memcpy(&narrow, &word, 4), narrow;
  }
  const int exponent = half >> 10 & 31;
  value = exponent == 31 ? ((half & 1023) != 0 ? 0.0 / 0.0 : 1e30) : (double)((half & 1023) + (exponent != 0 ? 1024 : 0));
  for (int e = exponent != 0 ? exponent : 1; e < 25; ++e) value /= 2;
  for (int e = 25; e < exponent; ++e) value *= 2;
  return (half >> 15) != 0 ? -value : value;
}

/* 0 where they are the same bits, 1 where they are close, 2 where they are not. */
static int difference(const tensor* t, const unsigned char* got) {
  const unsigned char* const expected = (const unsigned char*)t->expected;
  if (memcmp(got, expected, (size_t)(t->count * t->bytes)) == 0) return 0;
  if (t->kind == 'i') return 2;
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < t->count; ++i) {
    const double a = as_double(t, got + i * t->bytes), b = as_double(t, expected + i * t->bytes);
    if ((a != a) != (b != b)) return 2;
    if (a != a || a == b) continue;
    const double size = b < 0 ? -b : b, apart = a < b ? b - a : a - b;
    if (!(apart <= 1e300)) return 2;
    if (size > largest) largest = size;
    if (apart > worst) worst = apart;
  }
  return worst <= (t->bytes == 2 ? 2e-2 : 2e-5) * largest ? 1 : 2;
}

static int check(const tensor* t, const void* got) {
  static const char* const words[] = {"the same bits", "close", "WRONG"};
  const int how = difference(t, got);
  printf("%s: %s\n", t->name, words[how]);
  return how == 2;
}

/* A parallel_for need not have threads. */
static void one_after_the_other(void* context, int32_t count, void (*body)(void*, int32_t), void* argument) {
  (void)context;
  while (count-- > 0) body(argument, count);
}

static int fails(int32_t code) {
  if (code != 0) printf("%s\n", $name_message(code));
  return code != 0;
}

int main(int argc, char** argv) {
  const tektite_aot_threads threads = {3, NULL, one_after_the_other};
  int wrong = 0;
  (void)argc, (void)argv;
$weights  for (int turn = 0; turn < 2; ++turn) {
    const tektite_aot_threads* const team = turn == 0 ? NULL : &threads;
$call    const int64_t needed = $name_arena_bytes($sizes_argteam);
    if (needed < 0) return fails((int32_t)-needed);
    tektite_aot_arena arena = {memory_of(needed), needed};
    if (fails($name_run($sizes_arg&args, $state_arg&results, arena, $weights_argteam))) return 1;
$checks    free(arena.data);
  }
  return wrong != 0;
}
)";

constexpr char kBench[] =
    R"(/* $name_bench.c: how long weights take that lie outside of lib$name.a, memory for the arena, the first call in the
 * process, pages of weights that lie inside included, and the median of the others.
 *
 *   cc -O2 $name_bench.c lib$name.a $libraries-lpthread -o $name_bench && ./$name_bench THREADS SECONDS$bench_words */
$tensors#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* Threads that wait for the next call awake. */
static struct {
  void (*body)(void*, int32_t);
  void* argument;
  atomic_int calls, running, count;
} team;

static void* help(void* index) {
  for (int seen = 0;; ++seen) {
    for (int looks = 0; atomic_load(&team.calls) == seen;) {
      if (++looks > 20000) sched_yield();
    }
    team.body(team.argument, (int32_t)(intptr_t)index);
    atomic_fetch_sub(&team.running, 1);
  }
  return NULL;
}

static void parallel_for(void* context, int32_t count, void (*body)(void*, int32_t), void* argument) {
  (void)context;
  team.body = body;
  team.argument = argument;
  atomic_store(&team.running, count - 1);
  atomic_fetch_add(&team.calls, 1);
  body(argument, 0);
  while (atomic_load(&team.running) != 0) sched_yield();
}

/* As the class of C++ does: in large pages, which are few, and touched here. */
static tektite_aot_arena large_pages(int64_t bytes) {
  const size_t page = bytes > 1 << 21 ? 1 << 21 : 64, rounded = ((size_t)bytes + page - 1) / page * page;
  tektite_aot_arena arena = {aligned_alloc(page, rounded), (int64_t)rounded};
  if (arena.data == NULL) exit((puts("no memory"), 1));
#ifdef MADV_HUGEPAGE
  if (page > 64) madvise(arena.data, rounded, MADV_HUGEPAGE);
#endif
  for (size_t at = 0; at < rounded; at += 4096) ((volatile char*)arena.data)[at] = 0;
  return arena;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int fails(int32_t code) {
  if (code != 0) printf("%s\n", $name_message(code));
  return code != 0;
}

int main(int argc, char** argv) {
  enum { most = 1 << 20 };
  static double times[most];
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  const double seconds = argc > 2 ? atof(argv[2]) : 2;
  const tektite_aot_threads threads = {count, NULL, parallel_for};
  for (intptr_t i = 1; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, help, (void*)i) != 0) return puts("no thread"), 1;
  }
  const tektite_aot_threads* const team = count > 1 ? &threads : NULL;
  const double weights_begin = now_ms();
$weights  const double weights_ms = now_ms() - weights_begin;
$call  const double begin = now_ms();
  const int64_t needed = $name_arena_bytes($sizes_argteam);
  if (needed < 0) return fails((int32_t)-needed);
  const double arena_begin = now_ms();
  tektite_aot_arena arena = large_pages(needed);
  const double arena_ms = now_ms() - arena_begin;
  if (fails($name_run($sizes_arg&args, $state_arg&results, arena, $weights_argteam))) return 1;
  const double first = now_ms() - begin - arena_ms;
  int calls = 0;
  for (double last = now_ms(); calls < most && (calls < 3 || last - begin < seconds * 1e3);) {
    if (fails($name_run($sizes_arg&args, $state_arg&results, arena, $weights_argteam))) return 1;
    const double end = now_ms();
    times[calls++] = end - last;
    last = end;
  }
  qsort(times, (size_t)calls, sizeof(double), ascending);
  printf("weights_ms %.3f arena_ms %.3f first_ms %.3f median_ms %.4f least_ms %.4f calls %d threads %d arena_bytes %lld\n",
         weights_ms, arena_ms, first, times[calls / 2], times[0], calls, count, (long long)needed);
  return 0;
}
)";

struct Program {
  const Library& library;
  ir::SymbolMap values;

  explicit Program(const Library& made) : library(made) {
    for (size_t i = 0; i < library.sizes.size(); ++i) {
      values.emplace(library.graph.program.symbols()[i], library.graph.typical_sizes[i]);
    }
  }

  static char KindOf(ir::DType dtype) {
    if (dtype == ir::DType::kF16) return 'h';
    if (dtype == ir::DType::kBF16) return 'b';
    return ir::IsFloat(dtype) ? 'f' : 'i';
  }
  // {"x", 'f', 4, 150528, NULL}
  std::string Describe(const Tensor& tensor) const {
    return Describe(tensor, tensor.shape.Substitute(values).num_elements(), "NULL");
  }
  std::string Describe(const Tensor& tensor, int64_t count, const std::string& expected) const {
    const ir::DType dtype = tensor.shape.dtype();
    return absl::StrCat("{\"", tensor.name, "\", '", std::string(1, KindOf(dtype)), "', ",
                        ir::DTypeBytes(dtype), ", ", count, ", ", expected, "}");
  }

  // Memory for all tensors, filled, and the structs of their addresses.
  std::string Call(const std::string& indent) const {
    const std::vector<int64_t>& sizes = library.graph.typical_sizes;
    const std::string& name = library.name;
    std::string text, args, state, results;
    int number = 0;
    const auto add = [&](const Tensor& tensor, std::string* fields) {
      absl::StrAppend(&text, indent, "const tensor of_", number, " = ", Describe(tensor), ";\n",
                      indent, CType(tensor.shape.dtype()), "* const data_", number,
                      " = filled(&of_", number, ", ", number, ");\n");
      absl::StrAppend(fields, fields->empty() ? "" : ", ", "data_", number++);
    };
    for (const Tensor& tensor : library.arguments) add(tensor, tensor.is_state ? &state : &args);
    for (const Tensor& tensor : library.results) add(tensor, &results);
    const auto zero = [](const std::string& fields) { return fields.empty() ? "0" : fields; };
    absl::StrAppend(&text, indent, "const ", name, "_args args = {", zero(args), "};\n");
    if (!state.empty()) absl::StrAppend(&text, indent, name, "_state state = {", state, "};\n");
    absl::StrAppend(&text, indent, name, "_results results = {", zero(results), "};\n");
    if (!sizes.empty()) {
      absl::StrAppend(&text, indent, "const ", name, "_sizes sizes = {");
      for (size_t i = 0; i < sizes.size(); ++i) {
        absl::StrAppend(&text, i == 0 ? "" : ", ", sizes[i]);
      }
      absl::StrAppend(&text, "};\n");
    }
    return text;
  }

  // `check`, `threads`: expressions of C.
  std::string Weights(int argument, const std::string& check, const std::string& threads) const {
    const std::string& name = library.name;
    const std::string path =
        absl::StrCat("argc > ", argument, " ? argv[", argument, "] : \"", name, ".weights\"");
    switch (library.weights) {
      case WeightsPlace::kInside:
        return "";
      case WeightsPlace::kFile:
        return absl::StrCat("  tektite_aot_weights weights;\n  if (fails(", name, "_map_weights(",
                            path, ", ", check, ", ", threads, ", &weights))) return 1;\n");
      case WeightsPlace::kCaller:
        break;
    }
    return absl::StrCat(
        "  tektite_aot_weights weights = {memory_of(", name, "_weights_bytes), ", name,
        "_weights_bytes};\n  FILE* const file = fopen(", path,
        ", \"rb\");\n  if (file == NULL || fread((void*)weights.data, 1, (size_t)weights.bytes, "
        "file) != (size_t)weights.bytes) return puts(\"no weights\"), 1;\n  fclose(file);\n  if "
        "(fails(",
        name, "_check_weights(&weights, ", threads, "))) return 1;\n");
  }

  std::string Fill(const char* text, std::vector<std::pair<std::string, std::string>> more) const {
    const std::string& name = library.name;
    bool has_state = false;
    for (const Tensor& argument : library.arguments) has_state |= argument.is_state;
    more.emplace_back("$tensors",
                      absl::StrReplaceAll(kTensors, {{"$include", "#include \"" + name + ".h\""}}));
    more.emplace_back("$sizes_arg", library.sizes.empty() ? "" : "&sizes, ");
    more.emplace_back("$state_arg", has_state ? "&state, " : "");
    more.emplace_back("$weights_arg", library.weights == WeightsPlace::kInside ? "" : "&weights, ");
    more.emplace_back("$libraries",
                      library.needs_kernels ? "libtektite_kernels.a -lstdc++ -lm " : "-lm ");
    more.emplace_back("$name", name);
    return absl::StrReplaceAll(text, more);
  }
};

// The bytes as words, the last one filled up with zeros.
std::string Words(const std::string& name, std::string bytes) {
  bytes.resize(std::max<size_t>((bytes.size() + 3) / 4 * 4, 4));
  std::string text = absl::StrCat("static const uint32_t ", name, "[] = {");
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    absl::StrAppend(&text, at % 40 == 0 ? "\n    0x" : " 0x", absl::Hex(word), ",");
  }
  return text + "\n};\n";
}

template <typename T>
void Fill(int64_t elements, std::string* bytes, const std::function<T()>& next) {
  for (int64_t i = 0; i < elements; ++i) {
    const T value = next();
    std::memcpy(bytes->data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

std::string FillArgument(ir::DType dtype, int64_t elements, int number) {
  static constexpr uint16_t kHalves[] = {0x0000, 0x3800, 0xbc00, 0x3400};  // 0, .5, -1, .25
  static constexpr uint16_t kBf16[] = {0x0000, 0x3f00, 0xbf80, 0x3e80};
  std::string bytes(static_cast<size_t>(elements * ir::DTypeBytes(dtype)), '\0');
  auto state = static_cast<uint64_t>(number);
  const auto next = [&] {
    return state = state * uint64_t{6364136223846793005} + uint64_t{1442695040888963407};
  };
  const auto real = [&] { return (static_cast<double>(next() >> 40) - 8388608.0) / 8388608.0; };
  switch (dtype) {
    case ir::DType::kF64:
      Fill<double>(elements, &bytes, real);
      break;
    case ir::DType::kF32:
      Fill<float>(elements, &bytes, [&] { return static_cast<float>(real()); });
      break;
    case ir::DType::kF16:
      Fill<uint16_t>(elements, &bytes, [&] { return kHalves[next() >> 62]; });
      break;
    case ir::DType::kBF16:
      Fill<uint16_t>(elements, &bytes, [&] { return kBf16[next() >> 62]; });
      break;
    default:
      for (int64_t i = 0; i < elements; ++i) {
        bytes[static_cast<size_t>(i * ir::DTypeBytes(dtype))] = static_cast<char>(next() >> 63);
      }
  }
  return bytes;
}

std::string WriteTestProgram(const Library& library, const Goldens& goldens) {
  const Program program(library);
  std::string golden, checks;
  const auto expect = [&](const Tensor& tensor, const std::string& bytes, const char* where) {
    const std::string name =
        absl::StrCat("expected_", tensor.is_state ? "state_" : "", tensor.name);
    golden += Words(name, bytes);
    // Of a result whose rows are counted, those that count.
    const auto count = static_cast<int64_t>(bytes.size()) / ir::DTypeBytes(tensor.shape.dtype());
    absl::StrAppend(&golden, "static const tensor result_of_", name, " = ",
                    program.Describe(tensor, count, name), ";\n");
    absl::StrAppend(&checks, "    wrong |= check(&result_of_", name, ", ", where, ".", tensor.name,
                    ");\n");
  };
  for (size_t k = 0; k < library.results.size(); ++k) {
    expect(library.results[k], goldens.results[k], "results");
  }
  size_t k = 0;
  for (const Tensor& tensor : library.arguments) {
    if (tensor.is_state) expect(tensor, goldens.state[k++], "state");
  }
  return program.Fill(kTest, {{"$golden", golden},
                              {"$checks", checks},
                              {"$weights", program.Weights(1, "TEKTITE_AOT_CHECK_ALL", "NULL")},
                              {"$call", program.Call("    ")}});
}

std::string WriteBenchProgram(const Library& library) {
  const Program program(library);
  const bool is_outside = library.weights != WeightsPlace::kInside;
  const bool is_file = library.weights == WeightsPlace::kFile;
  return program.Fill(
      kBench,
      {{"$bench_words", absl::StrCat(is_outside ? " WEIGHTS" : "", is_file ? " [seal]" : "")},
       {"$weights",
        program.Weights(3, "argc > 4 ? TEKTITE_AOT_CHECK_SEAL : TEKTITE_AOT_CHECK_ALL", "team")},
       {"$call", program.Call("  ")}});
}

}  // namespace tektite::aot
