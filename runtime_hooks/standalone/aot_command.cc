// tektite aot MODEL: a model as a library in C.
//
//   tektite aot mlp.pb --out lib                              # lib/mlp.h, lib/libmlp.a
//   tektite aot bert.pb --input ids=s32[n,length] --typical n=8,length=128 --cpu x86-64-v4
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "runtime_hooks/c_api/aot.h"
#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"

namespace tektite::standalone {
namespace {

struct AotOptions {
  std::string file, out = ".", name, cpu = "native", weights = "inside", outputs, typical;
  std::vector<std::string> inputs;
  bool shared = false, python = false, test = false, bench = false, report = false, json = false;
};

// The file's name, as an identifier.
std::string NameOf(const std::string& file) {
  std::string name = std::filesystem::path(file).stem().string();
  if (name.empty()) name = std::filesystem::path(file).parent_path().stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

// libNAME.so of libNAME.a, with the C compiler's linker: CC, or cc.
void LinkShared(const std::string& stem) {
  const char* const given = std::getenv("CC");
  const std::string compiler = given == nullptr || *given == '\0' ? "cc" : given;
  const std::string archive = stem + ".a", shared = stem + ".so";
  std::vector<std::string> words = {compiler,
                                    "-shared",
                                    "-o",
                                    shared,
                                    "-Wl,--whole-archive",
                                    archive,
                                    "-Wl,--no-whole-archive,-z,defs,--gc-sections"};
  std::error_code error;
  const std::string kernels =
      (std::filesystem::path(stem).parent_path() / "libtektite_kernels.a").string();
  if (std::filesystem::exists(kernels, error)) {
    words.insert(words.end(), {kernels, "-Wl,--as-needed", "-lstdc++"});
  }
  words.insert(words.end(), {"-lm", "-lc"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  int result = 0;
  if (posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0 ||
      waitpid(child, &result, 0) != child || result != 0) {
    throw Failure("'" + compiler + "' does not link '" + shared +
                  "'; a shared library needs a C compiler, which CC names");
  }
}

void MakeLibrary(const AotOptions& options, const Globals& globals) {
  const std::string model = ReadModel(options.file);
  const std::string flags = AllFlags(globals);
  const std::string name = options.name.empty() ? NameOf(options.file) : options.name;
  std::string inputs;
  for (const std::string& input : options.inputs) inputs += input + ";";
  tektite_aot_options given = {};
  given.struct_size = sizeof(given);
  given.flags = flags.c_str();
  given.name = name.c_str();
  given.cpu = options.cpu.c_str();
  const bool is_ir = HasSuffix(options.file, ".ir") || HasSuffix(options.file, ".tir");
  given.form = is_ir ? TEKTITE_AOT_IR : TEKTITE_AOT_MODEL;
  given.inputs = inputs.c_str();
  given.outputs = options.outputs.c_str();
  given.typical = options.typical.c_str();
  given.with_python = options.python ? 1 : 0;
  given.weights = options.weights.c_str();
  given.with_test = options.test ? 1 : 0;
  given.with_bench = options.bench ? 1 : 0;
  given.report = options.json     ? TEKTITE_AOT_REPORT_JSON
                 : options.report ? TEKTITE_AOT_REPORT_LAYERS
                                  : TEKTITE_AOT_REPORT_BRIEF;
  tektite_status status = {};
  const Text report(tektite_aot(model.data(), model.size(), options.out.c_str(), &given, &status));
  if (report == nullptr) {
    std::error_code error;
    const bool reads_variables =
        status.code == TEKTITE_UNIMPLEMENTED && std::filesystem::is_directory(options.file, error);
    throw Failure(
        "'" + options.file + "': " + status.message +
        (reads_variables ? "; `python -m tektite aot` loads a SavedModel with its variables" : ""));
  }
  std::printf("%s", report.get());
  if (!options.shared && !options.python) return;
  LinkShared(options.out + "/lib" + name);
  if (!options.json) std::printf("linked %s/lib%s.so\n", options.out.c_str(), name.c_str());
}

}  // namespace

void AddAot(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("aot", "Compile a model ahead of time: a C header and a static library");
  auto options = std::make_shared<AotOptions>();
  command
      ->add_option("MODEL", options->file, "IR text (.ir, .tir), a frozen GraphDef or a SavedModel")
      ->required();
  command->add_option("-o,--out", options->out, "The directory of the library");
  command->add_option("--name", options->name,
                      "The library's name, a prefix of all names in it; without it, the file's");
  command->add_option("--cpu", options->cpu,
                      "What the code is for: native, x86-64-v3, x86-64-v4, amx, or several of "
                      "them, separated by commas, of which a call runs the one for its machine; or "
                      "armv8-a, for AArch64");
  command->add_option("--input", options->inputs,
                      "The type of an input, NAME=f32[n,224,224,3]: numbers are sizes that are "
                      "fixed, names are sizes that each call chooses");
  command->add_option("--outputs", options->outputs,
                      "Comma-separated tensors of a GraphDef to compute; without it, its sinks");
  command->add_option("--typical", options->typical,
                      "Open sizes to lay memory out for, n=8,length=128");
  command->add_option("--weights", options->weights,
                      "Where weights are: inside the library, in a file that it maps, or the "
                      "caller's copy of that file");
  command->add_flag("--shared", options->shared, "Link a shared library, too, with CC or cc");
  command->add_flag("--python", options->python,
                    "Write a Python module, too, which calls the shared library");
  command->add_flag("--test", options->test,
                    "Write NAME_test.c, too: whether results are what they should be");
  command->add_flag("--report", options->report, "Print bytes by layer, too");
  command->add_flag("--json", options->json, "Print what was made as JSON");
  command->add_flag("--bench", options->bench, "Write NAME_bench.c, too: how long calls take");
  command->callback([options, &globals] { MakeLibrary(*options, globals); });
}

}  // namespace tektite::standalone
