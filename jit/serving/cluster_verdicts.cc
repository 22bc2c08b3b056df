// The results of contests about a cluster's speed, kept for later processes.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/compiler/background.h"
#include "jit/serving/cluster.h"

namespace tektite::serving {
std::optional<std::string> Cluster::VerdictKey(absl::string_view topic) {
  if (!state_->compiler().keeps_plans()) return std::nullopt;
  const std::optional<Fingerprint> source = SourceFingerprint();
  if (!source) return std::nullopt;
  return absl::StrCat("graph ", source->Hex(), "\n", topic, "\n");
}

std::optional<std::string> Cluster::Recall(absl::string_view topic) {
  const std::optional<std::string> key = VerdictKey(topic);
  return key ? state_->compiler().FindVerdict(*key) : std::nullopt;
}

void Cluster::Keep(absl::string_view topic, absl::string_view summary, std::string text) {
  std::optional<std::string> key = VerdictKey(topic);
  if (!key) return;
  std::string name = absl::StrCat(name_, ": ", summary, "; ", topic);
  compiler::Background::Get().Submit(
      [state = state_, key = *std::move(key), name = std::move(name), text = std::move(text)] {
        state->compiler().StoreVerdict(key, name, text);
      });
}

}  // namespace tektite::serving
