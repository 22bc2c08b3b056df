#include "clustering/importer/contents/contents.h"

#include <list>

#include "absl/container/flat_hash_map.h"
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

using Folder = absl::Status (*)(NodeImport& op);

const absl::flat_hash_map<absl::string_view, Folder>& Folders() {
  static const auto& folders = *new absl::flat_hash_map<absl::string_view, Folder>({
#define TEKTITE_CONTENTS(op, function) {#op, function},
#include "clustering/importer/contents/contents_list.inc"
#undef TEKTITE_CONTENTS
  });
  return folders;
}

// The same shape with as many elements as are known.
bool IsSound(const TensorInfo& folded, const TensorInfo& inferred) {
  if (folded.shape != inferred.shape || inferred.rows || !folded.contents) return false;
  const size_t count = folded.contents->size();
  return folded.shape.is_static() && count <= static_cast<size_t>(kMaxContents) &&
         folded.shape.num_elements() == static_cast<int64_t>(count);
}

}  // namespace

absl::Status CheckFolded(const NodeImport& op) {
  FuncBuilder builder;  // for shapes alone: it goes when this is done
  std::vector<Value> checks;
  std::vector<absl::Status> doubts;
  const Scope scope{builder, checks, doubts, op.scope().functions};
  std::list<TensorInfo> inputs;
  std::vector<TensorInfo*> pointers;
  for (int i = 0; i < op.num_inputs(); ++i) {
    inputs.push_back(op.InputInfo(i));
    inputs.back().value = builder.Parameter(op.InputShape(i));
    pointers.push_back(&inputs.back());
  }
  NodeImport ordinary(op.node(), std::move(pointers), scope);
  TEKTITE_RETURN_IF_ERROR(ImportFunctionOf(clustering::FactsOf(op.op()))(ordinary));
  TEKTITE_RETURN_IF_ERROR(builder.status());
  const std::vector<TensorInfo>&folded = op.results(), &inferred = ordinary.results();
  if (folded.size() != inferred.size()) {
    return op.Refuse(folded.size(), " results were folded, not ", inferred.size());
  }
  for (size_t i = 0; i < folded.size(); ++i) {
    if (IsSound(folded[i], inferred[i])) continue;
    return op.Refuse("result ", i, " was folded as ", folded[i].shape.ToString(), ", not ",
                     inferred[i].shape.ToString());
  }
  return absl::OkStatus();
}

bool FoldContents(NodeImport& op) {
  auto it = Folders().find(op.op());
  if (it == Folders().end() || op.num_inputs() == 0) return false;
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (!op.HasContents(i)) return false;
  }
  if (it->second(op).ok() && CheckFolded(op).ok()) return true;
  op.results().clear();
  return false;
}

bool ContentsComeFromContents(absl::string_view op) { return Folders().contains(op); }

}  // namespace tektite::importer
