// tektite passes, flags, reasons, version: what this build has.
#include <string>

#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"

namespace tektite::standalone {
namespace {

// "name<tab>sentence" lines in two columns.
std::string InColumns(const std::string& table) {
  size_t widest = 0;
  auto each_line = [&](auto&& visit) {
    for (size_t begin = 0, end; (end = table.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const std::string line = table.substr(begin, end - begin);
      const size_t tab = line.find('\t');
      visit(line.substr(0, tab), tab == std::string::npos ? "" : line.substr(tab + 1));
    }
  };
  each_line(
      [&](const std::string& name, const std::string&) { widest = std::max(widest, name.size()); });
  std::string out;
  each_line([&](std::string name, const std::string& sentence) {
    name.resize(widest + 2, ' ');
    out += name + sentence + "\n";
  });
  return out;
}

// `more`: lines of the same form.
void Print(const char* what, const char* more = "") {
  const Text text(tektite_list(what));
  if (text == nullptr) throw Failure("out of memory");
  WriteFile("-", InColumns(std::string(text.get()) + more));
}

constexpr char kHostReasons[] =
#define TEKTITE_HOST_REASON(code, sentence) #code "\t" sentence "\n"
#include "runtime_hooks/tensorflow/reasons/host_reason_list.inc"
#undef TEKTITE_HOST_REASON
    ;

}  // namespace

void AddPasses(CLI::App& app, const Globals&) {
  app.add_subcommand("passes", "List the passes in pipeline order")->callback([] {
    Print("passes");
  });
}

void AddFlags(CLI::App& app, const Globals&) {
  app.add_subcommand("flags", "List the compiler's flags (TEKTITE_FLAGS, --flags)")->callback([] {
    Print("flags");
  });
}

void AddReasons(CLI::App& app, const Globals&) {
  app.add_subcommand("reasons", "List the reasons why ops, calls and clusters are left to the host")
      ->callback([] { Print("reasons", kHostReasons); });
}

void AddVersion(CLI::App& app, const Globals&) {
  app.add_subcommand("version", "Print the version")->callback([] {
    WriteFile("-", std::string(tektite_version()) + "\n");
  });
}

}  // namespace tektite::standalone
