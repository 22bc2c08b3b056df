// tektite stats [PID|FILE]: the counters of a process that runs, or ran last.
#include <memory>
#include <string>

#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"

namespace tektite::standalone {
namespace {

struct StatsOptions {
  std::string which, output = "-";
  bool json = false, prometheus = false;
};

void PrintStats(const StatsOptions& options, const Globals& globals) {
  const int32_t format = options.json         ? TEKTITE_JSON
                         : options.prometheus ? TEKTITE_PROMETHEUS
                                              : TEKTITE_TEXT;
  const std::string flags = AllFlags(globals);
  const char* const which = options.which.empty() ? nullptr : options.which.c_str();
  const Text text = Checked([&](tektite_status* status) {
    return Text(tektite_stats_read(flags.c_str(), which, format, status));
  });
  std::string out = text.get();
  if (!HasSuffix(out, "\n")) out += '\n';
  WriteFile(options.output, out);
}

}  // namespace

void AddStats(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("stats", "Print the counters of a process that runs, or ran last");
  auto options = std::make_shared<StatsOptions>();
  command->add_option("PROCESS", options->which,
                      "Its number, or its --stats_file; without it, the newest process");
  auto* json = command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--prometheus", options->prometheus, "Print Prometheus' text format")
      ->excludes(json);
  command->add_option("-o,--output", options->output, "Write to this file");
  command->callback([options, &globals] { PrintStats(*options, globals); });
}

}  // namespace tektite::standalone
