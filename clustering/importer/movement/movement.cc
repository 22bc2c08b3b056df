#include "clustering/importer/movement/movement.h"

#include <algorithm>
#include <set>
#include <string>

#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"
#include "clustering/importer/movement/positions.h"

namespace tektite::importer {
namespace {

// The value with every symbol 1.
int64_t AtOnes(const Dim& d) {
  std::set<std::string> symbols;
  d.CollectSymbols(&symbols);
  ir::SymbolMap ones;
  for (const std::string& symbol : symbols) ones[symbol] = Dim(1);
  return d.Substitute(ones).value_or(0);
}

// If `product` is a whole multiple of the product of some of `factors`, takes these away and gives
// the multiple; otherwise 0.
int64_t TakeFactors(const Dim& product, Dims* factors) {
  constexpr size_t kMost = 8;  // ranks are small, so all subsets are few
  for (unsigned subset = 1; factors->size() <= kMost && subset < 1u << factors->size(); ++subset) {
    Dim chosen(1);
    Dims rest;
    for (size_t i = 0; i < factors->size(); ++i) {
      if ((subset >> i) & 1) {
        chosen = chosen * (*factors)[i];
      } else {
        rest.push_back((*factors)[i]);
      }
    }
    int64_t unit = AtOnes(chosen), multiple = unit == 0 ? 0 : AtOnes(product) / unit;
    if (multiple < 1 || Dim(multiple) * chosen != product) continue;
    *factors = rest;
    return multiple;
  }
  return 0;
}

// The size that makes the elements come out even: old dimensions over new ones, those with symbols
// cancelled first, so that they divide exactly.  Where a new one is 0, TensorFlow leaves zeros out
// of both: [5,0] as [-1,0] has 5 rows.
Dim SolveUnknown(Dims from, Dims to) {
  if (const auto zeros = std::remove(to.begin(), to.end(), Dim(0)); zeros != to.end()) {
    to.erase(zeros, to.end());
    from.erase(std::remove(from.begin(), from.end(), Dim(0)), from.end());
  }
  Dim rest(1);
  for (const Dim& d : to) {
    int64_t multiple = d.is_constant() ? 0 : TakeFactors(d, &from);
    rest = rest * (multiple > 0 ? Dim(multiple) : d);
  }
  Dim all = ProductOf(from, 0, static_cast<int>(from.size()));
  return rest == Dim(1) ? all : ir::FloorDiv(all, rest);
}

// That sizes of a new shape are not 0 where only a call tells, as SolveUnknown takes them: but for
// those that are old ones, too.
void AssumeNotEmpty(FuncBuilder& b, Dims from, const Dims& to) {
  for (const Dim& d : to) {
    const auto same = std::find(from.begin(), from.end(), d);
    if (same != from.end()) {
      from.erase(same);
    } else if (!d.is_constant()) {
      b.AssumeAtMost(Dim(1), d);
    }
  }
}

}  // namespace

Dim ProductOf(const Dims& dims, int begin, int end) {
  Dim product(1);
  for (int i = begin; i < end; ++i) product = product * dims[i];
  return product;
}

absl::StatusOr<Dims> ReshapeDims(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, op.RequireContents(1));
  auto unknown = std::find(dims.begin(), dims.end(), Dim(-1));
  const Dims& from = op.InputDims(0);
  if (unknown != dims.end()) {
    Dims known = dims;
    known.erase(known.begin() + (unknown - dims.begin()));
    const bool is_empty = std::find(known.begin(), known.end(), Dim(0)) != known.end();
    for (const Dim& d : from) {
      if (is_empty && !d.is_constant()) return op.Refuse("whether ", d.ToString(), " is 0");
    }
    *unknown = SolveUnknown(from, known);
    AssumeNotEmpty(op.b(), from, known);
  }
  Dim before = ProductOf(from, 0, static_cast<int>(from.size()));
  Dim after = ProductOf(dims, 0, static_cast<int>(dims.size()));
  for (const Dim& d : dims) {
    if (d.is_constant() && d.value() < 0) return op.Refuse("size ", d.value(), " in the new shape");
  }
  if (ops::ProvablyDifferent(before, after)) {
    return op.Refuse(before.ToString(), " elements do not fit a shape of ", after.ToString());
  }
  return dims;
}

