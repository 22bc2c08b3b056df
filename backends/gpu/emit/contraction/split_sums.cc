#include "backends/gpu/emit/contraction/split_sums.h"

#include <algorithm>
#include <vector>

#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/root_epilogue.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

namespace {

// Terms of a slice at least: some microseconds of a block, as much as the second launch takes.  On
// an H200 a block that is alone on its multiprocessor took 0.8 us for 16 terms.
constexpr int64_t kFewestTerms = 192;
// Blocks of a multiprocessor that have room at once.
constexpr int64_t kBlocksAtOnce = 2;

}  // namespace

int64_t ChooseSlices(const Dim& blocks, const Dim& k) {
  const int64_t room =
      kBlocksAtOnce * kManyBlocks / std::max<int64_t>(blocks.value_or(kManyBlocks), 1);
  return std::max<int64_t>(std::min(room, k.value_or(0) / kFewestTerms), 1);
}

SliceSums::SliceSums(loop::Builder* builder, const ContractionView& view, int64_t slices,
                     DType dtype)
    : b_(*builder),
      batch_(Product(view.batch())),
      m_(Product(view.m())),
      n_(Product(view.n())),
      dtype_(dtype),
      scratch_(b_.AllocateScratch(dtype, Dim(slices) * batch_ * m_ * n_)) {}

Value SliceSums::At(Value slice, Value batch, Value row, Value column) const {
  const Value of_batch = b_.Add(b_.Mul(slice, b_.Index(batch_)), batch);
  const Value of_row = b_.Add(b_.Mul(of_batch, b_.Index(m_)), row);
  return b_.Add(b_.Mul(of_row, b_.Index(n_)), column);
}

int64_t SliceSums::lanes() const {
  const int64_t lanes = kVectorBytes / ir::DTypeBytes(dtype_);
  return Mod(n_, lanes) == Dim(0) ? lanes : 1;
}

absl::Status EmitSliceSums(const ir::Graph& region, const ContractionView& view, int64_t slices,
                           DType dtype, loop::Kernel* kernel) {
  loop::Builder b(kernel);
  const SliceSums sums(&b, view, slices, dtype);
  const int64_t lanes = std::min(sums.lanes(), ResultLanes(region, view, sums.lanes()));
  const Dim batch = Product(view.batch()), m = Product(view.m());
  const Dim vectors = FloorDiv(Product(view.n()), lanes);
  absl::Status status;
  ForEachThread(b, batch * m * vectors, [&](Value at) {
    const Values place = loop::Delinearize(b, at, {batch, m, vectors});
    const Value column = b.Mul(place[2], b.Index(lanes));
    Value sum;
    for (int64_t slice = 0; slice < slices; ++slice) {
      const Value part =
          b.Load(sums.scratch(), dtype, sums.At(b.Index(slice), place[0], place[1], column),
                 static_cast<int>(lanes));
      sum = sum ? b.Add(sum, part) : part;
    }
    ContractionIndex index;
    index.batch = SplitIndex(b, place[0], view.batch());
    index.m = SplitIndex(b, place[1], view.m());
    index.n = SplitIndex(b, column, view.n(), lanes);
    status = StoreSumAt(b, region, view, index, sum, lanes);
  });
  return status;
}

}  // namespace tektite::gpu
