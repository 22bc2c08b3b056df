// softmax(logits(query x key)) x value in one pass over the keys: the online softmax.
//
//   for 32 keys at a time:
//     keys, values -> shared memory                       a barrier
//     scores = query x key                                a thread: a key, and the warp's rows
//     weights = exp(logits - largest so far)              the warp: row after row
//     context = context scaled down + weights x values    a thread: columns, and the warp's rows
//   context / sum of the weights
//
// A warp takes up to eight rows, a block those of its warps.  Widths above 64 are taken in parts.
// f32 is computed in f32; sums have an order that follows from sizes alone.
//
// f16 and bf16 have kernels of their own (matrix_attention.h, warpgroup_attention.h).
//
// Limits: fused multiply-adds; keys and values pass through registers on their way to shared
// memory.
#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emit/attention/attention_view.h"
#include "backends/gpu/emit/attention/causal_skip.h"
#include "backends/gpu/emit/attention/matrix_attention.h"
#include "backends/gpu/emit/attention/warpgroup_attention.h"
#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/target/schedules.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

constexpr int64_t kWarps = 4, kThreads = kWarps * kWarpThreads;
// Of a warp: fewer where blocks would leave most of a card idle.
constexpr int64_t kMostRows = 8, kFewestRows = 2;
constexpr int64_t kKeys = kWarpThreads;  // of a step
// Elements of a row that lie in shared memory at once, and what lies between two rows there: 16
// bytes of neighbouring rows are then in different banks.
constexpr int64_t kPart = 64, kStride = kPart + 4, kWeightStride = kKeys + 4;
constexpr int kVector = 4;
constexpr int kColumns = kPart / kWarpThreads;  // of a thread in a part
// The sums of a wide head are 64 registers.
constexpr int kResidentThreads = 256;

class AttentionEmitter {
 public:
  AttentionEmitter(const AttentionView& view, loop::Kernel* kernel)
      : view_(view),
        region_(view.region()),
        nodes_(view.nodes()),
        kernel_(*kernel),
        b_(kernel),
        rows_(view.rows()),
        keys_(view.keys()),
        width_(view.width()),
        columns_(view.columns()) {
    const auto blocks = [&] { return view.batch() * CeilDiv(rows_, block_rows()); };
    while (warp_rows_ > kFewestRows && blocks().value_or(kManyBlocks) < kManyBlocks) {
      warp_rows_ /= 2;
    }
  }

  absl::Status Run() {
    for (const Dim& size : {rows_, keys_}) status_.Update(RequireNarrow(kernel_, size));
    const Dim batch = view_.batch(), row_blocks = CeilDiv(rows_, block_rows());
    kernel_.launch.threads = kThreads;
    kernel_.launch.blocks = batch * row_blocks;
    kernel_.launch.resident_threads = kResidentThreads;
    const Indices block = SplitNarrowIndex(b_, b_.BlockIndex(), {batch, row_blocks});
    batch_ = view_.Batch(b_, block[0].base);
    first_row_ = b_.Mul(block[1].base, b_.Index(block_rows()));
    thread_ = b_.RemNarrow(b_.ThreadIndex(), kWarpThreads);
    warp_row_ = b_.Mul(b_.DivNarrow(b_.ThreadIndex(), kWarpThreads), b_.Index(warp_rows_));
    query_ = b_.AllocateShared(DType::kF32, block_rows() * kStride);
    key_ = b_.AllocateShared(DType::kF32, kKeys * kStride);
    value_ = b_.AllocateShared(DType::kF32, kKeys * kStride);
    weights_ = b_.AllocateShared(DType::kF32, block_rows() * kWeightStride);

    // Of a row, in the thread of that number: the largest logit, and the sum of the weights.  Then
    // the context's parts, row by row.
    Values state = {b_.Float(DType::kF32, -std::numeric_limits<double>::infinity()),
                    b_.Float(DType::kF32, 0)};
    state.insert(state.end(), static_cast<size_t>(ColumnParts() * warp_rows_),
                 b_.Splat(b_.Float(DType::kF32, 0), kColumns));
    if (WidthParts() == 1) LoadQueries(0);
    state = b_.For(b_.Index(0), b_.Index(keys_), kKeys, std::move(state),
                   [&](Value first, absl::Span<const Value> carried) {
                     return Step(first, Values(carried.begin(), carried.end()));
                   });
    StoreContext(state);
    return status_;
  }

