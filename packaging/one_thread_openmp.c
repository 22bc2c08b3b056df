/* OpenMP with one thread: what oneDNN's library calls (nm -D libdnnl.so.3), and what onednn_library.cc looks for.
 *
 * Why: that library is built for GCC's libgomp.so.1, which slim systems lack, while Tektite never lets it start a thread
 * (backends/cpu/onednn/onednn_library.h). A wheel holds this file's library under a name of its own, so that no other library
 * of the process gets it for libgomp.
 * Limits: what nm lists and no more; another version of oneDNN that calls more does not load, and its route is off. */
#include <stdbool.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int omp_get_max_threads(void) { return 1; }
EXPORTED int omp_get_num_threads(void) { return 1; }
EXPORTED int omp_get_thread_num(void) { return 0; }
EXPORTED int omp_in_parallel(void) { return 0; }
EXPORTED void omp_set_num_threads(int count) { (void)count; }

EXPORTED void GOMP_barrier(void) {}

/* The caller runs the region between these two, as the only thread of its team. */
EXPORTED void GOMP_parallel_start(void (*region)(void*), void* data, unsigned threads) {
  (void)region, (void)data, (void)threads;
}
EXPORTED void GOMP_parallel_end(void) {}

/* All of a loop's range is one part. */
EXPORTED bool GOMP_loop_static_start(long start, long end, long step, long chunk, long* begin, long* stop) {
  (void)chunk;
  *begin = start;
  *stop = end;
  return step > 0 ? start < end : start > end;
}
EXPORTED bool GOMP_loop_static_next(long* begin, long* stop) {
  (void)begin, (void)stop;
  return false;
}
EXPORTED void GOMP_loop_end_nowait(void) {}
