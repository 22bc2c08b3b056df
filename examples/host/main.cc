// A host of its own: compiles a computation and runs it through the C interface, without
// TensorFlow.
//
//   build/bin/example_host        4 rows and 1000 rows through one cluster, compiled or by a loop
//
// It has a kernel of its own, which the compiler compares with compiled code on the calls
// themselves. The interface hands over sizes, pointers and callbacks alone, so a host needs one
// header and libtektite.so.  This one is C++, but nothing here is more than C knows.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime_hooks/c_api/tektite.h"

namespace {

// The tensor IR's text form.  `n` is a symbol: one compilation serves every number of rows.
// A TensorFlow graph goes through tektite_cluster_create instead, as bytes of a GraphDef.
constexpr char kProgram[] = R"(
graph @scaled_softmax(%x: f32[n,64], %scale: f32[]) -> (f32[n,64]) {
  %s: f32[n,64] = broadcast_in_dim(%scale) {dimensions = [], shape = (n, 64)}
  %y: f32[n,64] = mul(%x, %s)
  %e: f32[n,64] = exp(%y)
  %sum: f32[n] = reduce(%e) {dimensions = [1], reducer = "add"}
  %b: f32[n,64] = broadcast_in_dim(%sum) {dimensions = [0], shape = (n, 64)}
  %r: f32[n,64] = div(%e, %b)
  return %r
}
)";
constexpr int64_t kColumns = 64;
constexpr int32_t kFloat = 1;  // numbers of types are tensorflow.DataType's

// One call: its argument, and where its result goes.  The compiler asks for memory, the host owns
// it.
struct Rows {
  int64_t number;
  std::vector<float> x;
  float scale = 0.5f;
  float* result = nullptr;

  explicit Rows(int64_t rows) : number(rows), x(static_cast<size_t>(rows * kColumns)) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 8;
  }
  ~Rows() { std::free(result); }
};

void* Allocate(void* context, int32_t, int32_t, int32_t rank, const int64_t* dims) {
  size_t bytes = sizeof(float);
  for (int32_t i = 0; i < rank; ++i) bytes *= static_cast<size_t>(dims[i]);
  auto* rows = static_cast<Rows*>(context);
  rows->result = static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  return rows->result;
}

// The host's own kernel: a plain loop.
void Softmax(const Rows& rows, float* out) {
  for (int64_t row = 0; row < rows.number; ++row) {
    const float* in = &rows.x[row * kColumns];
    double sum = 0;
    for (int64_t i = 0; i < kColumns; ++i) sum += std::exp(in[i] * rows.scale);
    for (int64_t i = 0; i < kColumns; ++i) {
      out[row * kColumns + i] = static_cast<float>(std::exp(in[i] * rows.scale) / sum);
    }
  }
}

// The compiler has it run calls that it measures, that it is slower at, or that it has no code for.
int32_t RunHost(void* context, const tektite_status*) {
  auto* rows = static_cast<Rows*>(context);
  const int64_t dims[] = {rows->number, kColumns};
  if (Allocate(context, 0, kFloat, 2, dims) == nullptr) return TEKTITE_RESOURCE_EXHAUSTED;
  Softmax(*rows, rows->result);
  return TEKTITE_OK;
}

// Runs the cluster on so many rows; returns the largest difference from the plain loop, -1 for a
// call that failed.
double RunAndCompare(tektite_cluster* cluster, int64_t number, bool* is_compiled) {
  Rows rows(number);
  const int64_t dims[] = {number, kColumns};
  tektite_tensor args[2] = {};
  args[0].data = rows.x.data();
  args[0].dims = dims;
  args[0].rank = 2;
  args[0].dtype = kFloat;
  args[1].data = &rows.scale;  // rank 0: no dimensions
  args[1].dtype = kFloat;

  tektite_call call = {};
  call.struct_size = sizeof(call);
  call.args = args;
  call.num_args = 2;
  call.context = &rows;
  call.allocate = &Allocate;  // no threads: the call runs serially
  call.run_host = &RunHost;
  tektite_status status = {};
  if (tektite_cluster_run(cluster, &call, &status) != TEKTITE_OK) {
    std::fprintf(stderr, "failed: %s\n", status.message);
    return -1;
  }
  *is_compiled = status.fallback == TEKTITE_FALLBACK_NONE;
  std::vector<float> want(rows.x.size());
  Softmax(rows, want.data());
  double difference = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference = std::fmax(difference, std::fabs(static_cast<double>(rows.result[i]) - want[i]));
  }
  return difference;
}

}  // namespace

int main() {
  if (tektite_abi_version() != TEKTITE_ABI_VERSION) {
    std::fprintf(stderr, "libtektite.so has another version of the interface\n");
    return 1;
  }
  tektite_options options = {};
  options.struct_size = sizeof(options);
  options.flags = "--compile=sync --cache_dir=off";
  options.host = "example 1.0";
  tektite_status status = {};
  tektite_compiler* compiler = tektite_compiler_create(&options, &status);
  if (compiler == nullptr) {
    std::fprintf(stderr, "no compiler: %s\n", status.message);
    return 1;
  }
  tektite_cluster* cluster = tektite_cluster_create_from_ir(compiler, "scaled_softmax", kProgram,
                                                            sizeof(kProgram) - 1, &status);
  if (cluster == nullptr) {
    std::fprintf(stderr, "no cluster: %s\n", status.message);
    tektite_compiler_destroy(compiler);
    return 1;
  }
  int code = 0;
  for (const int64_t rows : {4, 7, 1000}) {
    bool is_compiled = false;
    const double difference = RunAndCompare(cluster, rows, &is_compiled);
    std::printf("%d rows: largest difference %.1e, by %s\n", static_cast<int>(rows), difference,
                is_compiled ? "compiled code" : "the plain loop");
    if (difference < 0 || difference > 1e-6) code = 1;
  }
  // Both sides take turns until it is known which is faster at such sizes.
  int compiled = 0;
  for (int i = 0; i < 100; ++i) {
    bool is_compiled = false;
    if (RunAndCompare(cluster, 1000, &is_compiled) < 0) code = 1;
    compiled += is_compiled ? 1 : 0;
  }
  std::printf("compiled code ran %d of 100 calls\n", compiled);
  char* stats = tektite_stats_json(compiler);
  if (stats != nullptr) std::printf("%s\n", stats);
  tektite_string_free(stats);
  tektite_cluster_destroy(cluster);
  tektite_compiler_destroy(compiler);
  return code;
}
