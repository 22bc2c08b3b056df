// The pages of docs/ir: every op has a place there, and every example computes what the page says.
//
//   add(f32[1]{1}, f32[1]{2}) = f32[1]{3}              in a block of ir, or in a table's cell
//   add(f32[1]{1}, f32[2]{1, 2}) fails: ...
//   a graph, literals for its parameters, "= " results  in a block of graph
//
// TEKTITE_UPDATE_PAGES=1 writes the results into the pages.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "jit/ir/op.h"
#include "jit/reference/interpreter.h"
#include "tests/ops/run_op.h"

namespace tektite::testing {
namespace {

std::vector<std::filesystem::path> Pages() {
  std::vector<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator(TEKTITE_SOURCE_DIR "/docs/ir")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

std::string ReadAll(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// "f32[2]{1, 2}, s32[]{3}": at commas outside of brackets.
std::vector<std::string> SplitLiterals(absl::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (parts.empty() && c != ' ') parts.emplace_back();
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else if (!parts.empty() && (c != ' ' || !parts.back().empty())) {
      parts.back() += c;
    }
  }
  return parts;
}

// What follows "= " or "fails: " of an example; null: it is none.
bool RunExample(const std::string& text, std::string* said, std::string* found) {
  static const std::regex example(R"(^([a-z0-9_]+)\((.*?)\)(?: \{(.*)\})? (?:=|fails:) (.*)$)");
  std::smatch match;
  if (!std::regex_match(text, match, example) || !ir::OpFromName(match[1].str())) return false;
  *said = match[4];
  *found = RunOp(match[1].str(), SplitLiterals(match[2].str()), match[3].str());
  return true;
}

// A graph's text with literals for its parameters, a line each.
std::string RunGraph(const std::string& text) {
  const size_t end = text.rfind("\n}") + 2;
  const auto graph = ParseOrDie(text.substr(0, end));
  std::vector<ir::Literal> arguments;
  for (absl::string_view line : absl::StrSplit(text.substr(end), '\n', absl::SkipEmpty())) {
    const auto literal =
        ParseOrDie(absl::StrCat("graph @l() -> () {\n  %0: ", line.substr(0, line.find('{')),
                                " = constant() {value = ", line, "}\n  return\n}"));
    if (literal->nodes().empty()) return "no literal";
    arguments.push_back(literal->nodes().front()->attrs().GetLiteral(ir::Attr::value));
  }
  const auto results = reference::Evaluate(*graph, arguments);
  return results.ok() ? ToText(*results) : std::string(results.status().message());
}

class Page {
 public:
  explicit Page(const std::filesystem::path& path)
      : path_(path), lines_(absl::StrSplit(ReadAll(path), '\n')) {}

  void Run() {
    std::string block, graph;
    for (std::string& line : lines_) {
      if (absl::StartsWith(line, "```")) {
        block = block.empty() ? line.substr(3) : "";
        graph.clear();
      } else if (block == "ir") {
        Check(line, &line);
      } else if (block == "graph" && absl::StartsWith(line, "= ")) {
        Compare(line.substr(2), RunGraph(graph), &line);
      } else if (block == "graph") {
        absl::StrAppend(&graph, line, "\n");
      } else if (absl::StartsWith(line, "| ")) {
        std::vector<std::string> parts = absl::StrSplit(line, '`');
        for (size_t i = 1; i < parts.size(); i += 2) Check(parts[i], &parts[i]);
        line = absl::StrJoin(parts, "`");
      }
    }
    if (std::getenv("TEKTITE_UPDATE_PAGES") != nullptr) {
      std::ofstream(path_) << absl::StrJoin(lines_, "\n");
    }
  }
  int examples() const { return examples_; }

 private:
  void Check(const std::string& text, std::string* place) {
    std::string said, found;
    if (RunExample(text, &said, &found)) {
      Compare(said, found, place);
    } else {
      EXPECT_FALSE(absl::StrContains(text, ") = ") || absl::StrContains(text, " fails: "))
          << path_ << ": no example: " << text;
    }
  }
  void Compare(const std::string& said, const std::string& found, std::string* place) {
    ++examples_;
    if (std::getenv("TEKTITE_UPDATE_PAGES") != nullptr) {
      place->replace(place->size() - said.size(), said.size(), found);
    } else {
      EXPECT_EQ(said, found) << path_ << ": " << *place;
    }
  }

  const std::filesystem::path path_;
  std::vector<std::string> lines_;
  int examples_ = 0;
};

TEST(ReferencePages, ExamplesComputeWhatIsWritten) {
  int examples = 0;
  for (const auto& path : Pages()) {
    Page page(path);
    page.Run();
    examples += page.examples();
  }
  EXPECT_GT(examples, ir::kNumOps);
}

// An op without a place in the pages was the rule: the comments of op_list.inc were all there was.
TEST(ReferencePages, EveryOpHasAnExample) {
  std::set<std::string> named;
  static const std::regex op(R"(([a-z0-9_]+)\()");
  for (const auto& path : Pages()) {
    const std::string text = ReadAll(path);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), op); it != std::sregex_iterator();
         ++it) {
      named.insert((*it)[1]);
    }
  }
  named.insert("parameter");  // stands in a graph's head
  for (int i = 0; i < ir::kNumOps; ++i) {
    const std::string name(ir::OpName(static_cast<ir::Op>(i)));
    EXPECT_TRUE(named.count(name) > 0) << name << " has no example in docs/ir";
  }
}

}  // namespace
}  // namespace tektite::testing
