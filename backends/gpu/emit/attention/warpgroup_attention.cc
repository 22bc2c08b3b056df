// softmax(logits(query x key)) x value with wgmma and copies of tensors, sums in f32.
//
//   a thread of the first warpgroup            the two other warpgroups, 64 rows each
//   copy the queries                           wait for the queries
//   for each step of keys                      scores = query x key                   of step 0
//     wait until its stage is free             weights = exp(logits - largest)
//     copy the keys                            for each step from the next one on
//     wait until its stage is free               begin scores = query x key           of this step
//     copy the values                            begin context += weights x value     of the last
//                                                wait for the scores; their softmax, while the
//                                                other product runs
//                                                wait for the context, scale it down
//                                              context += weights x value             of the last
//                                              context / sum -> shared memory -> whole rows
//
// Weights never reach memory: the sums of the first product lie in a thread's registers as the
// second product's left side must.  Keys and values have stages and signals of their own, so the
// keys of a step are replaced while its values are still read.
//
// Keys that no row of a block sees are left out where that changes nothing (causal_skip.h): then
// the keys are walked over in two turns, to the last one that a row sees and, where it must be,
// over the others.  The consumers' warps vote, and a signal tells all roles that they have.
#include "backends/gpu/emit/attention/warpgroup_attention.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "backends/gpu/emit/attention/context_sums.h"
#include "backends/gpu/emit/attention/online_softmax.h"
#include "backends/gpu/emit/attention/score_logits.h"
#include "backends/gpu/emit/contraction/operand_reader.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"
#include "jit/llvm/warp_matrix.h"
#include "jit/llvm/warpgroup.h"

namespace tektite::gpu {
namespace {

using loop::kGroupThreads;
using loop::kMatrixRows;
using loop::kProductColumnsStep;
using loop::kProductDepth;
using loop::kProductRows;
using Values = std::vector<Value>;

// A warpgroup copies, two multiply.
constexpr int64_t kConsumers = kAttentionRows / kProductRows;
constexpr int kThreads = kGroupThreads * static_cast<int>(1 + kConsumers);
constexpr int64_t kConsumerWarps = kConsumers * loop::kGroupWarps;
// Of a thread: a multiprocessor has 65536, and a consumer's sums and weights are up to 160.
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
constexpr int kElementBytes = 2;
// 64 rows of 128 bytes: of queries, of keys, or of a piece of the values.
constexpr int64_t kPieceElements = loop::kPieceBytes / kElementBytes;
enum Map { kQuery, kKey, kValue };

class WarpgroupAttention {
 public:
  WarpgroupAttention(const AttentionView& view, const WarpgroupAttentionTiling& plan,
                     CausalSkip* skip, loop::Kernel* kernel)
      : view_(view),
        plan_(plan),
        skip_(skip),
        kernel_(*kernel),
        b_(kernel),
        dtype_(view.dtype()),
        rows_(view.rows()),
        keys_(view.keys()),
        panels_(view.width() / kProductDepth),
        pieces_(view.columns() / kProductDepth),
        key_elements_(plan.keys * view.width()),
        value_elements_(plan.keys * view.columns()),
        logits_(&b_, view, plan.keys) {}

  absl::Status Run() {
    const Dim row_blocks = CeilDiv(rows_, kAttentionRows);
    for (const Dim& size : {rows_, keys_, view_.batch(), view_.batch() * row_blocks}) {
      status_.Update(RequireNarrow(kernel_, size));
    }
    kernel_.launch.threads = kThreads;
    kernel_.launch.blocks = view_.batch() * row_blocks;
    kernel_.launch.resident_threads = kThreads;
    AddMap(plan_.query, kAttentionRows);
    AddMap(plan_.key, plan_.keys);
    AddMap(plan_.value, kProductDepth);
    shared_ = b_.AllocateShared(dtype_, kAttentionRows * view_.width() +
                                            kAttentionStages * (key_elements_ + value_elements_));
    signals_ = b_.AllocateShared(DType::kS64, kVoted + 1);
    staged_ = b_.AllocateShared(dtype_, kAttentionRows * StagedStride());
    if (skip_ != nullptr) skip_->Enter(&b_, kConsumerWarps);
    const Indices block = SplitNarrowIndex(b_, b_.BlockIndex(), {view_.batch(), row_blocks});
    batch_number_ = block[0].base;
    batch_ = view_.Batch(b_, batch_number_);
    Value row_block = block[1].base;
    // Rows that see most keys come first, so that no block begins late and takes long.
    if (skip_ != nullptr) row_block = b_.Sub(b_.Index(row_blocks - 1), row_block);
    first_row_ = b_.Mul(row_block, b_.Index(kAttentionRows));
    b_.If(b_.Compare("eq", b_.ThreadIndex(), b_.Index(0)), [&] {
      const int64_t signals = kVoted + (skip_ == nullptr ? 0 : 1);
      for (int64_t signal = 0; signal < signals; ++signal) {
        const bool of_consumers = signal >= kKeysFree;
        b_.InitSignal(signals_, b_.Index(signal), of_consumers ? kConsumerWarps : 1);
      }
    });
    b_.Barrier();
    b_.Roles(
        kGroupThreads, {kProducerRegisters, kConsumerRegisters}, [&] { Produce(); },
        [&] { Consume(); });
    status_.Update(logits_.status());
    return status_;
  }

