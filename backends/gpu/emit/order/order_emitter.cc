// sort and top_k: lines of entries (sort_key.h) are put in order (line_sorter.h), and then each
// thread collects what belongs to its entry.
//
// Limits: no epilogue; along other dimensions than the innermost neighbours are far apart.
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/order/line_sorter.h"
#include "backends/gpu/emit/phases.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::gpu {
namespace {

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;

class OrderEmitter {
 public:
  OrderEmitter(const Node& root, Phases* phases)
      : root_(root),
        phases_(*phases),
        is_sort_(root.op() == Op::kSort),
        dimension_(is_sort_ ? root.Int(Attr::dimension) : root.operand_shape(0).rank() - 1),
        key_(root.operand_shape(0).dtype(), !is_sort_ || root.Bool(Attr::descending)) {
    const Dims& sizes = root.operand_shape(0).dims();
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (static_cast<int64_t>(d) != dimension_) others_.push_back(sizes[d]);
    }
    const Dim& length = sizes[static_cast<size_t>(dimension_)];
    lines_ = {Product(others_), length, is_sort_ ? length : Dim(root.Int(Attr::k))};
  }

  absl::Status Run() {
    if (lines_.length.value_or(0) > kMostElements) {
      return Unimplemented(root_.Describe(), ": lines of more than 2^31 elements");
    }
    LineSorter sorter(&phases_, key_, lines_);
    sorter.AddPhases(
        [&](Builder& b, Value line, Value at) {
          return key_.Entry(b, phases_.Read(b, root_.operand(0), At(b, line, at)), at);
        },
        [&](Builder& b, Value line, Value at, const EntryOrder::Values& entry) {
          Collect(b, line, at, key_.Index(b, entry));
        });
    return absl::OkStatus();
  }

 private:
  Indices At(Builder& b, Value line, Value at) const {
    Indices index;
    for (Value v : loop::Delinearize(b, line, others_)) index.push_back(loop::At(v));
    index.insert(index.begin() + dimension_, loop::At(at));
    return index;
  }

  // The results' elements `to`, which are what is at `from`.
  void Collect(Builder& b, Value line, Value to, Value from) {
    const Indices source = At(b, line, from), target = At(b, line, to);
    for (int i = 0; i < root_.num_results(); ++i) {
      const Value buffer = phases_.Result(b, root_, i);
      if (!buffer) continue;
      const bool is_place = !is_sort_ && i == 1;
      const Value v =
          is_place ? b.Convert(from, DType::kS32) : phases_.Read(b, root_.operand(i), source);
      loop::ElementEmitter(&b, 1).StoreAt(buffer, root_.shape(i), target, v);
    }
  }

  const Node& root_;
  Phases& phases_;
  const bool is_sort_;
  const int64_t dimension_;
  const SortKey key_;
  Dims others_;
  LineSorter::Lines lines_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitOrder(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* root, RootOp(fusion.region()));
  if (root->op() != Op::kSort && root->op() != Op::kTopK) return Unimplemented("no sort or top_k");
  if (root->op() == Op::kTopK && root->Bool(Attr::heap)) return Unimplemented("top_k of a heap");
  Phases phases(fusion, name);
  TEKTITE_RETURN_IF_ERROR(OrderEmitter(*root, &phases).Run());
  return phases.Take();
}

}  // namespace tektite::gpu
