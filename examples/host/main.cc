// A host of its own: compiles a computation and runs it through the C interface, without
// TensorFlow.
//
//   build/bin/example_host        4 rows and 1000 rows through one compiled cluster
//
// The interface hands over sizes, pointers and callbacks alone, so a host needs one header and
// libtektite.so.  This one is C++, but nothing here is more than C knows.
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

// Where results go: the compiler asks for memory, the host owns it.
struct Results {
  float* data = nullptr;
  ~Results() { std::free(data); }
};

void* Allocate(void* context, int32_t, int32_t, int32_t rank, const int64_t* dims) {
  size_t bytes = sizeof(float);
  for (int32_t i = 0; i < rank; ++i) bytes *= static_cast<size_t>(dims[i]);
  auto* results = static_cast<Results*>(context);
  results->data = static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  return results->data;
}

// Runs the cluster on `rows` rows; returns the largest difference from a plain loop, -1 for a call
// that failed.
double RunAndCompare(tektite_cluster* cluster, int64_t rows) {
  std::vector<float> x(rows * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 8;
  const float scale = 0.5f;
  const int64_t dims[] = {rows, kColumns};
  tektite_tensor args[2] = {};
  args[0].data = x.data();
  args[0].dims = dims;
  args[0].rank = 2;
  args[0].dtype = kFloat;
  args[1].data = &scale;  // rank 0: no dimensions
  args[1].dtype = kFloat;

  Results results;
  tektite_call call = {};
  call.struct_size = sizeof(call);
  call.args = args;
  call.num_args = 2;
  call.context = &results;
  call.allocate = &Allocate;  // no threads: the call runs serially
  tektite_status status = {};
  if (tektite_cluster_run(cluster, &call, &status) != TEKTITE_OK) {
    // An ordinary answer: a real host runs its own kernels now.
    std::fprintf(stderr, "not compiled: %s\n", status.message);
    return -1;
  }
  double difference = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = &x[row * kColumns];
    double sum = 0;
    for (int64_t i = 0; i < kColumns; ++i) sum += std::exp(in[i] * scale);
    for (int64_t i = 0; i < kColumns; ++i) {
      const double want = std::exp(in[i] * scale) / sum;
      difference = std::fmax(difference, std::fabs(results.data[row * kColumns + i] - want));
    }
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
    const double difference = RunAndCompare(cluster, rows);
    std::printf("%d rows: largest difference %.1e\n", static_cast<int>(rows), difference);
    if (difference < 0 || difference > 1e-6) code = 1;
  }
  char* stats = tektite_stats_json(compiler);
  if (stats != nullptr) std::printf("%s\n", stats);
  tektite_string_free(stats);
  tektite_cluster_destroy(cluster);
  tektite_compiler_destroy(compiler);
  return code;
}