 private:
  int64_t block_rows() const { return kWarps * warp_rows_; }
  int64_t WidthParts() const { return CeilDiv(width_, kPart); }
  int64_t ColumnParts() const { return CeilDiv(columns_, kPart); }

  // ---- operands ----

  using Place = std::function<ContractionView::Element(Value row, Value column)>;
  // `rows` rows of at most kPart elements of `operand` into shared memory, zeros beyond `row_end`
  // and `width`.  All loads of a thread are under way before it stores the first: an element that
  // does not exist is that of the last row or column until then.
  void LoadTile(Value to, ir::Value operand, Value first, Value row_end, int64_t rows,
                int64_t begin, int64_t width, const Place& place) {
    loop::ElementEmitter e(&b_, 1);
    loop::BindParameters(e, region_);
    const Value last_row = b_.Sub(row_end, b_.Index(1));
    const bool is_narrow = begin + kPart > width;
    std::vector<std::pair<Value, Value>> read;  // where to, and what
    for (int64_t i = 0; i < rows * kPart / kThreads; ++i) {
      const Value element = b_.Add(b_.ThreadIndex(), b_.Index(i * kThreads));
      const Value row = b_.DivNarrow(element, kPart), column = b_.RemNarrow(element, kPart);
      const Value at = b_.Add(first, row), of_row = b_.Add(column, b_.Index(begin));
      const Value readable = is_narrow ? b_.Min(of_row, b_.Index(width - 1)) : of_row;
      const Value v = e.Emit(operand, place(b_.Min(at, last_row), readable).at);
      Value exists = b_.Compare("lt", at, row_end);
      if (is_narrow) exists = b_.And(exists, b_.Compare("lt", of_row, b_.Index(width)));
      read.emplace_back(b_.Add(b_.Mul(row, b_.Index(kStride)), column),
                        b_.Select(exists, v, b_.Float(DType::kF32, 0)));
    }
    status_.Update(e.status());
    for (const auto& [where, v] : read) b_.Store(to, where, v);
  }

  void LoadQueries(int64_t begin) {
    LoadTile(query_, nodes_.scores->operand(0), first_row_, b_.Index(rows_), block_rows(), begin,
             width_, [&](Value row, Value k) { return view_.Query(b_, batch_, row, k); });
  }
  void LoadKeys(Value first, int64_t begin) {
    LoadTile(key_, nodes_.scores->operand(1), first, b_.Index(keys_), kKeys, begin, width_,
             [&](Value key, Value k) { return view_.Key(b_, batch_, key, k); });
  }
  void LoadValues(Value first, int64_t begin) {
    LoadTile(value_, nodes_.context->operand(1), first, b_.Index(keys_), kKeys, begin, columns_,
             [&](Value key, Value column) { return view_.OfValue(b_, batch_, key, column); });
  }

  // ---- a step ----

  Values Step(Value first, Values state) {
    Values scores(static_cast<size_t>(warp_rows_), b_.Float(DType::kF32, 0));
    b_.Barrier();
    LoadValues(first, 0);
    for (int64_t part = 0; part < WidthParts(); ++part) {
      if (part > 0) b_.Barrier();
      if (WidthParts() > 1) LoadQueries(part * kPart);
      LoadKeys(first, part * kPart);
      b_.Barrier();
      scores = AddScores(std::min(kPart, width_ - part * kPart), std::move(scores));
    }
    for (int64_t row = 0; row < warp_rows_; ++row) {
      b_.Store(weights_, b_.Add(WeightsOf(b_.Index(row)), thread_),
               scores[static_cast<size_t>(row)]);
    }
    const Values softmax = Softmax(first, state[0], state[1]);
    state[0] = softmax[0];
    state[1] = softmax[1];
    b_.Barrier();
    for (int64_t part = 0; part < ColumnParts(); ++part) {
      if (part > 0) {
        b_.Barrier();
        LoadValues(first, part * kPart);
        b_.Barrier();
      }
      AddContext(softmax[2], state.data() + 2 + part * warp_rows_);
    }
    return state;
  }

  // Of the thread's key with all rows of the warp.
  Values AddScores(int64_t width, Values scores) {
    return b_.For(b_.Index(0), b_.Index(RoundUp(width, kVector)), kVector, std::move(scores),
                  [&](Value k, absl::Span<const Value> carried) {
                    Values next(carried.begin(), carried.end());
                    const Value own = b_.Add(b_.Mul(thread_, b_.Index(kStride)), k);
                    const Value key = b_.Load(key_, DType::kF32, own, kVector);
                    for (int64_t row = 0; row < warp_rows_; ++row) {
                      Value& sum = next[static_cast<size_t>(row)];
                      const Value at = b_.Mul(b_.Add(warp_row_, b_.Index(row)), b_.Index(kStride));
                      const Value query = b_.Load(query_, DType::kF32, b_.Add(at, k), kVector);
                      for (int lane = 0; lane < kVector; ++lane) {
                        sum = b_.Fma(b_.ExtractLane(query, lane), b_.ExtractLane(key, lane), sum);
                      }
                    }
                    return next;
                  });
  }

