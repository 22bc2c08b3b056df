// tektite: explains models, runs passes, executes graphs; everything through runtime_hooks/c_api.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/standalone/command.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kAnswerIsNo = 3;
constexpr int kNoCard = 4;

int Run(int argc, char** argv) {
  if (tektite_abi_version() != TEKTITE_ABI_VERSION) {
    std::fprintf(stderr, "tektite: libtektite.so speaks ABI %d, this command speaks %d\n",
                 tektite_abi_version(), TEKTITE_ABI_VERSION);
    return kFailed;
  }
  CLI::App app("Compiles TensorFlow graphs: explain a model, run a graph, run passes over IR text.",
               "tektite");
  app.require_subcommand(1);
  app.set_version_flag("--version", tektite_version());
  tektite::standalone::Globals globals;
  app.add_option("--flags", globals.flags,
                 "Flags of the compiler, \"--name=value ...\" (see tektite flags), applied after "
                 "TEKTITE_FLAGS");
#define TEKTITE_COMMAND(function) tektite::standalone::function(app, globals);
#include "runtime_hooks/standalone/command_list.inc"
#undef TEKTITE_COMMAND
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    // A word that is no command is what to name, and not the command that is then missing.
    const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !unknown.empty()) {
      std::fprintf(stderr, "tektite: there is no '%s' (see --help)\n", unknown.front().c_str());
      return kWrongUsage;
    }
    std::fprintf(stderr, "tektite: %s (see --help)\n", error.what());
    return kWrongUsage;
  }
  return 0;
}

}  // namespace

// A wheel holds the command as a library, whose only name is this (packaging/link_portable.py).
extern "C" __attribute__((visibility("default"))) int tektite_command(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const tektite::standalone::AnswerIsNo&) {
    return kAnswerIsNo;
  } catch (const tektite::standalone::NoCard& error) {
    std::fprintf(stderr, "tektite: %s\n", error.what());
    return kNoCard;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tektite: %s\n", error.what());
    return kFailed;
  }
}

int main(int argc, char** argv) { return tektite_command(argc, argv); }
