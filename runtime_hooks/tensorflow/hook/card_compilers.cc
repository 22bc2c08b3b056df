#include "runtime_hooks/tensorflow/hook/card_compilers.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/run/card.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {
namespace {

struct CardCompiler {
  Card card;
  tektite_compiler* compiler = nullptr;
};

struct Compilers {
  tensorflow::mutex mu;
  std::map<int, CardCompiler> by_card TF_GUARDED_BY(mu);
};

Compilers& AllCompilers() {
  static auto* const compilers = new Compilers;
  return *compilers;
}

std::string NameOf(int card) { return absl::StrCat("gpu:", card); }

tektite_compiler* Make(const CompilerLibrary& library, const Card& card) {
  const char* const flags = std::getenv("TEKTITE_FLAGS");
  const std::string all_flags =
      absl::StrCat(flags == nullptr ? "" : flags, " --device=", NameOf(card.number));
  const std::string host = CompilerLibrary::HostName();
  tektite_options options = {};
  options.struct_size = sizeof(options);
  options.flags = all_flags.c_str();
  options.host = host.c_str();
  options.host_kernels = "TensorFlow on the card";
  card.OfferMemory(&options);
  tektite_status status = {};
  tektite_compiler* const compiler = library.compiler_create(&options, &status);
  if (compiler == nullptr) {
    std::fprintf(stderr, "tektite: off on %s: %s\n", NameOf(card.number).c_str(), status.message);
  }
  return compiler;
}

}  // namespace

tektite_compiler* CompilerForCard(const CompilerLibrary& library, tensorflow::DeviceBase& device) {
  const std::optional<Card> card = Card::Of(device);
  if (!card) return nullptr;
  Compilers& compilers = AllCompilers();
  tensorflow::mutex_lock lock(compilers.mu);
  const auto [found, is_new] = compilers.by_card.try_emplace(card->number);
  CardCompiler& known = found->second;
  if (is_new) {
    known.card = *card;
    known.compiler = Make(library, known.card);
  }
  return known.compiler;
}

std::vector<std::pair<std::string, tektite_compiler*>> CardCompilers() {
  Compilers& compilers = AllCompilers();
  tensorflow::mutex_lock lock(compilers.mu);
  std::vector<std::pair<std::string, tektite_compiler*>> made;
  for (const auto& [card, known] : compilers.by_card) {
    if (known.compiler != nullptr) made.emplace_back(NameOf(card), known.compiler);
  }
  return made;
}

}  // namespace tektite::tf_hook
