// tektite completion SHELL, tektite man: what shells and readers want to know of the commands,
// written from the commands themselves.
//
//   tektite completion bash > ~/.local/share/bash-completion/completions/tektite
//   tektite man | man -l -
#include <memory>
#include <string>
#include <vector>

#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"

namespace tektite::standalone {
namespace {

std::vector<const CLI::App*> Subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option*) { return true; });
}

// The words that may follow: sub-commands, then options.
std::string Words(const CLI::App& app) {
  std::string words;
  for (const CLI::App* command : Subcommands(app)) words += command->get_name() + " ";
  for (const CLI::Option* option : OptionsOf(app)) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  return words;
}

// Calls visit("/cache/ls", app) for the program and every command below.
template <typename Visit>
void ForEach(const CLI::App& app, const std::string& path, Visit&& visit) {
  visit(path, app);
  for (const CLI::App* command : Subcommands(app)) {
    ForEach(*command, path + "/" + command->get_name(), visit);
  }
}

// `path` walks down the commands among the words before the cursor; the shell completes from the
// words that belong there, and from files.
std::string Walk(const CLI::App& app, const std::string& words, const std::string& complete) {
  std::string known, cases;
  ForEach(app, "", [&](const std::string& path, const CLI::App& command) {
    if (!path.empty()) known += (known.empty() ? "" : "|") + path;
    cases += "    '" + path + "') " + complete + "'" + Words(command) + "' ;;\n";
  });
  return "  local word place=\n  for word in " + words +
         "; do\n    case \"$place/$word\" in\n      " + known +
         ") place=\"$place/$word\" ;;\n    esac\n  done\n  case \"$place\" in\n" + cases +
         "  esac\n";
}

std::string Bash(const CLI::App& app) {
  return "_tektite() {\n  local words=\n" +
         Walk(app, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"", "words=") +
         "  COMPREPLY=($(compgen -W \"$words\" -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
         "complete -o filenames -F _tektite tektite\n";
}

std::string Zsh(const CLI::App& app) {
  return "#compdef tektite\n_tektite() {\n  local choices=\n" +
         Walk(app, "${words[2,CURRENT-1]}", "choices=") +
         "  compadd -- ${=choices}\n  _files\n}\ncompdef _tektite tektite\n";
}

std::string InFishQuotes(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("\\'") : std::string(1, c);
  return out + "'";
}

std::string Fish(const CLI::App& app) {
  std::string text;
  ForEach(app, "", [&](const std::string& path, const CLI::App& command) {
    std::string seen, below;
    for (size_t at = 0, end; at < path.size(); at = end) {
      end = std::min(path.find('/', at + 1), path.size());
      seen += "__fish_seen_subcommand_from " + path.substr(at + 1, end - at - 1) + "; and ";
    }
    for (const CLI::App* sub : Subcommands(command)) below += " " + sub->get_name();
    const std::string here =
        seen + (below.empty() ? "true" : "not __fish_seen_subcommand_from" + below);
    const std::string line = "complete -c tektite -n " + InFishQuotes(here);
    for (const CLI::App* sub : Subcommands(command)) {
      text +=
          line + " -a " + sub->get_name() + " -d " + InFishQuotes(sub->get_description()) + "\n";
    }
    for (const CLI::Option* option : OptionsOf(command)) {
      for (const std::string& name : option->get_lnames()) {
        text += line + " -l " + name + " -d " + InFishQuotes(option->get_description()) + "\n";
      }
    }
  });
  return text;
}

// Text for troff: a backslash or a leading point means something there.
std::string Troff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

std::string Man(const CLI::App& app) {
  std::string text = ".TH TEKTITE 1 \"\" \"" + std::string(tektite_version()) +
                     "\"\n.SH NAME\ntektite \\- " + Troff(app.get_description()) +
                     "\n.SH SYNOPSIS\n.B tektite\n[OPTIONS] COMMAND [OPTIONS]\n.SH COMMANDS\n";
  ForEach(app, "", [&](const std::string& path, const CLI::App& command) {
    std::string name = "tektite" + path;
    for (char& c : name) c = c == '/' ? ' ' : c;
    text += ".SS " + Troff(name) + "\n" + Troff(command.get_description()) + "\n";
    for (const CLI::Option* option : OptionsOf(command)) {
      text += ".TP\n.B " + Troff(option->get_name(false, true)) + "\n" +
              Troff(option->get_description()) + "\n";
    }
  });
  return text +
         ".SH EXIT STATUS\n0 done, 1 failed (a line on stderr says why), 2 wrong usage, 3 done, "
         "and the "
         "answer is no:\ncache verify found a damaged entry, cache diff a difference.\n"
         ".SH ENVIRONMENT\n.TP\n.B TEKTITE_FLAGS\nFlags of the compiler, as tektite flags lists "
         "them.\n"
         ".TP\n.B XDG_CACHE_HOME\nThe disk cache is tektite/ in it; without it in ~/.cache.\n"
         ".TP\n.B NO_COLOR\nNo colours on a terminal either.\n";
}

}  // namespace

void AddCompletion(CLI::App& app, const Globals&) {
  CLI::App* command =
      app.add_subcommand("completion", "Print what a shell needs to complete tektite's commands");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell] {
    WriteFile("-", *shell == "bash" ? Bash(app) : *shell == "zsh" ? Zsh(app) : Fish(app));
  });
}

void AddMan(CLI::App& app, const Globals&) {
  app.add_subcommand("man", "Print the manual page")->callback([&app] {
    WriteFile("-", Man(app));
  });
}

}  // namespace tektite::standalone