absl::StatusOr<Dims> SqueezeDims(const NodeImport& op) {
  const Dims& from = op.InputDims(0);
  std::vector<bool> drop(from.size(), false);
  std::vector<int64_t> axes = op.Ints("squeeze_dims");
  for (int64_t axis : axes) {
    TEKTITE_ASSIGN_OR_RETURN(int i, op.NormalizeAxis(axis, op.InputRank(0)));
    if (from[i].is_constant() && from[i].value() != 1) {
      return op.Refuse("dimension ", i, " has size ", from[i].value(), ", not 1");
    }
    drop[i] = true;
  }
  Dims dims;
  for (size_t i = 0; i < from.size(); ++i) {
    if (axes.empty() && !from[i].is_constant()) {
      return op.Refuse("the result's rank depends on size ", from[i].ToString());
    }
    if (axes.empty() ? from[i] != Dim(1) : !drop[i]) dims.push_back(from[i]);
  }
  return dims;
}

absl::StatusOr<Dims> ExpandedDims(const NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(1, op.InputRank(0) + 1));
  Dims dims = op.InputDims(0);
  dims.insert(dims.begin() + axis, Dim(1));
  return dims;
}

absl::StatusOr<std::vector<int64_t>> RequirePermutation(const NodeImport& op) {
  const int rank = op.InputRank(0);
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> order, op.RequireAxes(1, rank));
  if (static_cast<int>(order.size()) != rank) {
    return op.Refuse("a permutation of ", order.size(), " for rank ", rank);
  }
  for (auto axis = order.begin(); axis != order.end(); ++axis) {
    if (std::find(order.begin(), axis, *axis) != axis) {
      return op.Refuse("dimension ", *axis, " twice in a permutation");
    }
  }
  return order;
}

absl::Status ImportReshape(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, ReshapeDims(op));
  return op.Return(op.b().Reshape(op.Input(0), dims));
}

absl::Status ImportSqueeze(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, SqueezeDims(op));
  return op.ReturnRows(op.b().Reshape(op.Input(0), dims), op.Rows(0));
}

absl::Status ImportExpandDims(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, ExpandedDims(op));
  return op.Return(op.b().Reshape(op.Input(0), dims));
}

absl::Status ImportTranspose(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> permutation, RequirePermutation(op));
  if (std::is_sorted(permutation.begin(), permutation.end())) return op.Forward(0);
  return op.Return(op.b().Transpose(op.Input(0), permutation));
}

absl::Status ImportConcat(NodeImport& op) {
  bool axis_first = op.op() == "Concat";
  int axis_at = axis_first ? 0 : op.num_inputs() - 1;
  std::vector<Value> parts =
      axis_first ? op.Inputs(1, op.num_inputs()) : op.Inputs(0, op.num_inputs() - 1);
  if (parts.empty() || !parts[0]) return op.Refuse("nothing to concatenate");
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(axis_at, parts[0].shape().rank()));
  return op.Return(parts.size() == 1 ? parts[0] : op.b().Concatenate(parts, axis));
}

absl::Status ImportPack(NodeImport& op) {
  if (op.num_inputs() == 0) return op.Refuse("nothing to pack");
  TEKTITE_ASSIGN_OR_RETURN(int axis,
                           op.NormalizeAxis(op.attrs().Int("axis", 0), op.InputRank(0) + 1));
  std::vector<Value> parts;
  for (int i = 0; i < op.num_inputs(); ++i) {
    Dims dims = op.InputDims(i);
    if (static_cast<int>(dims.size()) != op.InputRank(0)) return op.Refuse("ranks differ");
    dims.insert(dims.begin() + axis, Dim(1));
    parts.push_back(op.b().Reshape(op.Input(i), dims));
  }
  return op.Return(parts.size() == 1 ? parts[0] : op.b().Concatenate(parts, axis));
}

absl::Status ImportTile(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims multiples, op.RequireContents(1));
  const Dims& from = op.InputDims(0);
  if (multiples.size() != from.size()) return op.Refuse("as many multiples as dimensions, please");
  // [a, b] -> [m, a, n, b] -> [m*a, n*b]; a dimension that is not repeated stays as it is.
  Dims spread, result;
  std::vector<int64_t> places;
  for (size_t i = 0; i < from.size(); ++i) {
    if (multiples[i] != Dim(1)) spread.push_back(multiples[i]);
    places.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(from[i]);
    result.push_back(multiples[i] * from[i]);
  }
  if (spread.size() == from.size()) return op.Forward(0);
  return op.Return(op.b().Reshape(op.b().BroadcastInDim(op.Input(0), spread, places), result));
}

absl::Status ImportBroadcastTo(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, op.RequireContents(1));
  return op.Return(op.b().BroadcastTo(op.Input(0), dims));
}

