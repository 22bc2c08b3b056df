// A hook that says when it is told to stop work in the background (test_exit.py).
#include <cstdio>

extern "C" __attribute__((visibility("default"))) void tektite_hook_stop_background() {
  std::fputs("stopped\n", stderr);
}
