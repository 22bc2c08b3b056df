#include "clustering/importer/contents/contents.h"

#include "absl/container/flat_hash_map.h"

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

}  // namespace

bool FoldContents(NodeImport& op) {
  auto it = Folders().find(op.op());
  if (it == Folders().end() || op.num_inputs() == 0) return false;
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (!op.HasContents(i)) return false;
  }
  if (it->second(op).ok()) return true;
  op.results().clear();
  return false;
}

bool ContentsComeFromContents(absl::string_view op) { return Folders().contains(op); }

}  // namespace tektite::importer
