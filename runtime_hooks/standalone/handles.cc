#include "runtime_hooks/standalone/handles.h"

#include <cstdlib>

namespace tektite::standalone {

std::string AllFlags(const Globals& globals) {
  const char* environment = std::getenv("TEKTITE_FLAGS");
  // A command has no other kernels to run meanwhile.
  return std::string("--compile=sync ") + (environment == nullptr ? "" : environment) + " " +
         globals.flags;
}

CompilerPtr MakeCompiler(const Globals& globals, const std::string& backend) {
  const std::string flags = AllFlags(globals);
  tektite_options options = {};
  options.struct_size = sizeof(options);
  options.flags = flags.c_str();
  options.backend = backend.empty() ? nullptr : backend.c_str();
  tektite_status status = {};
  CompilerPtr compiler(tektite_compiler_create(&options, &status));
  if (status.code == TEKTITE_UNAVAILABLE) throw NoCard(status.message);
  if (compiler == nullptr) throw Failure(status.message);
  return compiler;
}

}  // namespace tektite::standalone
