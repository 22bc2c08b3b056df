// tektite run FILE: executes IR text (.ir, .tir) or a frozen GraphDef on .npy inputs.
//
//   tektite run softmax.ir --input x.npy --output-dir out
//   tektite run model.pb --input x=photo.npy --repeat 100 --time --threads 2
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime_hooks/standalone/call_options.h"
#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/handles.h"
#include "runtime_hooks/standalone/npy.h"
#include "runtime_hooks/standalone/program.h"

namespace tektite::standalone {
namespace {

struct RunOptions : CallOptions {
  std::string output_dir;
  int repeat = 1;
  bool time = false, profile = false, stats = false;
};

void PrintTimes(double first, std::vector<double> seconds) {
  std::printf("first call: %.3f ms\n", first * 1e3);
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  std::printf("later calls: median %.4f ms, least %.4f ms, of %zu\n",
              seconds[seconds.size() / 2] * 1e3, seconds.front() * 1e3, seconds.size());
}

// The objects of an array in the statistics, a line each.
void PrintArray(const std::string& stats, const std::string& name) {
  for (const std::string& object : ObjectsOf(stats, name)) std::printf("%s\n", object.c_str());
}

std::string OutputName(const Program& program, size_t i) {
  if (i >= program.output_names.size()) return "out" + std::to_string(i);
  std::string name = program.output_names[i];
  for (char& c : name) {
    if (c == '/' || c == ':') c = '_';
  }
  return name;
}

void WriteOutputs(const RunOptions& options, const Program& program,
                  const std::vector<Array>& results) {
  std::error_code error;
  if (!options.output_dir.empty()) {
    std::filesystem::create_directories(options.output_dir, error);
    if (error) {
      throw Failure("cannot make '" + options.output_dir + "': " + error.message());
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string name = OutputName(program, i);
    std::printf("%s: %s\n", name.c_str(), Describe(results[i]).c_str());
    if (!options.output_dir.empty()) {
      WriteNpy(options.output_dir + "/" + name + ".npy", results[i]);
    }
  }
}

void Run(const RunOptions& options, Globals globals) {
  if (options.profile) globals.flags += " --profile_kernels";
  const CompilerPtr compiler = MakeCompiler(OnDevice(globals, options), options.backend);
  const Program program = LoadProgram(options.file, options.outputs, compiler.get());
  Caller caller(program, ReadInputs(options.inputs, program), options.threads);
  const double first = caller.Call();
  std::vector<double> seconds;
  for (int i = 1; i < options.repeat; ++i) seconds.push_back(caller.Call());
  if (options.time) PrintTimes(first, std::move(seconds));
  if (options.profile) {
    const Text stats(tektite_stats_json(compiler.get()));
    if (stats != nullptr) {
      PrintArray(stats.get(), "calls");
      PrintArray(stats.get(), "profile");
    }
  }
  WriteOutputs(options, program, caller.results());
  if (options.stats) {
    const Text stats(tektite_stats_json(compiler.get()));
    if (stats != nullptr) std::printf("%s\n", stats.get());
  }
}

}  // namespace

void AddRun(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("run", "Execute IR text or a frozen graph, with .npy in and out");
  auto options = std::make_shared<RunOptions>();
  AddCallOptions(command, "An input, FILE.npy in the graph's order or NAME=FILE.npy; one for each",
                 options.get());
  command->add_option("-d,--output-dir", options->output_dir, "Results go there as NAME.npy");
  command->add_option("--repeat", options->repeat, "Number of calls")
      ->check(CLI::Range(1, 1000000000));
  command->add_flag("--time", options->time, "Print how long calls take");
  command->add_flag("--stats", options->stats,
                    "Print the counters of the run at the end, a line of JSON");
  command->add_flag("--profile", options->profile,
                    "Print where the calls' time went and what each kernel took, microseconds of "
                    "all calls together, a line of JSON each");
  command->callback([options, &globals] { Run(*options, globals); });
}

}  // namespace tektite::standalone
