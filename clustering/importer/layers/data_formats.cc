// Dimension numbers and lists of sizes, from one order of an image's dimensions to another: what
// TensorFlow's layout optimizer puts around ops of which it changes the order.
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

struct Orders {
  std::string from, to;
};

// Each letter of one order must be once in the other.
absl::StatusOr<Orders> RequireOrders(const NodeImport& op) {
  Orders orders{std::string(op.attrs().String("src_format", "NHWC")),
                std::string(op.attrs().String("dst_format", "NCHW"))};
  const bool equal = orders.from.size() == orders.to.size();
  for (size_t i = 0; equal && i < orders.to.size(); ++i) {
    if (orders.from.find(orders.to[i]) == std::string::npos ||
        orders.from.find(orders.from[i]) != i || orders.to.find(orders.to[i]) != i) {
      return op.Refuse("formats ", orders.from, " and ", orders.to);
    }
  }
  if (!equal || orders.from.empty()) return op.Refuse("formats of other lengths");
  return orders;
}

}  // namespace

// The number that each dimension has in the other order; negative ones count from the end.
absl::Status ImportDataFormatDimMap(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Orders orders, RequireOrders(op));
  const int64_t rank = static_cast<int64_t>(orders.from.size());
  const auto is_inside = [&](int64_t number) { return number >= -rank && number < rank; };
  const auto place = [&](int64_t number) {
    return static_cast<int64_t>(orders.to.find(orders.from[number < 0 ? number + rank : number]));
  };
  if (op.HasContents(0) && op.KnownAll(0, is_inside)) {
    TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, op.RequireInts(0));
    Dims mapped;
    for (const int64_t number : numbers) mapped.push_back(Dim(place(number)));
    return op.ReturnContents(op.InputDType(0), op.InputDims(0), mapped);
  }
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  const auto is = [&](int64_t number) {
    return b.Compare(x, b.FullLike(x, static_cast<double>(number)), "eq");
  };
  Value result = b.FullLike(x, static_cast<double>(place(0)));
  Value known = b.Binary(Op::kOr, is(0), is(-rank));
  for (int64_t number = 1; number < rank; ++number) {
    Value hit = b.Binary(Op::kOr, is(number), is(number - rank));
    result = b.Select(hit, b.FullLike(x, static_cast<double>(place(number))), result);
    known = b.Binary(Op::kOr, known, hit);
  }
  op.Check(known);  // TensorFlow reads beside its table
  return op.Return(result);
}

// A size or a pair of paddings for each dimension, or for the spatial ones alone.
absl::Status ImportDataFormatVecPermute(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Orders orders, RequireOrders(op));
  const Dims dims = op.InputDims(0);
  const bool is_pairs = dims.size() == 2;
  if (dims.empty() || dims.size() > 2 || !dims[0].is_constant() ||
      (is_pairs && dims[1] != Dim(2))) {
    return op.Refuse("input of shape ", op.InputShape(0).ToString());
  }
  if (dims[0].value() + 2 == static_cast<int64_t>(orders.from.size())) {
    for (std::string* order : {&orders.from, &orders.to}) {
      for (const char letter : {'N', 'C'}) {
        const size_t at = order->find(letter);
        if (at == std::string::npos) return op.Refuse("no dimension ", std::string(1, letter));
        order->erase(at, 1);
      }
    }
  }
  const size_t count = orders.from.size();
  if (dims[0] != Dim(static_cast<int64_t>(count))) return op.Refuse("another number of sizes");
  if (op.HasContents(0)) {
    TEKTITE_ASSIGN_OR_RETURN(const Dims elements, op.RequireContents(0));
    const size_t each = is_pairs ? 2 : 1;
    Dims permuted;
    for (size_t i = 0; i < count * each; ++i) {
      permuted.push_back(elements[orders.from.find(orders.to[i / each]) * each + i % each]);
    }
    return op.ReturnContents(op.InputDType(0), dims, permuted);
  }
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  std::vector<Value> parts;
  for (const char letter : orders.to) {
    const int64_t at = static_cast<int64_t>(orders.from.find(letter));
    parts.push_back(b.SliceDim(x, 0, Dim(at), Dim(at + 1)));
  }
  return op.Return(b.Concatenate(parts, 0));
}

}  // namespace tektite::importer
