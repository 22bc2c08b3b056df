// tektite explain MODEL: what would be compiled of a model, and why the rest would not.
#include <memory>
#include <string>

#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"

namespace tektite::standalone {
namespace {

struct Options {
  std::string model, output = "-";
  bool json = false, dot = false;
};

void Explain(const Options& options, const Globals& globals) {
  const std::string model = ReadModel(options.model);
  const CompilerPtr compiler = MakeCompiler(globals);
  const int32_t format = options.json ? TEKTITE_JSON : options.dot ? TEKTITE_DOT : TEKTITE_TEXT;
  tektite_status status = {};
  const Text text(tektite_explain(compiler.get(), model.data(), model.size(), format, &status));
  if (text == nullptr) throw Failure("'" + options.model + "': " + status.message);
  std::string out = text.get();
  if (!HasSuffix(out, "\n")) out += '\n';
  WriteFile(options.output, out);
}

}  // namespace

void AddExplain(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand(
      "explain", "What would be compiled of a model, and why the rest would not");
  auto options = std::make_shared<Options>();
  command
      ->add_option("MODEL", options->model,
                   "SavedModel directory, or a GraphDef as .pb or .pbtxt; - reads standard input")
      ->required();
  auto* json = command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--dot", options->dot, "Print a Graphviz graph")->excludes(json);
  command->add_option("-o,--output", options->output, "Write to this file");
  command->callback([options, &globals] { Explain(*options, globals); });
}

}  // namespace tektite::standalone
