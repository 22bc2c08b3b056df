#include "backends/gpu/cudnn/attention_call.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/ops/attention.h"
#include "jit/ops/logit_form.h"
#include "jit/ops/ops.h"

namespace tektite::gpu {
namespace {

using ir::Attr;
using ir::DType;
using ir::Node;
using ir::Op;
using Sizes = std::vector<int64_t>;

constexpr size_t kMostBatchDims = 2;
// A mask that leaves nothing of a key beside one that is seen.
constexpr double kMasked = -1e4;

// Of an operand with these dimensions of batch, one of rows or keys, and its innermost one.
std::optional<AttentionCall::Strides> StridesOf(const Sizes& sizes,
                                                const std::vector<int64_t>& batch, int64_t rows,
                                                int64_t innermost) {
  const Sizes strides = LibraryOperands::RowMajor(sizes);
  if (innermost != static_cast<int64_t>(sizes.size()) - 1) return std::nullopt;
  const auto at = [&](int64_t dimension) { return strides[static_cast<size_t>(dimension)]; };
  AttentionCall::Strides of = {strides[0] * sizes[0], strides[0] * sizes[0], at(rows)};
  for (size_t i = 0; i < batch.size(); ++i) of[2 - batch.size() + i] = at(batch[i]);
  return of;
}

bool IsParameter(ir::Value v) { return v.node->op() == Op::kParameter; }

bool Fits(const AttentionCall& call) {
  for (int64_t size : {call.batch, call.heads, call.rows, call.keys, call.width, call.columns}) {
    if (size < 1 || size > LibraryOperands::kMostSize) return false;
  }
  for (const auto* strides :
       {&call.query_strides, &call.key_strides, &call.value_strides, &call.result_strides}) {
    for (int64_t stride : *strides) {
      if (stride < 1 || stride > LibraryOperands::kMostSize) return false;
    }
  }
  return call.bias == LibraryOperands::kNone &&
         (call.dtype == DType::kF16 || call.dtype == DType::kBF16) && call.offset >= 0 &&
         call.offset <= LibraryOperands::kMostSize;
}

}  // namespace

absl::StatusOr<AttentionCall> AttentionCall::Of(const Node& fusion) {
  const ir::Graph& region = fusion.region();
  TEKTITE_ASSIGN_OR_RETURN(const ops::Attention found, ops::AttentionOf(region));
  if (ir::HasSymbols(region)) return Unimplemented("no attention of static sizes");
  const Node &scores = *found.scores, &context = *found.context;
  const auto refuse = [&](const char* why) { return Unimplemented(context.Describe(), ": ", why); };
  AttentionCall call;
  call.dtype = context.shape().dtype();
  call.operands = fusion.num_operands();
  for (ir::Value operand : {scores.operand(0), scores.operand(1), context.operand(1)}) {
    if (!IsParameter(operand) || operand.dtype() != call.dtype) {
      return refuse("computes its operands, or has several types");
    }
  }
  call.lhs = NumberOf(*scores.operand(0).node);
  call.rhs = NumberOf(*scores.operand(1).node);
  call.value = NumberOf(*context.operand(1).node);
  const ops::DotDims before = ops::GetDotDims(scores), after = ops::GetDotDims(context);
  const size_t batch_dims = before.lhs_batch.size();
  if (batch_dims > kMostBatchDims || before.lhs_free.size() != 1) {
    return refuse("more dimensions than cuDNN takes");
  }
  const Sizes q = scores.operand_shape(0).sizes(), k = scores.operand_shape(1).sizes();
  const Sizes v = context.operand_shape(1).sizes(), logits = found.logits.shape().sizes();
  if (batch_dims > 1) call.batch = logits[0];
  if (batch_dims > 0) call.heads = logits[batch_dims - 1];
  call.rows = logits[batch_dims];
  call.keys = logits.back();
  call.width = q[static_cast<size_t>(before.lhs_contracting[0])];
  call.columns = context.shape().sizes().back();
  const auto query = StridesOf(q, before.lhs_batch, before.lhs_free[0], before.lhs_contracting[0]);
  const auto key = StridesOf(k, before.rhs_batch, before.rhs_free[0], before.rhs_contracting[0]);
  const auto value = StridesOf(v, after.rhs_batch, after.rhs_contracting[0], after.rhs_free[0]);
  // Where the context's dimensions are in the result.
  const Node& result = *found.result;
  std::vector<int64_t> places(logits.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  if (&result != &context) {
    const std::vector<int64_t>& permutation = result.Ints(Attr::permutation);
    for (size_t i = 0; i < places.size(); ++i) {
      places[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
    }
  }
  const std::vector<int64_t> batch(places.begin(),
                                   places.begin() + static_cast<std::ptrdiff_t>(batch_dims));
  const auto out = StridesOf(result.shape().sizes(), batch, places[batch_dims], places.back());
  if (!query || !key || !value || !out) return refuse("rows are not whole in memory");
  call.query_strides = *query;
  call.key_strides = *key;
  call.value_strides = *value;
  call.result_strides = *out;
  const ops::LogitForms forms = ops::FindLogitForms(found);
  const ops::LogitForm& seen = forms.seen;
  if (!seen.is_known || !seen.reads_score || seen.addend != 0) {
    return refuse("work on scores that cuDNN does not do");
  }
  call.scale = seen.factor;
  if (seen.bias) return refuse("a mask whose rows may have no key");
  if (forms.causal) {
    if (!forms.offset.is_constant() || forms.offset.value() < 0 ||
        !(forms.late.addend <= kMasked)) {
      return refuse("a mask that cuDNN does not have");
    }
    call.causal = true;
    call.offset = forms.offset.value();
  }
  if (!Fits(call)) return refuse("sizes that cuDNN does not take");
  return call;
}

std::string AttentionCall::ToString() const {
  return absl::StrCat(ir::DTypeName(dtype), " attention of ", batch, " x ", heads, " x ", rows,
                      " rows to ", keys, " keys, ", width, " -> ", columns,
                      causal ? ", causal" : "");
}

std::string AttentionCall::Write() const {
  ByteWriter w;
  w.I64(static_cast<int64_t>(dtype));
  for (int64_t size : {batch, heads, rows, keys, width, columns}) w.I64(size);
  for (const Strides* strides : {&query_strides, &key_strides, &value_strides, &result_strides}) {
    for (int64_t stride : *strides) w.I64(stride);
  }
  w.F64(scale);
  w.I64(causal ? 1 : 0);
  w.I64(offset);
  w.I64(value);
  WriteOperands(&w);
  return w.Take();
}

absl::StatusOr<AttentionCall> AttentionCall::Read(absl::string_view bytes) {
  ByteReader r(bytes);
  AttentionCall call;
  bool fits = ReadType(&r, IsOffered, &call.dtype);
  for (int64_t* size :
       {&call.batch, &call.heads, &call.rows, &call.keys, &call.width, &call.columns}) {
    *size = r.I64();
  }
  for (Strides* strides :
       {&call.query_strides, &call.key_strides, &call.value_strides, &call.result_strides}) {
    for (int64_t& stride : *strides) stride = r.I64();
  }
  call.scale = r.F64();
  call.causal = r.I64() != 0;
  call.offset = r.I64();
  const int64_t value = r.I64();
  fits = call.ReadOperands(&r) && fits && Fits(call) && value >= 0 && value < call.operands;
  if (!fits || !r.AtEnd()) return InvalidArgument("not attention");
  call.value = static_cast<int>(value);
  return call;
}

}  // namespace tektite::gpu
