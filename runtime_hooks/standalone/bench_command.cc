// tektite bench FILE: how long calls of IR text, a frozen graph or a SavedModel take.
//
//   tektite bench softmax.ir --input f32[64,1000] --threads 2
//   tektite bench resnet/ --batch 8
//   tektite bench model.pb --input x=photo.npy --device gpu:0 --profile --json
//
// Calls are timed one by one, arguments and results in the host's memory.  The first call compiles;
// what is measured in the background ends before the clock starts.  Kernels are timed in calls of
// their own (--profile), since their clock slows calls down.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime_hooks/standalone/call_options.h"
#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/handles.h"
#include "runtime_hooks/standalone/program.h"

namespace tektite::standalone {
namespace {

// Without --repeat: as many calls as fit --seconds, within these.
constexpr size_t kFewestCalls = 10, kMostCalls = 100000;
constexpr int kProfiledCalls = 30;
constexpr double kQuietSeconds = 2, kProgressSeconds = 2;

struct BenchOptions : CallOptions {
  int repeat = 0, warmup = 5;
  int64_t batch = 1;
  double seconds = 2;
  bool profile = false, json = false;
};

struct Times {
  double first = 0;             // seconds, as all others
  std::vector<double> seconds;  // ascending
  // The part of calls that were faster is `rank`.
  double At(double rank) const {
    return seconds[static_cast<size_t>(rank * static_cast<double>(seconds.size() - 1) + 0.5)];
  }
};

struct KernelTime {
  std::string name;
  double microseconds = 0, flops = 0, bytes = 0;  // of a run; the least that was measured
  double per_call = 0;                            // microseconds
};

// Says on stderr how far it is, where that takes long.
class Progress {
 public:
  void Say(size_t calls, double seconds, double of_seconds) {
    if (seconds < kQuietSeconds || seconds - last_ < kProgressSeconds) return;
    last_ = seconds;
    std::fprintf(stderr, "%s%zu calls, %.0f of some %.0f s%s", is_terminal_ ? "\r" : "", calls,
                 seconds, of_seconds, is_terminal_ ? "" : "\n");
    has_said_ = true;
  }
  ~Progress() {
    if (has_said_ && is_terminal_) std::fputc('\n', stderr);
  }