absl::Status ImportReverse(NodeImport& op) {
  std::vector<int64_t> axes;
  if (op.op() == "ReverseV2") {
    TEKTITE_ASSIGN_OR_RETURN(axes, op.RequireAxes(1, op.InputRank(0)));
  } else {  // one bool per dimension
    const std::optional<Literal>& flags = op.InputInfo(1).literal;
    if (!flags) return op.Refuse("input 1 must be known when code is made");
    for (int64_t i = 0; i < flags->num_elements(); ++i) {
      if (flags->AsInt(i) != 0) axes.push_back(i);
    }
  }
  if (axes.empty()) return op.Forward(0);
  return op.Return(op.b().Reverse(op.Input(0), axes));
}

namespace {

// x shifted along one dimension by a number of elements that is data.
Value Rolled(NodeImport& op, Value x, int axis, Value shift) {
  FuncBuilder& b = op.b();
  const Dim& n = x.shape().dim(axis);
  const Value size = op.DimValue(n, DType::kS64), zero = b.Scalar(DType::kS64, 0);
  Value rest = b.Binary(Op::kRem, shift, b.Max(size, b.Scalar(DType::kS64, 1)));
  rest = b.Select(b.Compare(rest, zero, "lt"), b.Add(rest, size), rest);
  const Value place = b.Sub(b.Iota(DType::kS64, {n}, 0), rest);
  const Value source =
      b.SelectImplicit(b.CompareImplicit(place, zero, "lt"), b.Add(place, size), place);
  std::vector<int64_t> offsets;
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (i != axis) offsets.push_back(i);
  }
  return Gather(b, x, source, {axis}, offsets, 1);
}

}  // namespace

absl::Status ImportRoll(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> axes, op.RequireAxes(2, op.InputRank(0)));
  if (op.InputShape(1).NumElements() != Dim(static_cast<int64_t>(axes.size()))) {
    return op.Refuse("shift and axis differ in length");
  }
  Value x = op.Input(0);
  const absl::StatusOr<std::vector<int64_t>> shifts = op.RequireInts(1);
  if (!shifts.ok()) {
    for (size_t i = 0; x && i < axes.size(); ++i) {
      TEKTITE_ASSIGN_OR_RETURN(const Position shift, PositionOf(op, 1, static_cast<int64_t>(i)));
      x = Rolled(op, x, static_cast<int>(axes[i]), ValueOf(op, shift));
    }
    return op.Return(x);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    int axis = static_cast<int>(axes[i]);
    Dim n = op.InputDims(0)[axis];
    Dim split = n - ir::Mod(Dim((*shifts)[i]), n);
    if (n == Dim(0) || split == n) continue;
    Value head = op.b().SliceDim(x, axis, split, n);
    x = op.b().Concatenate({head, op.b().SliceDim(x, axis, Dim(0), split)}, axis);
  }
  return op.Return(x);
}

// NHWC: [n, h*s, w*s, c] <-> [n, h, w, s*s*c], through [n, h, s, w, s, c].
absl::Status ImportDepthSpace(NodeImport& op) {
  int64_t s = op.attrs().Int("block_size", 0);
  absl::string_view format = op.attrs().String("data_format", "NHWC");
  if (format != "NHWC" || op.InputRank(0) != 4) return op.Refuse("format ", format);
  if (s < 1) return op.Refuse("block size ", s);
  const Dims& d = op.InputDims(0);
  FuncBuilder& b = op.b();
  if (op.op() == "DepthToSpace") {
    Dim depth = ir::FloorDiv(d[3], Dim(s) * Dim(s));
    Value x = b.Reshape(op.Input(0), {d[0], d[1], d[2], Dim(s), Dim(s), depth});
    x = b.Transpose(x, {0, 1, 3, 2, 4, 5});
    return op.Return(b.Reshape(x, {d[0], d[1] * Dim(s), d[2] * Dim(s), depth}));
  }
  Dim height = ir::FloorDiv(d[1], Dim(s)), width = ir::FloorDiv(d[2], Dim(s));
  Value x = b.Reshape(op.Input(0), {d[0], height, Dim(s), width, Dim(s), d[3]});
  x = b.Transpose(x, {0, 1, 3, 2, 4, 5});
  return op.Return(b.Reshape(x, {d[0], height, width, Dim(s) * Dim(s) * d[3]}));
}

absl::Status ImportInvertPermutation(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> permutation, op.RequireInts(0));
  int64_t n = static_cast<int64_t>(permutation.size());
  Dims inverse(permutation.size(), Dim(-1));
  for (int64_t i = 0; i < n; ++i) {
    int64_t to = permutation[i];
    if (to < 0 || to >= n || inverse[to] != Dim(-1)) return op.Refuse("not a permutation");
    inverse[to] = Dim(i);
  }
  return op.ReturnContents(op.InputDType(0), {Dim(n)}, inverse);
}

}  // namespace tektite::importer