 private:
  // Signals: copies have arrived, a stage has been read, the warps have voted.
  static constexpr int64_t kQueriesFull = 0, kKeysFull = 1,
                           kValuesFull = kKeysFull + kAttentionStages,
                           kKeysFree = kValuesFull + kAttentionStages,
                           kValuesFree = kKeysFree + kAttentionStages,
                           kVoted = kValuesFree + kAttentionStages;

  void AddMap(const HeadTensor& tensor, int64_t box_rows) {
    loop::TensorMap map;
    map.buffer = tensor.buffer;
    map.sizes = {tensor.inner, tensor.rows, tensor.outer};
    map.strides = {tensor.inner, tensor.inner * tensor.rows};
    map.box = {kProductDepth, static_cast<int>(box_rows), 1};
    kernel_.tensor_maps.push_back(std::move(map));
  }

  // ---- the stages ----

  // Of the step of keys from `first` on, a multiple of the plan's.
  struct Stage {
    Value number, parity;
  };
  Stage StageOf(Value first) {
    const Value step = b_.DivNarrow(first, plan_.keys);
    return {b_.RemNarrow(step, kAttentionStages),
            b_.RemNarrow(b_.DivNarrow(step, kAttentionStages), 2)};
  }
  Value Signal(int64_t first, const Stage& stage) { return b_.Add(stage.number, b_.Index(first)); }
  // Queries come first in shared memory, panel by panel, then stages of keys, then of values.
  Value KeysAt(const Stage& stage) {
    return b_.Add(b_.Index(kAttentionRows * view_.width()),
                  b_.Mul(stage.number, b_.Index(key_elements_)));
  }
  Value ValuesAt(const Stage& stage) {
    return b_.Add(b_.Index(kAttentionRows * view_.width() + kAttentionStages * key_elements_),
                  b_.Mul(stage.number, b_.Index(value_elements_)));
  }

  // Keys from `begin` to `end`, in one turn or two; `is_over` is asked before the second one.
  using Body = std::function<Values(Value begin, Value end, Values state)>;
  Values ForEachTurn(Values state, const std::function<Value(const Values&, Value)>& is_over,
                     const Body& body) {
    const auto where_any = [&](Value begin, Value end, Values before) {
      return b_.IfElse(
          b_.Compare("lt", begin, end), [&] { return body(begin, end, before); },
          [&] { return before; });
    };
    if (skip_ == nullptr) return where_any(b_.Index(0), b_.Index(keys_), std::move(state));
    const Value seen_end = skip_->SeenEnd(first_row_, kAttentionRows, plan_.keys);
    return b_.For(b_.Index(0), b_.Index(2), 1, std::move(state),
                  [&](Value turn, absl::Span<const Value> carried) {
                    const Values before(carried.begin(), carried.end());
                    const Value is_first = b_.Compare("eq", turn, b_.Index(0));
                    const Value over = b_.IfElse(
                        is_first, [&] { return Values{b_.Int(DType::kBool, 0)}; },
                        [&] { return Values{is_over(before, seen_end)}; })[0];
                    const Value begin = b_.Select(is_first, b_.Index(0), seen_end);
                    const Value end = b_.Select(is_first, seen_end, b_.Index(keys_));
                    return where_any(begin, b_.Select(over, begin, end), before);
                  });
  }

