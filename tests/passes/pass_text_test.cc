// Runs the *.test files of this folder and of those in it: passes on IR text, compared with the
// expected text.
//
//   pass_text_test tests/passes/canonicalize/reshape.test    compares; exit status 1 on a
//   difference pass_text_test --update FILES                            rewrites what is expected
//   pass_text_test --all-rules FILES                         and wants every rule applied in some
//   case
//
// A file:
//   // RUN: canonicalize, eliminate_dead      the passes, each once ("simplify": to a fixed point)
//   // case: reshape_of_reshape               a name, then the graph, a line "---", and the result
//   graph @f(%x: f32[4,5]) -> (f32[20]) {
//     ...
//   }
//   ---
//   unchanged
//
// "unchanged" means that the passes say so, too.  Every graph is verified before and after each
// pass. With two or more // cases the file's comments stay where they are under --update.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "jit/base/status.h"
#include "jit/ir/column_groups.h"
#include "jit/ops/ops.h"
#include "jit/passes/pipeline.h"
#include "jit/reference/interpreter.h"

namespace tektite {
namespace {

constexpr absl::string_view kUnchanged = "unchanged";

// The rules of canonicalize that no case has applied yet.
std::set<absl::string_view>& RulesToSee() {
  static auto& rules = *new std::set<absl::string_view>{
#define TEKTITE_RULE(function, ...) #function,
#include "jit/passes/canonicalize/rule_list.inc"
#undef TEKTITE_RULE
  };
  return rules;
}

struct Case {
  std::string name;
  std::string head;  // the lines up to the graph, comments included
  std::string input, expected;
};

struct TestFile {
  std::vector<std::string> passes;
  std::string head;  // everything before the first case
  std::vector<Case> cases;
};

absl::StatusOr<TestFile> ReadTestFile(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return InvalidArgument(path, ": cannot be read");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  TestFile file;
  bool in_input = false, in_expected = false;
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (absl::string_view line : lines) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "// RUN: ")) {
      file.passes = absl::StrSplit(rest, ", ");
    }
    rest = line;
    if (absl::ConsumePrefix(&rest, "// case: ")) {
      file.cases.push_back({std::string(rest), absl::StrCat(line, "\n"), "", ""});
      in_input = in_expected = false;
    } else if (file.cases.empty()) {
      absl::StrAppend(&file.head, line, "\n");
    } else if (line == "---") {
      in_expected = true;
    } else if (in_expected) {
      absl::StrAppend(&file.cases.back().expected, line, "\n");
    } else if (in_input || absl::StartsWith(line, "graph")) {
      in_input = true;
      absl::StrAppend(&file.cases.back().input, line, "\n");
    } else {
      absl::StrAppend(&file.cases.back().head, line, "\n");
    }
  }
  if (file.passes.empty()) return InvalidArgument(path, ": no line \"// RUN: pass, ...\"");
  return file;
}

absl::Status WriteTestFile(const TestFile& file, const std::string& path) {
  std::string text = file.head;
  for (const Case& c : file.cases) absl::StrAppend(&text, c.head, c.input, "---\n", c.expected);
  std::ofstream stream(path, std::ios::trunc);
  stream << text;
  if (!stream.flush()) return InvalidArgument(path, ": cannot be written");
  return absl::OkStatus();
}