  Value WeightsOf(Value row) { return b_.Mul(b_.Add(warp_row_, row), b_.Index(kWeightStride)); }

  // The logit of the thread's key and a row, which count as the last ones where they do not exist.
  Value Logit(Value row, Value key, Value score) {
    loop::ElementEmitter e(&b_, 1);
    loop::BindParameters(e, region_);
    const Value logit = view_.Logits(e, view_.ScoreAt(b_, batch_, row, loop::At(key)), score);
    status_.Update(e.status());
    return logit;
  }

  // Scores in weights_ become weights.  Returns the new state, and by how much what earlier steps
  // added is scaled down.
  Values Softmax(Value first, Value largest, Value sum) {
    const Value none = b_.Float(DType::kF32, -std::numeric_limits<double>::infinity());
    const Value zero = b_.Float(DType::kF32, 0);
    const Value key = b_.Add(first, thread_);
    const Value exists = b_.Compare("lt", key, b_.Index(keys_));
    const Value readable = b_.Min(key, b_.Sub(b_.Index(keys_), b_.Index(1)));
    const Value last_row = b_.Sub(b_.Index(rows_), b_.Index(1));
    return b_.For(b_.Index(0), b_.Index(warp_rows_), 1, {largest, sum, zero},
                  [&](Value row, absl::Span<const Value> carried) {
                    const Value place = b_.Add(WeightsOf(row), thread_);
                    const Value at = b_.Min(b_.Add(first_row_, b_.Add(warp_row_, row)), last_row);
                    const Value logit = b_.Select(
                        exists, Logit(at, readable, b_.Load(weights_, DType::kF32, place)), none);
                    const Value before = b_.WarpRead(carried[0], row);
                    Value most = logit;
                    for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) {
                      most = b_.Max(most, b_.WarpXor(most, mask));
                    }
                    most = b_.Max(before, most);
                    // Where every logit is -inf so far, each weight is 0, and their sum.
                    const Value base = b_.Select(b_.Compare("eq", most, none), zero, most);
                    const Value weight = b_.Unary(Op::kExp, b_.Sub(logit, base));
                    const Value scale = b_.Unary(Op::kExp, b_.Sub(before, base));
                    b_.Store(weights_, place, weight);
                    Value all = weight;
                    for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) {
                      all = b_.Add(all, b_.WarpXor(all, mask));
                    }
                    const Value own = b_.Compare("eq", thread_, row);
                    return Values{b_.Select(own, most, carried[0]),
                                  b_.Select(own, b_.Fma(carried[1], scale, all), carried[1]),
                                  b_.Select(own, scale, carried[2])};
                  });
  }

  // context = context * scale + weights x values, for the thread's columns of a part.
  void AddContext(Value scale, Value* context) {
    Values scaled;
    for (int64_t row = 0; row < warp_rows_; ++row) {
      const Value of_row = b_.WarpRead(scale, b_.Index(row));
      scaled.push_back(b_.Mul(context[row], b_.Splat(of_row, kColumns)));
    }
    const Value column = b_.Mul(thread_, b_.Index(kColumns));
    const Values added =
        b_.For(b_.Index(0), b_.Index(kKeys), kVector, std::move(scaled),
               [&](Value key, absl::Span<const Value> carried) {
                 Values next(carried.begin(), carried.end());
                 Values values;
                 for (int i = 0; i < kVector; ++i) {
                   const Value at = b_.Mul(b_.Add(key, b_.Index(i)), b_.Index(kStride));
                   values.push_back(b_.Load(value_, DType::kF32, b_.Add(at, column), kColumns));
                 }
                 for (int64_t row = 0; row < warp_rows_; ++row) {
                   Value& sum = next[static_cast<size_t>(row)];
                   const Value weights = b_.Load(weights_, DType::kF32,
                                                 b_.Add(WeightsOf(b_.Index(row)), key), kVector);
                   for (int i = 0; i < kVector; ++i) {
                     const Value weight = b_.Splat(b_.ExtractLane(weights, i), kColumns);
                     sum = b_.Fma(weight, values[static_cast<size_t>(i)], sum);
                   }
                 }
                 return next;
               });
    std::copy(added.begin(), added.end(), context);
  }

  // ---- the result ----

  void StoreContext(const Values& state) {
    for (int64_t part = 0; part < ColumnParts(); ++part) {
      b_.Barrier();
      if (part == 0) {
        b_.If(b_.Compare("lt", thread_, b_.Index(warp_rows_)),
              [&] { b_.Store(weights_, WeightsOf(thread_), state[1]); });
      }
      for (int64_t row = 0; row < warp_rows_; ++row) {
        const Value at = b_.Mul(b_.Add(warp_row_, b_.Index(row)), b_.Index(kStride));
        b_.Store(query_, b_.Add(at, b_.Mul(thread_, b_.Index(kColumns))),
                 state[static_cast<size_t>(2 + part * warp_rows_ + row)]);
      }
      b_.Barrier();
      const int64_t width = std::min(kPart, columns_ - part * kPart);
      b_.For(b_.ThreadIndex(), b_.Index(block_rows() * width), kThreads, [&](Value i) {
        const Value in_block = b_.DivNarrow(i, width), column = b_.RemNarrow(i, width);
        const Value row = b_.Add(first_row_, in_block);
        b_.If(b_.Compare("lt", row, b_.Index(rows_)), [&] {
          const Value at = b_.Add(b_.Mul(in_block, b_.Index(kStride)), column);
          const Value sum =
              b_.Load(weights_, DType::kF32, b_.Mul(in_block, b_.Index(kWeightStride)));
          // No keys at all are zeros.
          Value v = b_.Load(query_, DType::kF32, at);
          v = b_.Select(b_.Compare("gt", b_.Index(keys_), b_.Index(0)), b_.Div(v, sum), v);
          StoreElement(row, b_.Add(column, b_.Index(part * kPart)), v);
        });
      });
    }
  }

  void StoreElement(Value row, Value column, Value v) {
    loop::ElementEmitter e(&b_, 1);
    e.StoreAt(b_.Buffer(region_.num_parameters()), region_.outputs()[0].shape(),
              view_.ResultAt(b_, batch_, row, loop::At(column)), v);
    status_.Update(e.status());
  }

  const AttentionView& view_;
  const ir::Graph& region_;
  const ops::Attention& nodes_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const Dim rows_, keys_;
  const int64_t width_, columns_;
  int64_t warp_rows_ = kMostRows;
  Indices batch_;
  Value first_row_, thread_, warp_row_;  // the warp's first row in the block
  Value query_, key_, value_, weights_;  // in shared memory
  absl::Status status_;
};

}  // namespace