 private:
  const bool is_terminal_ = isatty(STDERR_FILENO) != 0;
  double last_ = 0;
  bool has_said_ = false;
};

Times Measure(const BenchOptions& options, Caller& caller) {
  Times times;
  times.first = caller.Call();
  // Ways to make a kernel may still be compared; the next call would share the machine with that.
  tektite_wait_until_compiled();
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (int i = 0; i < options.warmup; ++i) caller.Call();
  Progress progress;
  const auto wanted = static_cast<size_t>(options.repeat);
  while (wanted > 0 ? times.seconds.size() < wanted
                    : times.seconds.size() < kFewestCalls ||
                          (spent() < options.seconds && times.seconds.size() < kMostCalls)) {
    times.seconds.push_back(caller.Call());
    const double so_far = spent();
    progress.Say(times.seconds.size(), so_far,
                 wanted > 0 ? so_far * static_cast<double>(wanted) /
                                  static_cast<double>(times.seconds.size())
                            : std::max(options.seconds, so_far));
  }
  std::sort(times.seconds.begin(), times.seconds.end());
  return times;
}

std::string TextField(const std::string& object, const std::string& field) {
  const std::string name = "\"" + field + "\": \"";
  const size_t begin = object.find(name);
  if (begin == std::string::npos) return "";
  std::string text;
  for (size_t i = begin + name.size(); i < object.size() && object[i] != '"'; ++i) {
    if (object[i] == '\\') ++i;
    text += object[i];
  }
  return text;
}

double NumberField(const std::string& object, const std::string& field) {
  const std::string name = "\"" + field + "\": ";
  const size_t begin = object.find(name);
  return begin == std::string::npos ? 0
                                    : std::strtod(object.c_str() + begin + name.size(), nullptr);
}

// By a compiler of its own: what times kernels is made for it.
std::vector<KernelTime> Profile(const BenchOptions& options, Globals globals) {
  globals.flags += " --profile_kernels";
  const CompilerPtr compiler = MakeCompiler(globals, options.backend);
  const Program program = LoadProgram(options.file, options.outputs, compiler.get());
  Caller caller(program, ReadInputs(options.inputs, program, /*makes_arrays=*/true, options.batch),
                options.threads);
  for (int i = 0; i < kProfiledCalls; ++i) caller.Call();
  std::vector<KernelTime> kernels;
  const Text stats(tektite_stats_json(compiler.get()));
  if (stats == nullptr) return kernels;
  for (const std::string& object : ObjectsOf(stats.get(), "profile")) {
    const double runs = NumberField(object, "runs");
    if (runs == 0) continue;
    KernelTime& kernel = kernels.emplace_back();
    kernel.name = TextField(object, "kernel");
    kernel.microseconds = NumberField(object, "least_microseconds");
    kernel.flops = NumberField(object, "flops");
    kernel.bytes = NumberField(object, "bytes");
    // What depends on weights alone runs once, and in a loop a kernel runs often.
    kernel.per_call = runs < kProfiledCalls ? 0 : kernel.microseconds * runs / kProfiledCalls;
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const KernelTime& a, const KernelTime& b) {
    return a.per_call > b.per_call;
  });
  return kernels;
}

double Sum(const std::vector<KernelTime>& kernels) {
  double sum = 0;
  for (const KernelTime& kernel : kernels) sum += kernel.per_call;
  return sum;
}

double Share(const KernelTime& kernel, double sum) { return sum == 0 ? 0 : kernel.per_call / sum; }

// Of a part of the time: 1e9 of `amount` a second.
double Rate(double amount, double microseconds) {
  return microseconds == 0 ? 0 : amount / microseconds / 1e3;
}

void PrintTable(const BenchOptions& options, const Times& times, const std::vector<Array>& results,
                const std::vector<KernelTime>& kernels) {
  std::printf("%s on %s, %d thread%s\n", options.file.c_str(),
              options.device.empty() ? "the usual device" : options.device.c_str(), options.threads,
              options.threads == 1 ? "" : "s");
  for (const Array& result : results) std::printf("result        %s\n", Describe(result).c_str());
  std::printf("first call    %12.3f ms, with compiling\n", times.first * 1e3);
  std::printf("calls         %12zu, after %d to warm up\n", times.seconds.size(), options.warmup);
  const struct {
    const char* name;
    double seconds;
  } rows[] = {{"median", times.At(0.5)},
              {"p10", times.At(0.1)},
              {"p90", times.At(0.9)},
              {"least", times.At(0)}};
  for (const auto& [name, seconds] : rows) std::printf("%-13s %12.4f ms\n", name, seconds * 1e3);
  if (kernels.empty()) return;
  std::printf("\n     us   share   GFLOP/s      GB/s  kernel\n");
  const double sum = Sum(kernels);
  for (const KernelTime& kernel : kernels) {
    std::printf("%7.1f  %5.1f%%  %8.1f  %8.1f  %s\n", kernel.per_call, 100 * Share(kernel, sum),
                Rate(kernel.flops, kernel.microseconds), Rate(kernel.bytes, kernel.microseconds),
                kernel.name.c_str());
  }
  std::printf("%7.1f  of kernels in a call\n", sum);
}

std::string JsonText(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

void PrintJson(const BenchOptions& options, const Times& times, const std::vector<Array>& results,
               const std::vector<KernelTime>& kernels) {
  std::printf(
      "{\"model\": %s, \"device\": %s, \"threads\": %d, \"calls\": %zu, \"warmup\": %d, "
      "\"first_ms\": %.6f, \"median_ms\": %.6f, \"p10_ms\": %.6f, \"p90_ms\": %.6f, "
      "\"least_ms\": %.6f, \"results\": [",
      JsonText(options.file).c_str(), JsonText(options.device).c_str(), options.threads,
      times.seconds.size(), options.warmup, times.first * 1e3, times.At(0.5) * 1e3,
      times.At(0.1) * 1e3, times.At(0.9) * 1e3, times.At(0) * 1e3);
  const char* comma = "";
  for (const Array& result : results) {
    std::printf("%s%s", comma, JsonText(Describe(result)).c_str());
    comma = ", ";
  }
  std::printf("]");
  if (options.profile) {
    std::printf(", \"kernels\": [");
    comma = "";
    const double sum = Sum(kernels);
    for (const KernelTime& kernel : kernels) {
      std::printf(
          "%s{\"kernel\": %s, \"microseconds\": %.3f, \"per_call\": %.3f, \"share\": %.4f, "
          "\"flops\": %.0f, \"bytes\": %.0f}",
          comma, JsonText(kernel.name).c_str(), kernel.microseconds, kernel.per_call,
          Share(kernel, sum), kernel.flops, kernel.bytes);
      comma = ", ";
    }
    std::printf("]");
  }
  std::printf("}\n");
}

void Bench(const BenchOptions& options, Globals globals) {
  globals = OnDevice(std::move(globals), options);
  std::vector<Array> results;
  Times times;
  {
    const CompilerPtr compiler = MakeCompiler(globals, options.backend);
    const Program program = LoadProgram(options.file, options.outputs, compiler.get());
    Caller caller(program,
                  ReadInputs(options.inputs, program, /*makes_arrays=*/true, options.batch),
                  options.threads);
    times = Measure(options, caller);
    results = caller.results();
  }
  std::vector<KernelTime> kernels;
  if (options.profile) kernels = Profile(options, globals);
  (options.json ? PrintJson : PrintTable)(options, times, results, kernels);
}

}  // namespace

void AddBench(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("bench", "Time calls of IR text, a frozen graph or a SavedModel");
  auto options = std::make_shared<BenchOptions>();
  AddCallOptions(
      command,
      "An input: FILE.npy, or a type as f32[8,128], for numbers that are made; in the "
      "graph's order or as NAME=...; those that are missing are made for the graph's types",
      options.get());
  command
      ->add_option("--batch", options->batch,
                   "First size of made inputs, where it is open; others are 1")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--warmup", options->warmup, "Calls before the clock starts")
      ->check(CLI::Range(0, 1000000));
  auto* seconds = command->add_option("--seconds", options->seconds, "How long to time calls")
                      ->check(CLI::Range(0.0, 86400.0));
  command->add_option("--repeat", options->repeat, "Calls to time, however long they take")
      ->check(CLI::Range(1, 100000000))
      ->excludes(seconds);
  command->add_flag("--profile", options->profile,
                    "Print the time, share and rates of each kernel as well");
  command->add_flag("--json", options->json, "Print a line of JSON");
  command->callback([options, &globals] { Bench(*options, globals); });
}

}  // namespace tektite::standalone
