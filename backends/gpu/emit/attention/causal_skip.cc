#include "backends/gpu/emit/attention/causal_skip.h"

#include <utility>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/ops/logit_form.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

namespace {

// Of a tile that has a flag.
constexpr int64_t kTileKeys = 64;
// Fewer take less time than the launch before.
constexpr int64_t kFewestKeys = 256;
// A weight is 0 from 88 below the largest logit on; the rest is for what the mask's number was
// rounded to.
constexpr double kFarBelow = 128, kRounding = 1.0 / 128;

int64_t Lanes(const AttentionView& view) {
  const bool vectors = view.ValueIsAlongColumns() &&
                       view.nodes().context->operand(1).node->op() == ir::Op::kParameter &&
                       view.columns() % (kVectorBytes / ir::DTypeBytes(view.dtype())) == 0;
  return vectors ? kVectorBytes / ir::DTypeBytes(view.dtype()) : 1;
}

}  // namespace

CausalSkip::CausalSkip(const AttentionView& view, Dim offset, double masked)
    : view_(&view), offset_(std::move(offset)), masked_(masked) {}

std::optional<CausalSkip> CausalSkip::Of(const AttentionView& view) {
  if (view.keys().value_or(kFewestKeys) < kFewestKeys) return std::nullopt;
  const ops::LogitForms forms = ops::FindLogitForms(view.nodes());
  const ops::LogitForm& late = forms.late;
  if (!forms.causal || late.reads_score || late.bias || !(late.addend < 0)) return std::nullopt;
  return CausalSkip(view, forms.offset, late.addend);
}

Dim CausalSkip::tiles() const { return CeilDiv(view_->keys(), kTileKeys); }

// A warp for each tile.
absl::Status CausalSkip::EmitFlags(loop::Kernel* kernel) const {
  Builder b(kernel);
  absl::Status status = RequireNarrow(*kernel, view_->keys());
  kernel->launch.threads = kWarpThreads;
  kernel->launch.blocks = view_->batch() * tiles();
  const Value flags = b.AllocateScratch(DType::kS32, view_->batch() * tiles());
  const loop::Indices block = SplitNarrowIndex(b, b.BlockIndex(), {view_->batch(), tiles()});
  const loop::Indices batch = view_->Batch(b, block[0].base);
  const Value first = b.Mul(block[1].base, b.Index(kTileKeys));
  const int64_t lanes = Lanes(*view_), vectors = view_->columns() / lanes;
  const Value keys = b.Min(b.Sub(b.Index(view_->keys()), first), b.Index(kTileKeys));
  const auto zeros = [&] { return b.Splat(b.Float(DType::kF32, 0), static_cast<int>(lanes)); };
  // 0 as long as all values are finite, and NaN from then on.
  const Value sum =
      b.For(b.ThreadIndex(), b.Mul(keys, b.Index(vectors)), kWarpThreads, {zeros()},
            [&](Value number, absl::Span<const Value> carried) {
              const Value key = b.Add(first, b.DivNarrow(number, vectors));
              const Value column = b.Mul(b.RemNarrow(number, vectors), b.Index(lanes));
              loop::ElementEmitter e(&b, static_cast<int>(lanes));
              loop::BindParameters(e, view_->region());
              const ir::Value operand = view_->nodes().context->operand(1);
              const auto at = view_->OfValue(b, batch, key, column, lanes).at;
              const Value v = lanes > 1 ? e.EmitVector(operand, at) : e.Emit(operand, at);
              if (status.ok()) status = e.status();
              return Values{b.Fma(b.Convert(v, DType::kF32), zeros(), carried[0])};
            })[0];
  const Value total = lanes > 1 ? b.ReduceLanes(ir::Op::kAdd, sum) : sum;
  const Value is_any = b.WarpAny(b.Compare("ne", total, total));
  b.If(b.Compare("eq", b.ThreadIndex(), b.Index(0)),
       [&] { b.Store(flags, b.BlockIndex(), b.Convert(is_any, DType::kS32)); });
  return status;
}

void CausalSkip::Enter(Builder* b, int64_t warps) {
  b_ = b;
  warps_ = warps;
  flags_ = b->AllocateScratch(DType::kS32, view_->batch() * tiles());
  votes_ = b->AllocateShared(DType::kS32, warps);
}

Value CausalSkip::SeenEnd(Value first_row, int64_t rows, int64_t step) const {
  Builder& b = *b_;
  const Value end = b.Add(b.Add(first_row, b.Index(rows)), b.Index(offset_));
  const Value within = b.Max(b.Min(end, b.Index(view_->keys())), b.Index(0));
  return b.Mul(b.DivNarrow(b.Add(within, b.Index(step - 1)), step), b.Index(step));
}

Value CausalSkip::AllFinite(Value batch, Value first) const {
  Builder& b = *b_;
  const Value thread = b.RemNarrow(b.ThreadIndex(), kWarpThreads);
  const Value none = b.Int(DType::kS32, 0);
  const Value found = b.For(b.Add(b.DivNarrow(first, kTileKeys), thread), b.Index(tiles()),
                            kWarpThreads, {none}, [&](Value tile, absl::Span<const Value> carried) {
                              const Value at = b.Add(b.Mul(batch, b.Index(tiles())), tile);
                              return Values{b.Or(carried[0], b.Load(flags_, DType::kS32, at))};
                            })[0];
  return b.WarpAll(b.Compare("eq", found, none));
}

void CausalSkip::Vote(Value warp, Value batch, Value first, const Values& largest) const {
  Builder& b = *b_;
  Value over = AllFinite(batch, first);
  const double threshold = masked_ * (1 - kRounding) + kFarBelow;
  for (const Value& rows : largest) {
    for (int row = 0; row < rows.lanes(); ++row) {
      const Value logit = b.ExtractLane(rows, row);
      over = b.And(over, b.Compare("ge", logit, b.Float(DType::kF32, threshold)));
    }
  }
  over = b.WarpAll(over);
  const Value thread = b.RemNarrow(b.ThreadIndex(), kWarpThreads);
  b.If(b.Compare("eq", thread, b.Index(0)),
       [&] { b.Store(votes_, warp, b.Convert(over, DType::kS32)); });
}

Value CausalSkip::AllAgree() const {
  Builder& b = *b_;
  Value all = b.Load(votes_, DType::kS32, b.Index(0));
  for (int64_t warp = 1; warp < warps_; ++warp) {
    all = b.And(all, b.Load(votes_, DType::kS32, b.Index(warp)));
  }
  return b.Compare("ne", all, b.Int(DType::kS32, 0));
}

Value CausalSkip::IsOver(Value batch, Value first, const Values& largest) const {
  Vote(b_->DivNarrow(b_->ThreadIndex(), kWarpThreads), batch, first, largest);
  b_->Barrier();
  return AllAgree();
}

}  // namespace tektite::gpu
