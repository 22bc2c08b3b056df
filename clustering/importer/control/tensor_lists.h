// Ops that have a meaning for lists of tensors beside that for tensors, as gradients use them.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTROL_TENSOR_LISTS_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTROL_TENSOR_LISTS_H_

#include "clustering/importer/node_import.h"

namespace tektite::importer {

absl::Status ImportListZerosLike(NodeImport& op);
absl::Status ImportListAddN(NodeImport& op);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTROL_TENSOR_LISTS_H_
