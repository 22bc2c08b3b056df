// The options that `tektite run` and `tektite bench` share: what to call, on what, with what.
//
//   struct Options : CallOptions { int repeat = 1; };
//   AddCallOptions(command, "An input, FILE.npy ...", options.get());
#ifndef TEKTITE_RUNTIME_HOOKS_STANDALONE_CALL_OPTIONS_H_
#define TEKTITE_RUNTIME_HOOKS_STANDALONE_CALL_OPTIONS_H_

#include <string>
#include <vector>

#include "runtime_hooks/standalone/command.h"

namespace tektite::standalone {

struct CallOptions {
  std::string file, outputs, backend, device;
  std::vector<std::string> inputs;
  int threads = 1;
};

// FILE, --input, --outputs, --backend, --device and --threads; `input` is the help of --input.
void AddCallOptions(CLI::App* command, const char* input, CallOptions* options);

// With the flag of the options' device.
Globals OnDevice(Globals globals, const CallOptions& options);

}  // namespace tektite::standalone

#endif  // TEKTITE_RUNTIME_HOOKS_STANDALONE_CALL_OPTIONS_H_
