/* Finds the weights of y = x w from examples; the weights, their velocity and the number of steps are this program's. */
#include <stdio.h>
#include <stdlib.h>

#include "regression.h"

enum { rows = 64, columns = 8, most_steps = 400 };

int main(void) {
  float x[rows * columns], y[rows], weight[columns] = {0}, velocity[columns] = {0}, loss = 0;
  int32_t steps = 0;
  uint32_t random = 1;
  for (int i = 0; i < rows; ++i) {
    y[i] = 0;
    for (int j = 0; j < columns; ++j) {
      random = random * 1664525u + 1013904223u;
      x[i * columns + j] = (float)(random >> 8) / 8388608.0f - 1.0f;
      y[i] += x[i * columns + j] * (float)(j + 1);
    }
  }
  const regression_sizes sizes = {rows};
  const regression_args args = {.x = x, .y = y};
  const regression_state state = {.weight = weight, .velocity = velocity, .steps = &steps};
  regression_results results = {&loss};
  tektite_aot_arena arena = {NULL, regression_arena_bytes(&sizes, NULL)};
  arena.data = aligned_alloc(64, (size_t)(arena.bytes + 63) / 64 * 64);
  while (steps < most_steps) {
    const int32_t code = regression_run(&sizes, &args, &state, &results, arena, NULL);
    if (code != 0) return fprintf(stderr, "%s\n", regression_message(code)), 1;
  }
  printf("%d steps, loss %.6f, weights", (int)steps, (double)loss);
  for (int j = 0; j < columns; ++j) printf(" %.3f", (double)weight[j]);
  printf("\n");
  free(arena.data);
  return 0;
}
