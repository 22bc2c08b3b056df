#include "runtime_hooks/standalone/call_options.h"

namespace tektite::standalone {

void AddCallOptions(CLI::App* command, const char* input, CallOptions* options) {
  command
      ->add_option("FILE", options->file,
                   "IR text (.ir, .tir), a GraphDef (.pb, .pbtxt) or a SavedModel directory")
      ->required();
  command->add_option("-i,--input", options->inputs, input);
  command->add_option("--outputs", options->outputs,
                      "Comma-separated tensors of a GraphDef to compute; without it, its sinks");
  command->add_option("--backend", options->backend,
                      "cpu, gpu, reference; without it, the best one");
  command->add_option("--device", options->device,
                      "cpu, gpu:N or auto: the flag --device, for this run");
  command->add_option("--threads", options->threads, "Threads of a call")
      ->check(CLI::Range(1, 256));
}

Globals OnDevice(Globals globals, const CallOptions& options) {
  if (!options.device.empty()) globals.flags += " --device=" + options.device;
  return globals;
}

}  // namespace tektite::standalone