// The text of the case's graph after its passes, or "unchanged".
absl::StatusOr<std::string> Run(const Case& c, const std::vector<std::string>& passes) {
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<ir::Graph> graph, ir::Parse(c.input));
  TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(*graph));
  const std::string before = ir::Print(*graph);
  Flags flags;
  flags.verify = true;
  flags.f32_products = "bf16_stored";
  passes::PassContext context(flags);
  context.target.multiplies_f32_faster = true;
  context.may_check = true;
  // Groups of one feature stay.
  context.target.groups.channels = 2;
  context.schedules = [](const ir::Node& fusion, const target::Facts& facts) {
    std::vector<target::Offer> offers;
    const ir::Node* const root = ops::FindContraction(fusion.region());
    if (facts.is_supposed && ir::ColumnGroupsOf(*root).count > 1) {
      offers.push_back({facts.runs < 8 ? target::kOwn : target::kStreamed, target::Schedule()});
    } else if (facts.is_supposed && root->operand_shape(0).dim(0) != ir::Dim(5)) {
      offers.push_back({target::kPairs, target::Schedule()});  // but not of five rows
    }
    if (!facts.rhs_is_weights || facts.is_supposed) return offers;
    target::Schedule schedule;
    schedule.rhs.columns = 16;
    // Products of three rows are those whose weights are packed later.
    const bool has_three_rows = fusion.shape().rank() > 0 && fusion.shape().dim(0) == ir::Dim(3);
    schedule.rhs.later = has_three_rows && facts.runs < 3;
    offers.push_back({target::kOwn, schedule});
    return offers;
  };
  context.evaluate = [](const ir::Graph& g, absl::Span<const ir::Literal> arguments) {
    return reference::Evaluate(g, arguments);
  };
  TEKTITE_RETURN_IF_ERROR(passes::RunPasses(*graph, passes, context));
  for (const auto& [rule, times] : context.rules_applied) RulesToSee().erase(rule);
  const std::string after = ir::Print(*graph);
  bool changed = false;
  for (const passes::PassContext::Timing& timing : context.timings) changed |= timing.changed;
  if (changed != (before != after)) {
    return Internal("the passes say ", changed ? "changed" : "unchanged", ", but the text is ",
                    changed ? "the same" : "not");
  }
  return changed ? after : absl::StrCat(kUnchanged, "\n");
}

// The number of failing cases.
int RunFile(const std::string& path, bool update) {
  absl::StatusOr<TestFile> file = ReadTestFile(path);
  if (!file.ok()) {
    std::printf("%s\n", std::string(file.status().message()).c_str());
    return 1;
  }
  int failed = 0;
  for (Case& c : file->cases) {
    absl::StatusOr<std::string> result = Run(c, file->passes);
    if (!result.ok()) {
      std::printf("%s: %s: %s\n", path.c_str(), c.name.c_str(), result.status().ToString().c_str());
      ++failed;
    } else if (update) {
      // A blank line between cases.
      c.expected = absl::StrCat(*result, &c == &file->cases.back() ? "" : "\n");
    } else if (absl::StripTrailingAsciiWhitespace(c.expected) !=
               absl::StripTrailingAsciiWhitespace(*result)) {
      std::printf("%s: %s: expected\n%sbut got\n%s", path.c_str(), c.name.c_str(),
                  c.expected.c_str(), result->c_str());
      ++failed;
    }
  }
  if (update) {
    absl::Status written = WriteTestFile(*file, path);
    if (!written.ok()) std::printf("%s\n", written.ToString().c_str());
    failed += written.ok() ? 0 : 1;
  }
  std::printf("%s: %zu cases, %d failed\n", path.c_str(), file->cases.size(), failed);
  return failed;
}

}  // namespace
}  // namespace tektite

int main(int argc, char** argv) {
  bool update = false, all_rules = false;
  int failed = 0, files = 0;
  for (int i = 1; i < argc; ++i) {
    if (absl::string_view(argv[i]) == "--update") {
      update = true;
    } else if (absl::string_view(argv[i]) == "--all-rules") {
      all_rules = true;
    } else {
      failed += tektite::RunFile(argv[i], update);
      ++files;
    }
  }
  for (absl::string_view rule : tektite::RulesToSee()) {
    if (!all_rules) break;
    std::printf("rule %s: no case applies it\n", std::string(rule).c_str());
    ++failed;
  }
  if (files == 0) std::printf("usage: pass_text_test [--update | --all-rules] FILE.test...\n");
  return failed > 0 || files == 0 ? 1 : 0;
}