void DescribeKernels(target::TargetInfo* target) {
  target->operand_alignment = kVectorBytes;
  target->has_int8_dot = true;
  target->attention_types = {DType::kF32, DType::kF16, DType::kBF16};
}

absl::StatusOr<EmittedKernel> EmitAttention(const Node& fusion, const std::string& name,
                                            const EmitOptions& options) {
  TEKTITE_ASSIGN_OR_RETURN(const AttentionView view, AttentionView::Create(fusion.region()));
  EmittedKernel emitted;
  emitted.kernel = loop::MakeKernel(fusion, name);
  if (view.dtype() == DType::kF32) {
    TEKTITE_RETURN_IF_ERROR(AttentionEmitter(view, emitted.kernel.get()).Run());
    return emitted;
  }
  const auto plan =
      WarpgroupAttentionTiling::Of(view, target::ScheduleOf(fusion).implementation, options);
  const auto emit = [&](CausalSkip* skip, loop::Kernel* kernel) {
    return plan.has_value() ? EmitWarpgroupAttention(view, *plan, skip, kernel)
                            : EmitMatrixAttention(view, options, skip, kernel);
  };
  std::optional<CausalSkip> skip = CausalSkip::Of(view);
  if (!skip.has_value()) {
    TEKTITE_RETURN_IF_ERROR(emit(nullptr, emitted.kernel.get()));
    return emitted;
  }
  TEKTITE_RETURN_IF_ERROR(skip->EmitFlags(emitted.kernel.get()));
  emitted.then.push_back(loop::MakeKernel(fusion, absl::StrCat(name, "_phase2")));
  TEKTITE_RETURN_IF_ERROR(emit(&*skip, emitted.then[0].get()));
  return emitted;
}

}  // namespace tektite::gpu
