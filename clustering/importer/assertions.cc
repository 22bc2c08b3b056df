// Ops that run for the error they may raise.  A check that fails hands the call to TensorFlow's
// kernels, which raise it with their own words; until then a call has changed nothing.
#include "clustering/importer/import_table.h"

namespace tektite::importer {

// The other inputs are what TensorFlow prints.
absl::Status ImportAssert(NodeImport& op) {
  if (op.InputRank(0) != 0 || op.InputDType(0) != DType::kBool) return op.Refuse("no bool");
  Value condition = op.Input(0);
  if (!condition) return op.Refuse(op.b().status().message());
  op.Check(condition);
  return absl::OkStatus();
}

// Its input, if all of it is finite.
absl::Status ImportCheckNumerics(NodeImport& op) {
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  op.Check(op.b().Unary(Op::kIsFinite, x));
  return op.Forward(0);
}

}  // namespace tektite::importer
