// Calls a function that no kernel may call.
#include <math.h>

void sine(float* x) { *x = sinf(*x); }
