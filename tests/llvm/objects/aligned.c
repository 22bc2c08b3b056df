// Has a constant that wants more than a cache line to itself.
#include <stdint.h>

static const float line[32] __attribute__((aligned(128))) = {1, 2, 3};

float aligned(int64_t i) { return line[i]; }
