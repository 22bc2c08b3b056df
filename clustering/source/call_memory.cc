#include "clustering/source/call_memory.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "clustering/import_cluster.h"
#include "jit/base/status.h"
#include "jit/compiler/specialize.h"

namespace tektite::clustering {
namespace {

using Sizes = std::map<std::string, int64_t>;

absl::Status Measure(compiler::Compiler& compiler, const std::string& name,
                     ImportedCluster imported, const Sizes& given, bool kernels,
                     CallMemory* memory) {
  if (imported.code.graph == nullptr) return Unimplemented(imported.refused);
  memory->sizes = compiler::TypicalSizes(*imported.code.graph, given);
  compiler::CompileJob job;
  job.cluster = name;
  job.variant = "explained";
  job.roles = {std::move(imported.code.counted), imported.code.num_checks,
               std::move(imported.code.updated)};
  job.typical_sizes = memory->sizes;
  if (kernels) job.schedules = &memory->kernels;
  compiler::UnifySymbols(*imported.code.graph, &job.typical_sizes);
  TEKTITE_ASSIGN_OR_RETURN(const auto code, compiler.Compile(std::move(imported.code.graph), job));
  memory->arena_bytes = code->arena_bytes();
  memory->max_live_bytes = code->max_live_bytes();
  return absl::OkStatus();
}

}  // namespace

absl::Status AddCallMemory(compiler::Compiler& compiler, absl::string_view sizes, bool kernels,
                           Explanation* explanation) {
  TEKTITE_ASSIGN_OR_RETURN(Sizes given, compiler::ParseSizes(sizes));
  TEKTITE_ASSIGN_OR_RETURN(const graph_def::GraphIndex index,
                           graph_def::GraphIndex::Create(explanation->graph));
  const CostModel cost(index);
  std::set<std::string> names;
  for (const MarkedCluster& cluster : explanation->marking.clusters) {
    CallMemory memory;
    const absl::Status status = Measure(compiler, cluster.name, ImportCluster(index, cost, cluster),
                                        given, kernels, &memory);
    memory.refused = std::string(status.message());
    for (const auto& [name, size] : memory.sizes) names.insert(name);
    explanation->memory.push_back(std::move(memory));
  }
  for (const auto& [name, size] : given) {
    if (names.count(name) > 0) continue;
    return InvalidArgument("no size is called '", name, "'",
                           names.empty() ? "; the graph leaves none open"
                                         : "; there are: " + absl::StrJoin(names, ", "));
  }
  return absl::OkStatus();
}

}  // namespace tektite::clustering
