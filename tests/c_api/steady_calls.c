/* A softmax in a loop: `steady_calls 100 --profile_kernels` compiles it, and then calls it so often within steady_calls(). */
#include <stdio.h>
#include <stdlib.h>

#include "runtime_hooks/c_api/tektite.h"

static const char program[] =
    "graph @softmax(%x: f32[n,3]) -> (f32[n,3]) {\n"
    "  %e: f32[n,3] = exp(%x)\n"
    "  %s: f32[n] = reduce(%e) {dimensions = [1], reducer = \"add\"}\n"
    "  %b: f32[n,3] = broadcast_in_dim(%s) {dimensions = [0], shape = (n, 3)}\n"
    "  %r: f32[n,3] = div(%e, %b)\n"
    "  return %r\n"
    "}\n";

/* A profile times each of the first 100 calls, and then one of 8. */
enum { kWarmUp = 150 };

static _Alignas(64) float result[16];

static void* allocate(void* context, int32_t index, int32_t dtype, int32_t rank, const int64_t* dims) {
  (void)context, (void)index, (void)dtype, (void)rank, (void)dims;
  return result;
}

/* Returns how many calls failed. */
__attribute__((noinline)) int steady_calls(tektite_cluster* cluster, const tektite_call* call, int calls) {
  int failed = 0;
  tektite_status status;
  for (int i = 0; i < calls; ++i) failed += tektite_cluster_run(cluster, call, &status) != TEKTITE_OK;
  return failed;
}

int main(int argc, char** argv) {
  tektite_status status;
  char flags[200];
  if (argc < 2) return fprintf(stderr, "usage: steady_calls NUMBER [FLAG]\n"), 2;
  snprintf(flags, sizeof(flags), "--compile=sync --cache_dir=off --stats_file=off %s", argc > 2 ? argv[2] : "");
  tektite_options options = {.struct_size = sizeof(options), .flags = flags, .host = "steady calls 1.0"};
  tektite_compiler* compiler = tektite_compiler_create(&options, &status);
  tektite_cluster* cluster = compiler == NULL ? NULL
      : tektite_cluster_create_from_ir(compiler, "softmax", program, sizeof(program) - 1, &status);
  if (cluster == NULL) return fprintf(stderr, "%s\n", status.message), 2;
  const float x[4][3] = {{0, 1, 2}, {5, 5, 5}, {1, 2, 3}, {4, 4, 4}};
  const int64_t dims[] = {4, 3};
  tektite_tensor argument = {.data = x, .dims = dims, .rank = 2, .dtype = 1 /* DT_FLOAT */};
  tektite_call call = {.struct_size = sizeof(call), .args = &argument, .num_args = 1, .allocate = allocate};
  int failed = 0;
  for (int i = 0; i < kWarmUp; ++i) failed += tektite_cluster_run(cluster, &call, &status) != TEKTITE_OK;
  failed += steady_calls(cluster, &call, atoi(argv[1]));
  printf("%d failed, %.4f\n", failed, result[0]);
  tektite_cluster_destroy(cluster);
  tektite_compiler_destroy(compiler);
  return failed != 0;
}
