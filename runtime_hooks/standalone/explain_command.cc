// tektite explain MODEL: what would be compiled of a model, and why the rest would not.
#include <memory>
#include <string>
#include <vector>

#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"

namespace tektite::standalone {
namespace {

struct ExplainOptions {
  std::string model, output = "-";
  bool json = false, dot = false, memory = false, kernels = false;
  std::vector<std::string> sizes;
};

void Explain(const ExplainOptions& options, const Globals& globals) {
  const bool compiles = options.memory || options.kernels;
  if (!options.sizes.empty() && !compiles) {
    throw CLI::RequiresError("--size", "--memory or --kernels");
  }
  const std::string model = ReadModel(options.model);
  const CompilerPtr compiler = MakeCompiler(globals);
  const int32_t format = options.kernels ? TEKTITE_KERNELS
                         : options.json  ? TEKTITE_JSON
                         : options.dot   ? TEKTITE_DOT
                                         : TEKTITE_TEXT;
  tektite_status status = {};
  std::string sizes;
  for (const std::string& size : options.sizes) sizes += size + ",";
  const Text text(tektite_explain(compiler.get(), model.data(), model.size(),
                                  compiles ? sizes.c_str() : nullptr, format, &status));
  if (text == nullptr) throw Failure("'" + options.model + "': " + status.message);
  std::string out = text.get();
  if (!HasSuffix(out, "\n")) out += '\n';
  WriteFile(options.output, out);
}

}  // namespace

void AddExplain(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand(
      "explain", "Show which parts of a model would be compiled, and why the rest would not");
  auto options = std::make_shared<ExplainOptions>();
  command
      ->add_option("MODEL", options->model,
                   "SavedModel directory, or a GraphDef as .pb or .pbtxt; - reads standard input")
      ->required();
  auto* json = command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--dot", options->dot, "Print a Graphviz graph")->excludes(json);
  command->add_flag("--memory", options->memory,
                    "Compile each cluster and print the memory that a call needs");
  CLI::Option* kernels = command->add_flag(
      "--kernels", options->kernels,
      "Compile each cluster and print how each kernel is made, and why not otherwise");
  kernels->excludes(json);
  command->add_option(
      "--size", options->sizes,
      "NAME=NUMBER, such as n0=8: a size that the graph leaves open; may be repeated");
  command->add_option("-o,--output", options->output, "Write to this file");
  command->callback([options, &globals] { Explain(*options, globals); });
}

}  // namespace tektite::standalone
