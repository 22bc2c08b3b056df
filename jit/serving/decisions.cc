#include "jit/serving/decisions.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace tektite::serving {
namespace {

constexpr char kCompiled[] = "compiled", kHost[] = "host";

bool ReadDecision(const std::string& line, Decision* decision) {
  char winner[16];
  int end = 0;
  const int read =
      std::sscanf(line.c_str(), "%" SCNx64 " %15s %lf %" SCNd64 "%n", &decision->shape_class,
                  winner, &decision->ratio, &decision->decided_s, &end);
  if (read != 4 || static_cast<size_t>(end) != line.size()) return false;
  decision->compiled_won = std::string(winner) == kCompiled;
  return (decision->compiled_won || std::string(winner) == kHost) &&
         std::isfinite(decision->ratio) && decision->ratio > 0;
}

bool Counts(const Decision& decision, int64_t now_s) {
  const int64_t age = now_s - decision.decided_s;
  return age >= 0 && age <= (decision.compiled_won ? kWinCountsSeconds : kLossCountsSeconds);
}

}  // namespace

std::string WriteDecisions(const std::vector<Decision>& decisions) {
  std::string text;
  for (const Decision& decision : decisions) {
    char line[96];
    std::snprintf(line, sizeof(line), "%016" PRIx64 " %s %.3g %" PRId64 "\n", decision.shape_class,
                  decision.compiled_won ? kCompiled : kHost, decision.ratio, decision.decided_s);
    text += line;
  }
  return text;
}

std::vector<Decision> ReadDecisions(const std::string& text, int64_t now_s) {
  std::vector<Decision> decisions;
  std::istringstream lines(text);
  std::string line;
  while (decisions.size() < kMostDecisions && std::getline(lines, line)) {
    Decision decision;
    if (ReadDecision(line, &decision) && Counts(decision, now_s)) decisions.push_back(decision);
  }
  return decisions;
}

std::string SummaryOf(const std::vector<Decision>& decisions) {
  const auto won = std::count_if(decisions.begin(), decisions.end(),
                                 [](const Decision& decision) { return decision.compiled_won; });
  return "code won " + std::to_string(won) + " of " + std::to_string(decisions.size()) +
         (decisions.size() == 1 ? " class of shapes" : " classes of shapes");
}

}  // namespace tektite::serving
