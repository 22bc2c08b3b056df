// tektite run FILE: executes IR text (.ir, .tir) or a frozen GraphDef on .npy inputs.
//
//   tektite run softmax.ir --input x.npy --output-dir out
//   tektite run model.pb --input x=photo.npy --repeat 100 --time --threads 2
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"
#include "runtime_hooks/standalone/npy.h"
#include "runtime_hooks/standalone/thread_pool.h"

namespace tektite::standalone {
namespace {

struct Options {
  std::string file, backend, device, output_dir, outputs;
  std::vector<std::string> inputs;
  int repeat = 1, threads = 1;
  bool time = false, profile = false, stats = false;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A cluster and the names of its inputs and outputs; names are empty for IR text.
struct Program {
  ClusterPtr cluster;
  std::vector<std::string> input_names, output_names;
  bool is_ir = false;
};

Program Load(const Options& options, tektite_compiler* compiler) {
  Program program;
  const std::string bytes = ReadModel(options.file);
  const std::string name = std::filesystem::path(options.file).stem().string();
  tektite_status status = {};
  program.is_ir = HasSuffix(options.file, ".ir") || HasSuffix(options.file, ".tir");
  if (program.is_ir) {
    program.cluster.reset(tektite_cluster_create_from_ir(compiler, name.c_str(), bytes.data(),
                                                         bytes.size(), &status));
  } else {
    size_t size = 0;
    char* signature_text = nullptr;
    const Text closed(tektite_close_graph(bytes.data(), bytes.size(), options.outputs.c_str(),
                                          &size, &signature_text, &status));
    const Text signature(signature_text);
    if (closed != nullptr) {
      const std::string text = signature.get();
      const size_t arrow = text.find("->");
      program.input_names = Split(text.substr(0, arrow), ',');
      program.output_names = Split(text.substr(arrow + 2), ',');
      program.cluster.reset(
          tektite_cluster_create(compiler, name.c_str(), closed.get(), size, &status));
    }
  }
  if (program.cluster == nullptr) throw Failure("'" + options.file + "': " + status.message);
  return program;
}

// "a.npy" in order, or "name=a.npy".
std::vector<Array> ReadInputs(const Options& options, const Program& program) {
  const auto count = static_cast<size_t>(tektite_cluster_num_args(program.cluster.get()));
  std::vector<Array> arrays(count);
  std::vector<bool> given(count, false);
  size_t next = 0;
  for (const std::string& input : options.inputs) {
    size_t at = next;
    std::string path = input;
    const size_t equals = input.find('=');
    if (equals != std::string::npos) {
      const auto& names = program.input_names;
      const auto found = std::find(names.begin(), names.end(), input.substr(0, equals));
      if (found != names.end()) {
        at = static_cast<size_t>(found - names.begin());
        path = input.substr(equals + 1);
      }
    }
    if (at >= count) {
      throw Failure("'" + options.file + "' takes " + std::to_string(count) + " inputs, '" + input +
                    "' is one too many");
    }
    if (given[at]) throw Failure("input " + std::to_string(at) + " is given twice");
    arrays[at] = ReadNpy(path);
    given[at] = true;
    while (next < count && given[next]) ++next;
  }
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    std::string message = "input " + std::to_string(i);
    if (i < program.input_names.size()) message += " '" + program.input_names[i] + "'";
    throw Failure(message + " of '" + options.file + "' is missing: --input FILE.npy");
  }
  return arrays;
}

// The host's side of a call.
struct Host {
  explicit Host(int workers) : pool(workers) {}

  static void Schedule(void* self, void (*fn)(void*), void* arg) {
    static_cast<Host*>(self)->pool.Schedule(fn, arg);
  }
  static void* Allocate(void* self, int32_t index, int32_t dtype, int32_t rank,
                        const int64_t* dims) {
    try {
      Array array = MakeArray(dtype, std::vector<int64_t>(dims, dims + rank));
      void* data = array.data.get();
      static_cast<Host*>(self)->results[index] = std::move(array);
      return data;
    } catch (const std::exception&) {
      return nullptr;  // the C interface is crossed: no exception may
    }
  }