  // ---- the copies ----

  void Produce() {
    b_.If(b_.Compare("eq", b_.ThreadIndex(), b_.Index(0)), [&] {
      for (int map : {kQuery, kKey, kValue}) b_.AcquireTensor(map);
      b_.Arrive(signals_, b_.Index(kQueriesFull), Bytes(kAttentionRows * view_.width()));
      for (int64_t panel = 0; panel < panels_; ++panel) {
        Copy(kQuery, b_.Index(panel * kAttentionRows * kProductDepth), panel, first_row_,
             b_.Index(kQueriesFull));
      }
      const auto is_over = [&](const Values&, Value) {
        b_.WaitForSignal(signals_, b_.Index(kVoted), b_.Index(0));
        return skip_->AllAgree();
      };
      ForEachTurn({}, is_over, [&](Value begin, Value end, Values) {
        b_.For(begin, end, plan_.keys, [&](Value first) { CopyStep(first); });
        return Values();
      });
    });
  }

  void CopyStep(Value first) {
    const Stage stage = StageOf(first);
    const auto enter = [&](int64_t free, int64_t full, int64_t elements) {
      b_.WaitForSignal(signals_, Signal(free, stage), b_.Sub(b_.Index(1), stage.parity));
      b_.Arrive(signals_, Signal(full, stage), Bytes(elements));
    };
    enter(kKeysFree, kKeysFull, key_elements_);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      Copy(kKey, b_.Add(KeysAt(stage), b_.Index(panel * plan_.keys * kProductDepth)), panel, first,
           Signal(kKeysFull, stage));
    }
    enter(kValuesFree, kValuesFull, value_elements_);
    for (int64_t depth = 0; depth < plan_.keys / kProductDepth; ++depth) {
      for (int64_t piece = 0; piece < pieces_; ++piece) {
        const int64_t at = (depth * pieces_ + piece) * kPieceElements;
        Copy(kValue, b_.Add(ValuesAt(stage), b_.Index(at)), piece,
             b_.Add(first, b_.Index(depth * kProductDepth)), Signal(kValuesFull, stage));
      }
    }
  }

  Value Bytes(int64_t elements) { return b_.Index(elements * kElementBytes); }

  // Numbers from kProductDepth * `part` on of the head's rows from `row` on.
  void Copy(Map map, Value to, int64_t part, Value row, Value signal) {
    const HeadTensor& tensor = map == kQuery ? plan_.query : map == kKey ? plan_.key : plan_.value;
    Value outer = b_.Index(0), inner = b_.Index(part * kProductDepth);
    for (size_t i = 0; i < tensor.batch.size(); ++i) {
      Value& at = tensor.batch[i].is_outer ? outer : inner;
      at = b_.Add(at, b_.Mul(batch_[i].base, b_.Index(tensor.batch[i].stride)));
    }
    b_.CopyTensor(shared_, to, map, {inner, row, outer}, signals_, signal);
  }

  // ---- the products ----

  // The context's tiles, then the softmax.
  using State = Values;
  size_t ContextTiles() const { return static_cast<size_t>(view_.columns() / kProductColumnsStep); }
  absl::Span<Value> ContextOf(State& state) const {
    return absl::MakeSpan(state).subspan(0, ContextTiles());
  }
  Values Zeros(int64_t columns) {
    return Values(static_cast<size_t>(columns / kProductColumnsStep),
                  b_.Splat(b_.Float(DType::kF32, 0), loop::kSumLanes));
  }
  // Products of a step that begin with one call.
  int WeightProducts() const { return static_cast<int>(plan_.keys / kProductDepth); }

