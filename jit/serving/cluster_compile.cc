// The half of a cluster that makes code.
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/catch_all.h"
#include "jit/base/status.h"
#include "jit/compiler/specialize.h"
#include "jit/serving/cluster.h"
#include "jit/serving/cluster_symbols.h"

namespace tektite::serving {
namespace {

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

std::vector<ArgInfo> Cluster::Describe(const Call& call) const {
  std::vector<ArgInfo> args(call.args.size());
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Tensor& tensor = call.args[i];
    args[i].shape = ir::Shape(tensor.dtype, tensor.dims);
    args[i].versioned = tensor.version != 0;
  }
  for (int i : source_->compile_time_args()) {
    const ir::Shape& shape = args[i].shape;
    args[i].value = ir::Literal::CopyOf(shape.dtype(), shape.sizes(), call.args[i].data);
  }
  return args;
}

Cluster::Recipe Cluster::Prepare(const Code& code, const CallKey& key,
                                 const std::vector<ArgInfo>& args) {
  Recipe recipe{key, args, code.reproducible, {}, {}};
  if (!code.generic) return recipe;
  std::lock_guard<std::mutex> lock(mutex_);
  recipe.words = history_->words();
  ShapeHistory::Choice choice;
  choice.everything = state_->flags().tier == "generic";
  auto add = [&](bool elements, bool ones, bool leading) {
    choice.elements = elements;
    choice.ones = ones;
    choice.leading = leading;
    std::vector<int> symbols = history_->ChooseSymbols(key, choice);
    if (recipe.tries.empty() || recipe.tries.back() != symbols) {
      recipe.tries.push_back(std::move(symbols));
    }
  };
  add(true, true, false);
  add(true, false, false);
  add(false, true, false);
  add(false, false, false);
  add(false, false, true);  // a batch: images keep their height and width
  return recipe;
}

void Cluster::Compile(Code& code, const CallKey& key, const std::vector<ArgInfo>& args) {
  absl::StatusOr<ExecutablePtr> executable = absl::InternalError("not compiled");
  ShapeRules rules;
  bool loaded = false;
  const Stopwatch began;
  const absl::Status status = CatchAll([&]() -> absl::Status {
    const Recipe recipe = Prepare(code, key, args);
    const std::optional<compiler::ModuleKey> module_key = KeyOf(recipe);
    const compiler::ModuleKey* const kept = module_key ? &*module_key : nullptr;
    loaded = module_key &&
             LoadStored(code, recipe, *module_key, std::numeric_limits<double>::infinity(), began);
    if (loaded) {
      state_->compiler().FlushDisk();
      return absl::OkStatus();
    }
    executable = code.generic ? MakeGeneric(code.number, recipe, kept, &rules)
                              : MakeOwn(code.number, recipe, kept);
    // A budget that is used up or a process that ends says nothing about the next process.
    if (module_key && absl::IsUnimplemented(executable.status())) {
      state_->compiler().StoreRefusal(*module_key, code.generic ? GenericNote(0, rules) : "",
                                      executable.status().message());
    }
    return executable.status();
  });
  if (loaded) return;
  if (!status.ok()) executable = status;
  Settle(code, std::move(executable), std::move(rules));
}

void Cluster::Settle(Code& code, absl::StatusOr<ExecutablePtr> executable, ShapeRules rules) {
  const absl::Status status = executable.status();
  state_->CountCompiled(name_, code.generic, status);
  std::lock_guard<std::mutex> cluster_lock(mutex_);
  std::lock_guard<std::mutex> lock(code.mutex);
  code.rules = std::move(rules);
  code.executable = std::move(executable);
  code.progress.Take(status.ok() ? CallEvent::kMade : CallEvent::kRefused);
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

absl::StatusOr<Cluster::ExecutablePtr> Cluster::MakeOwn(int number, const Recipe& recipe,
                                                        const compiler::ModuleKey* key) {
  TEKTITE_ASSIGN_OR_RETURN(SourceGraph source, source_->Specialize(recipe.args));
  compiler::CompileJob job = JobFor(absl::StrCat("shape", number), {}, recipe.reproducible);
  job.roles = std::move(source.roles);
  job.module_key = key;
  return state_->compiler().Compile(std::move(source.graph), job);
}

absl::StatusOr<Cluster::ExecutablePtr> Cluster::MakeGeneric(int number, const Recipe& recipe,
                                                            const compiler::ModuleKey* key,
                                                            ShapeRules* rules) {
  absl::Status refused = Unimplemented("no size is known to vary");
  for (size_t t = 0; t < recipe.tries.size(); ++t) {
    const std::vector<int>& symbols = recipe.tries[t];
    std::map<std::string, int64_t> sizes = SymbolSizes(recipe.key, symbols);
    if (sizes.empty()) continue;
    auto source = source_->Specialize(WithSymbols(recipe.args, recipe.words, recipe.key, symbols));
    if (!source.ok()) {
      refused = source.status();
      continue;
    }
    compiler::UnifySymbols(*source->graph, &sizes);
    absl::Status status = CheckGuardsFor(*source->graph, sizes);
    if (status.ok()) {
      auto found = ShapeRules::Of(*source->graph, recipe.words, recipe.key);
      status = found.status();
      if (found.ok()) *rules = *std::move(found);
    }
    // Everything was constant in the end: no code for many shapes.
    if (status.ok() && rules->num_symbols() == 0) status = refused;
    if (status.ok()) {
      compiler::CompileJob job =
          JobFor(absl::StrCat("generic", number), std::move(sizes), recipe.reproducible);
      job.roles = std::move(source->roles);
      job.module_key = key;
      job.module_note = GenericNote(t, *rules);
      auto executable = state_->compiler().Compile(std::move(source->graph), job);
      // That the earlier choices were refused may be because of the sizes at hand.
      if (!executable.ok() && t > 0) *rules = ShapeRules::Exactly(recipe.key);
      return executable;
    }
    refused = status;
  }
  *rules = ShapeRules::Exactly(recipe.key);
  return refused;
}

compiler::CompileJob Cluster::JobFor(std::string variant, std::map<std::string, int64_t> sizes,
                                     bool reproducible) {
  compiler::CompileJob job;
  job.cluster = name_;
  job.variant = std::move(variant);
  job.typical_sizes = std::move(sizes);
  job.weights = weights_;
  job.budget = reproducible ? nullptr : &budget_;
  job.measures = !reproducible;
  job.may_check = MayCheck(reproducible);
  return job;
}

}  // namespace tektite::serving
