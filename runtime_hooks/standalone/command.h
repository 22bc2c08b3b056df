// A sub-command of `tektite`: its options and its action.
//
//   void AddVersion(CLI::App& app, Outcome& outcome) {
//     CLI::App* command = app.add_subcommand("version", "Print the version");
//     command->callback([&outcome] { outcome = PrintVersion(); });
//   }
//
// A new sub-command is a file with an Add function and a row in command_list.inc.
// Exit codes: 0 done, 1 failed (one line on stderr says why), 2 wrong usage, 3 done, and the answer
// is no (`cache verify` found a damaged entry, `cache diff` a difference), 4 failed for want of a
// card or of a driver for it.
#ifndef TEKTITE_RUNTIME_HOOKS_STANDALONE_COMMAND_H_
#define TEKTITE_RUNTIME_HOOKS_STANDALONE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

namespace tektite::standalone {

// The exception of a sub-command that cannot do its work; main prints it and exits with 1.  For
// arguments that make no sense whatever the files hold, a CLI::ParseError, and main exits with 2.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A Failure where there is no card; exit code 4.
class NoCard : public Failure {
 public:
  using Failure::Failure;
};

// What a sub-command throws after it has printed that something is not as it should be; exit
// code 3.
class AnswerIsNo {};

// Options before the sub-command.
struct Globals {
  std::string flags;  // "--name=value ...", beside TEKTITE_FLAGS
};

#define TEKTITE_COMMAND(function) void function(CLI::App& app, const Globals& globals);
#include "runtime_hooks/standalone/command_list.inc"
#undef TEKTITE_COMMAND

}  // namespace tektite::standalone

#endif  // TEKTITE_RUNTIME_HOOKS_STANDALONE_COMMAND_H_