  void Consume() {
    const Value thread = b_.Sub(b_.ThreadIndex(), b_.Index(kGroupThreads));
    warp_ = b_.DivNarrow(thread, kWarpThreads);
    lane_ = b_.RemNarrow(thread, kWarpThreads);
    is_first_lane_ = b_.Compare("eq", lane_, b_.Index(0));
    group_at_ = b_.Mul(b_.DivNarrow(warp_, loop::kGroupWarps), b_.Index(kPieceElements));
    warp_row_ = b_.Add(first_row_, b_.Mul(warp_, b_.Index(kMatrixRows)));
    const Value row = b_.Add(warp_row_, b_.DivNarrow(lane_, 4));
    logits_.SetRows(batch_, {row, b_.Add(row, b_.Index(kMatrixRows / kThreadRows))});
    b_.WaitForSignal(signals_, b_.Index(kQueriesFull), b_.Index(0));
    State state = Zeros(view_.columns());
    const OnlineSoftmax none = OnlineSoftmax::Empty(b_);
    state.push_back(none.largest);
    state.push_back(none.sum);
    const auto is_over = [&](const Values& before, Value seen_end) {
      skip_->Vote(warp_, batch_number_, seen_end, {before[ContextTiles()]});
      b_.WarpBarrier();
      b_.If(is_first_lane_, [&] { b_.Arrive(signals_, b_.Index(kVoted)); });
      b_.WaitForSignal(signals_, b_.Index(kVoted), b_.Index(0));
      return skip_->AllAgree();
    };
    Finish(ForEachTurn(std::move(state), is_over, [&](Value begin, Value end, State before) {
      return Walk(begin, end, std::move(before));
    }));
  }

  // At least one step.
  State Walk(Value begin, Value end, State state) {
    Values scores = b_.WaitForProducts(0, BeginScores(begin));
    Release(kKeysFree, begin);
    ScaleSums(b_, {TakeScores(begin, &scores, &state)}, ContextOf(state));
    for (Value part : Parts(scores)) state.push_back(part);
    const Value second = b_.Add(begin, b_.Index(plan_.keys));
    state = b_.For(second, end, plan_.keys, std::move(state),
                   [&](Value first, absl::Span<const Value> carried) {
                     return Step(first, State(carried.begin(), carried.end()));
                   });
    const Value steps = b_.DivNarrow(b_.Sub(b_.Sub(end, begin), b_.Index(1)), plan_.keys);
    const Value last = b_.Add(begin, b_.Mul(steps, b_.Index(plan_.keys)));
    const Values context = b_.WaitForProducts(0, BeginContext(last, state));
    if (skip_ != nullptr) Release(kValuesFree, last);  // for the second turn
    std::copy(context.begin(), context.end(), state.begin());
    state.resize(ContextTiles() + 2);
    return state;
  }

  // `state`: with the weights of the step before.
  State Step(Value first, State state) {
    const Value before = b_.Sub(first, b_.Index(plan_.keys));
    Values scores = BeginScores(first);
    Values context = BeginContext(before, state);
    scores = b_.WaitForProducts(WeightProducts(), scores);
    Release(kKeysFree, first);
    const Value factor = TakeScores(first, &scores, &state);
    // The other product runs during the softmax, which ends with its sums.
    const Value softmax = b_.ReduceLanes(ir::Op::kAdd, state[ContextTiles() + 1]);
    context = b_.WaitForProducts(0, context, softmax);
    Release(kValuesFree, before);
    ScaleSums(b_, {factor}, absl::MakeSpan(context));
    std::copy(context.begin(), context.end(), state.begin());
    const Values parts = Parts(scores);
    std::copy(parts.begin(), parts.end(), state.begin() + static_cast<int64_t>(ContextTiles() + 2));
    return state;
  }

  Values BeginScores(Value first) {
    const Stage stage = StageOf(first);
    b_.WaitForSignal(signals_, Signal(kKeysFull, stage), stage.parity);
    Values scores = Zeros(plan_.keys);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const Value query = b_.Add(group_at_, b_.Index(panel * kAttentionRows * kProductDepth));
      const Value key = b_.Add(KeysAt(stage), b_.Index(panel * plan_.keys * kProductDepth));
      scores = b_.BeginProduct(shared_, dtype_, {query, false}, {key, false}, scores);
    }
    return scores;
  }

  Values BeginContext(Value first, const State& state) {
    const Stage stage = StageOf(first);
    b_.WaitForSignal(signals_, Signal(kValuesFull, stage), stage.parity);
    const auto all = absl::MakeConstSpan(state);
    Values context(state.begin(), state.begin() + static_cast<int64_t>(ContextTiles()));
    for (int64_t depth = 0; depth < WeightProducts(); ++depth) {
      const auto parts =
          all.subspan(ContextTiles() + 2 + static_cast<size_t>(depth) * loop::kProductParts,
                      loop::kProductParts);
      const Value value = b_.Add(ValuesAt(stage), b_.Index(depth * pieces_ * kPieceElements));
      context = b_.BeginProduct(parts, shared_, {value, /*transposed=*/true}, context);
    }
    return context;
  }

