// The half of a cluster that makes code.
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/compiler/specialize.h"
#include "runtime_hooks/c_api/cluster.h"
#include "runtime_hooks/c_api/guard.h"

namespace tektite::c_api {
namespace {

using ir::Dim;

std::string SymbolName(int number) { return absl::StrCat("s", number); }

// The arguments with symbols for the words of the key that have one.
std::vector<ArgInfo> WithSymbols(std::vector<ArgInfo> args, absl::Span<const KeyWord> words,
                                 const CallKey& key, const std::vector<int>& symbols) {
  for (size_t i = 0; i < words.size(); ++i) {
    const KeyWord& word = words[i];
    ArgInfo& arg = args[word.argument];
    if (word.kind == KeyWord::Kind::kDimension && symbols[i] >= 0) {
      arg.shape.set_dim(word.index, Dim::Symbol(SymbolName(symbols[i])));
    } else if (word.kind == KeyWord::Kind::kElement) {
      if (!arg.elements) arg.elements.emplace();
      arg.elements->push_back(symbols[i] < 0 ? Dim(key[i]) : Dim::Symbol(SymbolName(symbols[i])));
    }
  }
  for (ArgInfo& arg : args) {
    if (!arg.elements) continue;
    bool symbolic = false;
    for (const Dim& d : *arg.elements) symbolic |= !d.is_constant();
    if (symbolic) {
      arg.value.reset();
    } else {
      arg.elements.reset();
    }
  }
  return args;
}

std::map<std::string, int64_t> Sizes(const CallKey& key, const std::vector<int>& symbols) {
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < key.size(); ++i) {
    if (symbols[i] >= 0) sizes[SymbolName(symbols[i])] = key[i];
  }
  return sizes;
}

// Whether the code would serve the call that it is made for.
absl::Status CheckGuardsFor(const ir::Graph& graph, const std::map<std::string, int64_t>& sizes) {
  ir::SymbolMap values;
  for (const auto& [symbol, size] : sizes) values.emplace(symbol, size);
  for (const ir::Guard& guard : graph.guards()) {
    if (guard.lhs.Substitute(values) != guard.rhs.Substitute(values)) {
      return Unimplemented("code for all sizes would need ", guard.lhs.ToString(),
                           " == ", guard.rhs.ToString());
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<ArgInfo> Cluster::Describe(const tektite_call& call) const {
  std::vector<ArgInfo> args(call.num_args);
  for (int i = 0; i < call.num_args; ++i) {
    const tektite_tensor& tensor = call.args[i];
    args[i].shape = ir::Shape(*ir::DTypeFromTensorFlow(tensor.dtype), DimsOf(tensor));
    args[i].versioned = tensor.version != 0;
  }
  for (int i : source_->compile_time_args()) {
    const ir::Shape& shape = args[i].shape;
    args[i].value = ir::Literal::CopyOf(shape.dtype(), shape.sizes(), call.args[i].data);
  }
  return args;
}

void Cluster::Compile(Code& code, const CallKey& key, const std::vector<ArgInfo>& args) {
  absl::StatusOr<ExecutablePtr> executable = absl::InternalError("not compiled");
  ShapeRules rules;
  const absl::Status status = CatchAll([&]() -> absl::Status {
    executable =
        code.generic ? MakeGeneric(code.number, key, args, &rules) : MakeOwn(code.number, args);
    return executable.status();
  });
  if (!status.ok()) executable = status;
  state_->CountCompiled(name_, code.generic, status);
  std::lock_guard<std::mutex> cluster_lock(mutex_);
  std::lock_guard<std::mutex> lock(code.mutex);
  code.rules = std::move(rules);
  code.executable = std::move(executable);
  code.settled = true;
  generation_.fetch_add(1, std::memory_order_relaxed);
  if (code.generic && generic_at_work_.get() == &code) {
    if (status.ok()) {
      generic_.push_back(generic_at_work_);
    } else {
      ++generic_failures_;
    }
    generic_at_work_ = nullptr;
  }
  code.changed.notify_all();
}

absl::StatusOr<Cluster::ExecutablePtr> Cluster::MakeOwn(int number,
                                                        const std::vector<ArgInfo>& args) {
  TEKTITE_ASSIGN_OR_RETURN(SourceGraph source, source_->Specialize(args));
  return MakeFrom(std::move(source), absl::StrCat("shape", number), {});
}

absl::StatusOr<Cluster::ExecutablePtr> Cluster::MakeGeneric(int number, const CallKey& key,
                                                            const std::vector<ArgInfo>& args,
                                                            ShapeRules* rules) {
  std::vector<KeyWord> words;
  std::vector<std::vector<int>> tries;  // the most general first
  {
    std::lock_guard<std::mutex> lock(mutex_);
    words = history_->words();
    ShapeHistory::Choice choice;
    choice.everything = state_->flags().tier == "generic";
    auto add = [&](bool elements, bool ones, bool leading) {
      choice.elements = elements;
      choice.ones = ones;
      choice.leading = leading;
      std::vector<int> symbols = history_->ChooseSymbols(key, choice);
      if (tries.empty() || tries.back() != symbols) tries.push_back(std::move(symbols));
    };
    add(true, true, false);
    add(true, false, false);
    add(false, true, false);
    add(false, false, false);
    add(false, false, true);  // a batch: images keep their height and width
  }
  absl::Status refused = Unimplemented("no size is known to vary");
  for (const std::vector<int>& symbols : tries) {
    std::map<std::string, int64_t> sizes = Sizes(key, symbols);
    if (sizes.empty()) continue;
    auto source = source_->Specialize(WithSymbols(args, words, key, symbols));
    if (!source.ok()) {
      refused = source.status();
      continue;
    }
    compiler::UnifySymbols(*source->graph, &sizes);
    absl::Status status = CheckGuardsFor(*source->graph, sizes);
    if (status.ok()) {
      auto found = ShapeRules::Of(*source->graph, words, key);
      status = found.status();
      if (found.ok()) *rules = *std::move(found);
    }
    // Everything was constant in the end: no code for many shapes.
    if (status.ok() && rules->num_symbols() == 0) status = refused;
    if (status.ok()) {
      return MakeFrom(*std::move(source), absl::StrCat("generic", number), std::move(sizes));
    }
    refused = status;
  }
  return refused;
}

absl::StatusOr<Cluster::ExecutablePtr> Cluster::MakeFrom(SourceGraph source, std::string variant,
                                                         std::map<std::string, int64_t> sizes) {
  compiler::CompileJob job;
  job.cluster = name_;
  job.variant = std::move(variant);
  job.typical_sizes = std::move(sizes);
  job.num_checks = source.num_checks;
  job.weights = weights_;
  job.budget = &budget_;
  return state_->compiler().Compile(std::move(source.graph), job);
}

}  // namespace tektite::c_api
