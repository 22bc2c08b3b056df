// Refers to all that a kernel may: constants, a table of their addresses, functions outside.
#include <stdint.h>
#include <string.h>

static const float weights[4] = {1, 10, 100, 1000};
static const float* const table[2] = {weights + 1, weights + 3};

// The function below jumps here, as a kernel does.
static __attribute__((noinline)) void copies_body(float* result, const float* x, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) result[i] = x[i] * table[i & 1][-1] + weights[3];
}

// Elements [begin, end) of the result: the first buffer's times a weight, plus the last weight.
void copies(void* const* buffers, const int64_t* sizes, void* scratch, int64_t begin, int64_t end) {
  memset(buffers[1], 0, (size_t)sizes[0]);
  memcpy(scratch, buffers[0], (size_t)sizes[0]);
  memmove((char*)scratch + sizes[0], scratch, (size_t)sizes[0]);
  copies_body(buffers[1], scratch, begin, end);
}
