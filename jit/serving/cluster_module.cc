// The part of a cluster that finds code which an earlier process left on disk.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/catch_all.h"
#include "jit/base/status.h"
#include "jit/cache/key.h"
#include "jit/compiler/background.h"
#include "jit/serving/cluster.h"
#include "jit/serving/cluster_symbols.h"

namespace tektite::serving {
namespace {

// A line an argument: its type, sizes that vary by their symbols.
std::string TypesText(const std::vector<ArgInfo>& args) {
  std::string text;
  constexpr size_t kUsualLine = 32;
  text.reserve(kUsualLine * args.size());
  for (const ArgInfo& arg : args) {
    absl::StrAppend(&text, arg.shape.ToString(), arg.versioned ? " weight" : "");
    if (arg.elements) {
      absl::StrAppend(&text, " of");
      for (const ir::Dim& element : *arg.elements) absl::StrAppend(&text, " ", element.ToString());
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string ValuesText(const std::vector<ArgInfo>& args) {
  std::string text;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].value)
      absl::StrAppend(&text, "argument ", i, " = ", args[i].value->ToShortString(), "\n");
  }
  return text;
}

// A line for each choice of symbols: "0.1:s0" is dimension 1 of argument 0, "2[0]:s1" an element.
std::string FactsText(const std::vector<KeyWord>& words,
                      const std::vector<std::vector<int>>& tries) {
  std::string text;
  for (const std::vector<int>& symbols : tries) {
    absl::StrAppend(&text, "varies");
    for (size_t i = 0; i < words.size(); ++i) {
      if (symbols[i] < 0) continue;
      const bool dimension = words[i].kind == KeyWord::Kind::kDimension;
      absl::StrAppend(&text, " ", words[i].argument, dimension ? "." : "[", words[i].index,
                      dimension ? ":" : "]:", SizeSymbol(symbols[i]));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace

std::optional<Fingerprint> Cluster::SourceFingerprint() {
  std::call_once(fingerprinted_, [this] {
    const auto text = source_->CanonicalText();
    if (text.ok()) fingerprint_ = FingerprintOf(text->whole);
  });
  return fingerprint_;
}

std::optional<compiler::ModuleKey> Cluster::KeyOf(const Recipe& recipe) {
  if (!state_->compiler().keeps_modules() || !SourceFingerprint()) return std::nullopt;
  // Generic code is one program for all calls that look alike, whatever they were made for.
  const bool generic = !recipe.tries.empty();
  std::vector<ArgInfo> with_symbols;
  if (generic) {
    with_symbols = WithSymbols(recipe.args, recipe.words, recipe.key, recipe.tries.front());
  }
  const std::vector<ArgInfo>& args = generic ? with_symbols : recipe.args;
  cache::ModuleText text;
  text.types = TypesText(args);
  text.facts = FactsText(recipe.words, recipe.tries);
  // Other programs may have been made from the measurements.
  if (recipe.reproducible) absl::StrAppend(&text.facts, "reproducible\n");
  if (!MayCheck(recipe.reproducible)) absl::StrAppend(&text.facts, "no added checks\n");
  const std::string values = ValuesText(args);
  const Fingerprint graph = FingerprintOf(absl::StrCat(SourceFingerprint()->Hex(), values));
  const cache::KeyEnvironment& environment = state_->compiler().module_environment();
  compiler::ModuleKey key;
  key.fingerprint = cache::ModuleFingerprint(graph, text.types, text.facts, environment);
  key.describe = [this, graph, values, text = std::move(text), &environment] {
    cache::ModuleText whole = text;
    auto source = source_->CanonicalText();
    if (source.ok()) {
      whole.graph = absl::StrCat(values, source->whole);
      whole.ops = std::move(source->ops);
    }
    return cache::DescribeModule(name_, graph, std::move(whole), environment);
  };
  return key;
}

bool Cluster::LoadAtOnce(Code& code, const CallKey& key, const std::vector<ArgInfo>& args) {
  const double most = static_cast<double>(state_->flags().load_ms) * 1e3;
  if (most <= 0 || !state_->compiler().keeps_modules()) return false;
  bool loaded = false;
  const Stopwatch began;
  const absl::Status status = CatchAll([&]() -> absl::Status {
    const Recipe recipe = Prepare(code, key, args);
    const std::optional<compiler::ModuleKey> module_key = KeyOf(recipe);
    loaded = module_key && LoadStored(code, recipe, *module_key, most, began);
    return absl::OkStatus();
  });
  // A background thread writes the log, so that no call waits for it.
  if (loaded) {
    compiler::Background::Get().Submit([state = state_] { state->compiler().FlushDisk(); });
  }
  return status.ok() && loaded;
}

bool Cluster::LoadStored(Code& code, const Recipe& recipe, const compiler::ModuleKey& key,
                         double most_microseconds, const Stopwatch& began) {
  compiler::Compiler& compiler = state_->compiler();
  std::optional<compiler::Module> module = compiler.FindModule(key);
  if (!module || compiler.LoadMicroseconds(*module) > most_microseconds) return false;
  ShapeRules rules;
  std::map<std::string, int64_t> sizes;
  if (code.generic) {
    size_t choice = 0;
    if (!ReadGenericNote(module->note, &choice, &rules) || choice >= recipe.tries.size() ||
        !rules.Match(recipe.key)) {
      return false;
    }
    sizes = SymbolSizes(recipe.key, recipe.tries[choice]);
  }
  if (!module->refusal.empty()) {
    Settle(code, Unimplemented(module->refusal), {});
    return true;
  }
  const std::string variant = absl::StrCat(code.generic ? "generic" : "shape", code.number);
  absl::StatusOr<ExecutablePtr> executable =
      compiler.Load(*std::move(module), JobFor(variant, std::move(sizes), recipe.reproducible));
  if (!executable.ok()) return false;
  compiler.CountLoad(began.Seconds());
  Settle(code, std::move(executable), std::move(rules));
  return true;
}

}  // namespace tektite::serving