  ThreadPool pool;
  std::vector<Array> results;
};

double RunOnce(const Program& program, Host& host, const std::vector<tektite_tensor>& args) {
  tektite_call call = {};
  call.struct_size = sizeof(call);
  call.args = args.data();
  call.num_args = static_cast<int32_t>(args.size());
  call.num_threads = host.pool.size();
  call.context = &host;
  call.schedule = &Host::Schedule;
  call.allocate = &Host::Allocate;
  tektite_status status = {};
  const auto begin = std::chrono::steady_clock::now();
  if (tektite_cluster_run(program.cluster.get(), &call, &status) != TEKTITE_OK) {
    throw Failure(status.message);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void PrintTimes(double first, std::vector<double> seconds) {
  std::printf("first call: %.3f ms\n", first * 1e3);
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  std::printf("later calls: median %.4f ms, least %.4f ms, of %zu\n",
              seconds[seconds.size() / 2] * 1e3, seconds.front() * 1e3, seconds.size());
}

// The objects of an array in the statistics, a line each.
void PrintArray(const std::string& stats, const std::string& name) {
  const size_t begin = stats.find("\"" + name + "\": [");
  if (begin == std::string::npos) return;
  const size_t first = stats.find('[', begin) + 1;
  const size_t end = stats[first] == ']' ? first : stats.find("}]", first) + 1;
  std::string array = stats.substr(first, end - first);
  for (size_t at; (at = array.find("}, {")) != std::string::npos;) array.replace(at, 3, "}\n");
  std::printf("%s\n", array.c_str());
}

std::string OutputName(const Program& program, size_t i) {
  if (i >= program.output_names.size()) return "out" + std::to_string(i);
  std::string name = program.output_names[i];
  for (char& c : name) {
    if (c == '/' || c == ':') c = '_';
  }
  return name;
}

void WriteOutputs(const Options& options, const Program& program, const Host& host) {
  std::error_code error;
  if (!options.output_dir.empty()) {
    std::filesystem::create_directories(options.output_dir, error);
    if (error) {
      throw Failure("cannot make '" + options.output_dir + "': " + error.message());
    }
  }
  for (size_t i = 0; i < host.results.size(); ++i) {
    const std::string name = OutputName(program, i);
    std::printf("%s: %s\n", name.c_str(), Describe(host.results[i]).c_str());
    if (!options.output_dir.empty()) {
      WriteNpy(options.output_dir + "/" + name + ".npy", host.results[i]);
    }
  }
}

void Run(const Options& options, Globals globals) {
  if (options.profile) globals.flags += " --profile_kernels";
  if (!options.device.empty()) globals.flags += " --device=" + options.device;
  const CompilerPtr compiler = MakeCompiler(globals, options.backend);
  const Program program = Load(options, compiler.get());
  const std::vector<Array> inputs = ReadInputs(options, program);
  std::vector<tektite_tensor> args;
  for (const Array& input : inputs) {
    tektite_tensor tensor = {};
    tensor.data = input.data.get();
    tensor.dims = input.dims.data();
    tensor.rank = static_cast<int32_t>(input.dims.size());
    tensor.dtype = input.dtype;
    // Parameters that IR text calls weights are the same in every repetition; a frozen graph's
    // placeholders stand for what changes.
    tensor.version = program.is_ir ? 1 : 0;
    args.push_back(tensor);
  }
  Host host(options.threads - 1);
  host.results.resize(tektite_cluster_num_results(program.cluster.get()));
  const double first = RunOnce(program, host, args);
  std::vector<double> seconds;
  for (int i = 1; i < options.repeat; ++i) seconds.push_back(RunOnce(program, host, args));
  if (options.time) PrintTimes(first, std::move(seconds));
  if (options.profile) {
    const Text stats(tektite_stats_json(compiler.get()));
    if (stats != nullptr) {
      PrintArray(stats.get(), "calls");
      PrintArray(stats.get(), "profile");
    }
  }
  WriteOutputs(options, program, host);
  if (options.stats) {
    const Text stats(tektite_stats_json(compiler.get()));
    if (stats != nullptr) std::printf("%s\n", stats.get());
  }
}

}  // namespace

void AddRun(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("run", "Execute IR text or a frozen graph, with .npy in and out");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "IR text (.ir, .tir), or a GraphDef (.pb, .pbtxt)")
      ->required();
  command->add_option("-i,--input", options->inputs,
                      "An input, FILE.npy in the graph's order or NAME=FILE.npy; one for each");
  command->add_option("-d,--output-dir", options->output_dir, "Results go there as NAME.npy");
  command->add_option("--outputs", options->outputs,
                      "Comma-separated tensors of a GraphDef to compute; without it, its sinks");
  command->add_option("--backend", options->backend,
                      "cpu, gpu, reference; without it, the best one");
  command->add_option("--device", options->device,
                      "cpu, gpu:N or auto: the flag --device, for this run");
  command->add_option("--repeat", options->repeat, "Number of calls")
      ->check(CLI::Range(1, 1000000000));
  command->add_option("--threads", options->threads, "Threads of a call")
      ->check(CLI::Range(1, 256));
  command->add_flag("--time", options->time, "Print how long calls take");
  command->add_flag("--stats", options->stats,
                    "Print the counters of the run at the end, a line of JSON");
  command->add_flag("--profile", options->profile,
                    "Print where the calls' time went and what each kernel took, microseconds of "
                    "all calls together, a line of JSON each");
  command->callback([options, &globals] { Run(*options, globals); });
}

}  // namespace tektite::standalone
