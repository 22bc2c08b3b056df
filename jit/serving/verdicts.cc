#include "jit/serving/verdicts.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace tektite::serving {
namespace {

constexpr char kCompiled[] = "compiled", kHost[] = "host";

bool ReadVerdict(const std::string& line, Verdict* verdict) {
  char winner[16];
  int end = 0;
  const int read =
      std::sscanf(line.c_str(), "%" SCNx64 " %15s %lf %" SCNd64 "%n", &verdict->shape_class, winner,
                  &verdict->ratio, &verdict->decided_s, &end);
  if (read != 4 || static_cast<size_t>(end) != line.size()) return false;
  verdict->compiled_won = std::string(winner) == kCompiled;
  return (verdict->compiled_won || std::string(winner) == kHost) && std::isfinite(verdict->ratio) &&
         verdict->ratio > 0;
}

bool Counts(const Verdict& verdict, int64_t now_s) {
  const int64_t age = now_s - verdict.decided_s;
  return age >= 0 && age <= (verdict.compiled_won ? kWinCountsSeconds : kLossCountsSeconds);
}

}  // namespace

std::string WriteVerdicts(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    char line[96];
    std::snprintf(line, sizeof(line), "%016" PRIx64 " %s %.3g %" PRId64 "\n", verdict.shape_class,
                  verdict.compiled_won ? kCompiled : kHost, verdict.ratio, verdict.decided_s);
    text += line;
  }
  return text;
}

std::vector<Verdict> ReadVerdicts(const std::string& text, int64_t now_s) {
  std::vector<Verdict> verdicts;
  std::istringstream lines(text);
  std::string line;
  while (verdicts.size() < kMostVerdicts && std::getline(lines, line)) {
    Verdict verdict;
    if (ReadVerdict(line, &verdict) && Counts(verdict, now_s)) verdicts.push_back(verdict);
  }
  return verdicts;
}

std::string SummaryOf(const std::vector<Verdict>& verdicts) {
  const auto won = std::count_if(verdicts.begin(), verdicts.end(),
                                 [](const Verdict& verdict) { return verdict.compiled_won; });
  return "code won " + std::to_string(won) + " of " + std::to_string(verdicts.size()) +
         (verdicts.size() == 1 ? " class of shapes" : " classes of shapes");
}

}  // namespace tektite::serving
