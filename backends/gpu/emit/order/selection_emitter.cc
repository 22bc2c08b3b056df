// compact, nonzero and is_member.
//
// The rows that count are found first (mask_places.h); then each thread collects an element of
// them.  What lies behind them is left as it is.
//
// Limits: is_member compares each element with each member.
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/order/mask_places.h"
#include "backends/gpu/emit/phases.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/reducer.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

class SelectionEmitter {
 public:
  SelectionEmitter(const Node& root, Phases* phases) : root_(root), phases_(*phases) {}

  void Run() {
    if (root_.op() == Op::kIsMember) {
      return phases_.Add([&](Builder& b) { EmitIsMember(b); });
    }
    const Dims& sizes = root_.operand_shape(0).dims();
    MaskPlaces places(&phases_, Product(sizes));
    places.AddPhases([&](Builder& b, Value at) {
      return phases_.Read(b, root_.operand(0), IndexOf(b, at, sizes));
    });
    phases_.Add([&](Builder& b) {
      if (root_.op() == Op::kCompact) {
        EmitRows(b, places);
      } else {
        EmitPlaces(b, places);
      }
    });
  }

 private:
  static Indices IndexOf(Builder& b, Value linear, const Dims& sizes) {
    Indices at;
    for (Value v : loop::Delinearize(b, linear, sizes)) at.push_back(loop::At(v));
    return at;
  }

  // `elements`, each of which a thread takes, and one more that stores the count.
  void ForEachAndCount(Builder& b, const MaskPlaces& places, const Dim& elements,
                       absl::FunctionRef<void(Value at)> body) {
    ForEachThread(b, elements + Dim(1), [&](Value at) {
      if (const Value count = phases_.Result(b, root_, 1)) {
        b.If(b.Compare("eq", at, b.Index(elements)),
             [&] { b.Store(count, b.Index(0), places.Count(b)); });
      }
      b.If(b.Compare("lt", at, b.Index(elements)), [&] { body(at); });
    });
  }

  void EmitRows(Builder& b, const MaskPlaces& places) {
    const Dims& sizes = root_.operand_shape(1).dims();
    const Dim width = Product(Dims(sizes.begin() + 1, sizes.end()));
    const Value rows = phases_.Result(b, root_, 0);
    ForEachAndCount(b, places, rows ? Product(sizes) : Dim(0), [&](Value at) {
      const Value row = b.Div(at, b.Index(width));
      b.If(b.Compare("lt", row, places.Count(b)), [&] {
        const Value rest = b.Sub(at, b.Mul(row, b.Index(width)));
        const Value from = b.Add(b.Mul(places.Place(b, row), b.Index(width)), rest);
        b.Store(rows, at, phases_.Read(b, root_.operand(1), IndexOf(b, from, sizes)));
      });
    });
  }

  void EmitPlaces(Builder& b, const MaskPlaces& places) {
    const Dims& sizes = root_.operand_shape(0).dims();
    const auto rank = static_cast<int64_t>(sizes.size());
    const Value to = phases_.Result(b, root_, 0);
    ForEachAndCount(b, places, to ? Product(sizes) : Dim(0), [&](Value row) {
      b.If(b.Compare("lt", row, places.Count(b)), [&] {
        const Values place = loop::Delinearize(b, places.Place(b, row), sizes);
        for (int64_t d = 0; d < rank; ++d) {
          b.Store(to, b.Add(b.Mul(row, b.Index(rank)), b.Index(d)), place[static_cast<size_t>(d)]);
        }
      });
    });
  }

  void EmitIsMember(Builder& b) {
    const DType wide = loop::AccumulatorOf(root_.operand_shape(0).dtype());
    const auto read = [&](int operand, Value at) {
      return b.Convert(phases_.Read(b, root_.operand(operand), {loop::At(at)}), wide);
    };
    ForEachThread(b, Product(root_.shape().dims()), [&](Value at) {
      const Value x = read(0, at), members = b.Index(root_.operand_shape(1).dim(0));
      const Value found = b.For(b.Index(0), members, 1, {b.Int(DType::kBool, 0)},
                                [&](Value i, absl::Span<const Value> carried) {
                                  return Values{b.Or(carried[0], b.Compare("eq", x, read(1, i)))};
                                })[0];
      b.Store(phases_.Result(b, root_, 0), at, found);
    });
  }

  const Node& root_;
  Phases& phases_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitSelection(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* root, RootOp(fusion.region()));
  if (root->op() != Op::kCompact && root->op() != Op::kNonzero && root->op() != Op::kIsMember) {
    return Unimplemented("no compact, nonzero or is_member");
  }
  Phases phases(fusion, name);
  SelectionEmitter(*root, &phases).Run();
  return phases.Take();
}

}  // namespace tektite::gpu
