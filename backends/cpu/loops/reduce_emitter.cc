// Reductions that are not over the innermost dimensions alone (column sums, means over height and
// width), and single long reductions.
//
// If the innermost dimension stays, vectors run along it and every lane has its own accumulator;
// otherwise vectors run along the innermost reduced dimension and lanes are combined at the end.

#include <algorithm>

#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/long_sum.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/reduction.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/reduce_space.h"

namespace tektite::cpu {
namespace {

// Vectors of accumulators side by side: a cache line or more per step, and latency hidden.
constexpr int kColumns = 4;
// Additions to an accumulator of a column before a block ends: six more for each of them.
constexpr int64_t kColumnBlock = 256;

}  // namespace

absl::Status CheckReduce(const Node& fusion) {
  return loop::ReduceSpace::Create(fusion.region()).status();
}

absl::StatusOr<EmittedKernel> EmitReduce(const Node& fusion, const Target& target,
                                         const std::string& name) {
  const ir::Graph& region = fusion.region();
  TEKTITE_ASSIGN_OR_RETURN(const loop::ReduceSpace plan, loop::ReduceSpace::Create(region));
  EmittedKernel result;
  result.kernel = MakeKernel(fusion, name);
  result.cost = ElementwiseCost(region, target);
  loop::Builder b(result.kernel.get());
  const int lanes = RegionLanes(region, target);

  // Units: rows of results, in blocks of columns when those are vectorized.
  Dims outer = plan.kept_sizes;
  Dim inner(1), blocks(1);
  int64_t block = 1;
  if (plan.inner_kept) {
    inner = outer.back();
    outer.pop_back();
    const int64_t vectors = CeilDiv(inner, lanes).value_or(kColumns);
    block = std::min<int64_t>(vectors, kColumns) * lanes;
    blocks = CeilDiv(inner, std::max<int64_t>(block, 1));
  }
  const Dim units = Product(outer) * blocks;
  const Dim per_chunk = UnitsPerChunk(units, result.cost);
  result.num_chunks = CeilDiv(units, per_chunk);

  absl::Status status;
  auto store_outputs = [&](ElementEmitter& e, const Indices& kept) {
    for (size_t o = 0; o < region.outputs().size(); ++o) {
      ir::Value v = region.outputs()[o];
      e.StoreAt(b.Buffer(OutputBuffer(region, o)), v.shape(), kept, e.Emit(v, kept));
    }
  };

  ForEachUnit(b, units, per_chunk, [&](Value unit) {
    ElementEmitter e(&b, lanes);
    BindParameters(e, region);
    std::vector<Reduction> reductions;
    for (const Node* r : plan.reduces) {
      reductions.emplace_back(&b, r->String(Attr::reducer), r->operand_shape(0).dtype(), lanes);
    }
    Indices kept;
    const bool one_row = units == blocks;
    Value row = one_row ? b.Index(0) : b.Div(unit, b.Index(blocks));
    for (Value v : Delinearize(b, row, outer)) kept.push_back(At(v));

    if (!plan.inner_kept) {
      auto visit = [&](const std::vector<Value>& index, Value mask) {
        e.Clear();
        e.SetMask(mask);
        Indices reduced;
        for (size_t i = 0; i < index.size(); ++i) {
          reduced.push_back(At(index[i], i + 1 == index.size() ? 1 : 0));
        }
        std::vector<Value> taken;
        for (const Node* r : plan.reduces) {
          taken.push_back(e.EmitVector(r->operand(0), plan.SpaceIndex(kept, reduced)));
        }
        return taken;
      };
      std::vector<Value> totals = ReduceOverInner(b, plan.reduced_sizes, lanes, reductions, visit);
      e.Clear();
      e.SetMask({});
      for (size_t i = 0; i < plan.reduces.size(); ++i) {
        e.BindValue(ir::Value{const_cast<Node*>(plan.reduces[i]), 0}, totals[i]);
      }
      store_outputs(e, kept);
      if (status.ok()) status = e.status();
      return;
    }

    Value first = b.Mul(b.Sub(unit, b.Mul(row, b.Index(blocks))), b.Index(block));
    // `vectors` vectors of columns from `first` on, `width` columns that exist: the last vector is
    // masked when it is ragged.
    auto columns = [&](int vectors, const Dim& width) {
      std::vector<Value> state;
      for (const Reduction& r : reductions) {
        for (int v = 0; v < vectors; ++v) state.push_back(r.Identity(lanes));
      }
      auto mask_of = [&](int v) {
        const Dim left = width - Dim(int64_t{v} * lanes);
        return left.value_or(0) >= lanes ? Value() : b.MaskUpTo(b.Index(left), lanes);
      };
      auto kept_at = [&](int v) {
        Indices at = kept;
        at.push_back(At(b.Add(first, b.Index(static_cast<int64_t>(v) * lanes)), 1));
        return at;
      };
      const size_t accumulators = state.size();
      for (const Reduction& r : reductions) {
        for (int v = 0; v < vectors; ++v) {
          for (Value part : r.BeginBlocks()) state.push_back(part);
        }
      }
      // after(the LongSum of blocks, the accumulator) for every accumulator of a sum.
      auto for_each_sum = [&](std::vector<Value>& s, auto after) {
        size_t blocks = accumulators;
        for (size_t a = 0; a < accumulators; ++a) {
          if (!reductions[a / vectors].IsSumOfFloats()) continue;
          LongSum sum{s[blocks], s[blocks + 1]};
          after(&sum, &s[a]);
          s[blocks++] = sum.high;
          s[blocks++] = sum.low;
        }
      };
      auto end_block = [&](std::vector<Value> s) {
        for_each_sum(s, [&](LongSum* sum, Value* acc) {
          *sum = Plus(b, *sum, *acc);
          *acc = EmptySum(b, acc->dtype(), lanes).high;
        });
        return s;
      };
      Value ended;
      state = NestLoopsInBlocks(
          b, plan.reduced_sizes, kColumnBlock, std::move(state),
          [&](const std::vector<Value>& loops, std::vector<Value> s) {
            Indices reduced;
            for (Value i : loops) reduced.push_back(At(i));
            for (int v = 0; v < vectors; ++v) {
              e.Clear();
              e.SetMask(mask_of(v));
              for (size_t r = 0; r < reductions.size(); ++r) {
                Value x =
                    e.EmitVector(plan.reduces[r]->operand(0), plan.SpaceIndex(kept_at(v), reduced));
                Value& acc = s[r * vectors + v];
                acc = reductions[r].Combine(acc, x, {});
              }
            }
            return s;
          },
          end_block, &ended);
      auto in_all = [&] {
        std::vector<Value> s = state;
        for_each_sum(s, [&](LongSum* sum, Value* acc) { *acc = Total(b, Plus(b, *sum, *acc)); });
        return s;
      };
      if (ended) state = b.IfElse(ended, in_all, [&] { return state; });
      for (int v = 0; v < vectors; ++v) {
        e.Clear();
        e.SetMask(mask_of(v));
        for (size_t r = 0; r < reductions.size(); ++r) {
          e.BindValue(ir::Value{const_cast<Node*>(plan.reduces[r]), 0},
                      reductions[r].Narrow(state[r * vectors + v]));
        }
        store_outputs(e, kept_at(v));
      }
      for (const Node* r : plan.reduces) e.UnbindValue(ir::Value{const_cast<Node*>(r), 0});
      e.Clear();
    };
    const Dim last = inner - (blocks - Dim(1)) * Dim(block);
    const int most = static_cast<int>(block / lanes);
    if (last == Dim(block)) {
      columns(most, block);
    } else if (blocks == Dim(1)) {
      columns(most, last);
    } else {
      // Of an unknown number of columns, vectors without any are swept in vain, in the last block.
      const int vectors =
          last.is_constant() ? static_cast<int>(CeilDiv(last.value(), lanes)) : most;
      b.If(
          b.Compare("le", b.Add(first, b.Index(block)), b.Index(inner)),
          [&] { columns(most, block); }, [&] { columns(vectors, last); });
    }
    if (status.ok()) status = e.status();
  });
  TEKTITE_RETURN_IF_ERROR(status);
  return result;
}

}  // namespace tektite::cpu