  // Scores become weights.  Returns by how much the context is to be scaled down.
  Value TakeScores(Value first, Values* scores, State* state) {
    logits_.TurnScores(first, scores);
    Value& largest = (*state)[ContextTiles()];
    Value& sum = (*state)[ContextTiles() + 1];
    OnlineSoftmax softmax{largest, sum};
    const Value factor = softmax.TakeLogits(b_, absl::MakeSpan(*scores));
    largest = softmax.largest;
    sum = softmax.sum;
    return factor;
  }

  Values Parts(const Values& weights) {
    Values parts;
    for (size_t tile = 0; tile < weights.size(); tile += 2) {
      for (Value part : WeightParts(b_, absl::MakeConstSpan(weights).subspan(tile, 2), dtype_)) {
        parts.push_back(part);
      }
    }
    return parts;
  }

  void Release(int64_t free, Value first) {
    b_.If(is_first_lane_, [&] { b_.Arrive(signals_, Signal(free, StageOf(first))); });
  }

  // ---- the result ----

  int64_t StagedStride() const { return view_.columns() + kStagedPadding; }

  // A warp stages its own rows, and waits for no other.
  void Finish(State state) {
    const OnlineSoftmax softmax{state[ContextTiles()], state[ContextTiles() + 1]};
    const Value inverse = SpreadRows(b_, OneOverSum(b_, softmax, keys_));
    const Value own = b_.Mul(warp_, b_.Index(kMatrixRows * StagedStride()));
    // As SumPlace has it.
    const Value at = b_.Add(own, b_.Add(b_.Mul(b_.DivNarrow(lane_, 4), b_.Index(StagedStride())),
                                        b_.Mul(b_.RemNarrow(lane_, 4), b_.Index(2))));
    for (size_t tile = 0; tile < ContextTiles(); ++tile) {
      const Value context = b_.Mul(state[tile], inverse);
      for (int half = 0; half < kThreadRows; ++half) {
        const int64_t to = half * kMatrixRows / kThreadRows * StagedStride() +
                           static_cast<int64_t>(tile) * kProductColumnsStep;
        b_.Store(staged_, b_.Add(at, b_.Index(to)), b_.Convert(RowOf(b_, context, half), dtype_));
      }
    }
    b_.WarpBarrier();
    constexpr int64_t kLanes = kVectorBytes / kElementBytes;
    const int64_t vectors = view_.columns() / kLanes;
    const ir::Shape& shape = view_.region().outputs()[0].shape();
    b_.For(lane_, b_.Index(kMatrixRows * vectors), kWarpThreads, [&](Value v) {
      const Value in_warp = b_.DivNarrow(v, vectors);
      const Value column = b_.Mul(b_.RemNarrow(v, vectors), b_.Index(kLanes));
      const Value row = b_.Add(warp_row_, in_warp);
      b_.If(b_.Compare("lt", row, b_.Index(rows_)), [&] {
        const Value from = b_.Add(own, b_.Add(b_.Mul(in_warp, b_.Index(StagedStride())), column));
        const Value context = b_.Load(staged_, dtype_, from, static_cast<int>(kLanes));
        const Indices to = view_.ResultAt(b_, batch_, row, loop::At(column));
        b_.Store(b_.Buffer(view_.region().num_parameters()), LinearIndex(b_, shape, to), context);
      });
    });
  }

  const AttentionView& view_;
  const WarpgroupAttentionTiling plan_;
  CausalSkip* const skip_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const DType dtype_;
  const Dim rows_, keys_;
  const int64_t panels_, pieces_;  // of kProductDepth numbers of a row of queries, of values
  const int64_t key_elements_, value_elements_;  // of a stage
  ScoreLogits logits_;
  Indices batch_;
  Value batch_number_, first_row_;
  Value shared_, signals_, staged_;
  // Of those that multiply: the warp's number and first row, its group's queries in a panel.
  Value warp_, lane_, is_first_lane_, group_at_, warp_row_;
  absl::Status status_;
};

}  // namespace

absl::Status EmitWarpgroupAttention(const AttentionView& view, const WarpgroupAttentionTiling& plan,
                                    CausalSkip* skip, loop::Kernel* kernel) {
  return WarpgroupAttention(view, plan, skip, kernel).Run();
}

}  // namespace tektite::gpu
