// tektite opt FILE: runs passes over the text form of the tensor IR and prints what becomes of it.
#include <memory>
#include <string>

#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"

namespace tektite::standalone {
namespace {

struct OptOptions {
  std::string file, passes, backend, output = "-";
};

void Optimize(const OptOptions& options, const Globals& globals) {
  const std::string text = ReadFile(options.file);
  const CompilerPtr compiler = MakeCompiler(globals, options.backend);
  tektite_status status = {};
  const Text result(tektite_transform_ir(compiler.get(), text.data(), text.size(),
                                         options.passes.c_str(), &status));
  if (result == nullptr) throw Failure("'" + options.file + "': " + status.message);
  WriteFile(options.output, result.get());
}

}  // namespace

void AddOpt(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("opt", "Run passes over IR text");
  auto options = std::make_shared<OptOptions>();
  command->add_option("FILE", options->file, "IR text; - reads standard input")->required();
  command->add_option("--passes", options->passes,
                      "Comma-separated passes (see tektite passes); without it, all in order");
  command->add_option("--backend", options->backend, "Back end that layouts are chosen for");
  command->add_option("-o,--output", options->output, "Write to this file");
  command->callback([options, &globals] { Optimize(*options, globals); });
}

}  // namespace tektite::standalone
