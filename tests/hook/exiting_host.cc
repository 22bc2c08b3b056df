// A program of TensorFlow's that is no Python: opens the loader, makes a static object, and ends.
//   exiting_host LOADER return|exit
// test_exit.py has it load stopping_hook.cc as its hook.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// What the loader knows TensorFlow by.
extern "C" __attribute__((visibility("default"))) const char* TF_Version() { return "9.8.7"; }

namespace {

struct Static {
  ~Static() { std::fputs("destroyed\n", stderr); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || dlopen(argv[1], RTLD_NOW) == nullptr) return 2;
  static Static made_later;
  if (std::strcmp(argv[2], "exit") == 0) std::exit(0);
  return 0;
}
