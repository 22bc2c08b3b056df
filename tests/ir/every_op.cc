#include "tests/ir/every_op.h"

#include "absl/strings/str_cat.h"
#include "jit/ir/op.h"

namespace tektite::testing {
namespace {

// Elementwise ops follow from the op list.
std::string Elementwise() {
  std::string text;
  for (int i = 0; i < ir::kNumOps; ++i) {
    const ir::OpInfo& info = ir::GetOpInfo(static_cast<ir::Op>(i));
    const bool integer = info.name == "not" || info.name == "popcnt" || info.name == "and" ||
                         info.name == "or" || info.name == "xor" ||
                         info.name.substr(0, 5) == "shift";
    const char* in = integer ? "s32[n,3]" : "f32[n,3]";
    if (info.family == ir::OpFamily::unary) {
      const char* out = info.op == ir::Op::kIsFinite ? "bool[n,3]" : in;
      absl::StrAppend(&text, "graph @", info.name, "(%x: ", in, ") -> (", out, ") {\n  %1: ", out,
                      " = ", info.name, "(%x)\n  return %1\n}\n");
    } else if (info.family == ir::OpFamily::binary && info.op != ir::Op::kCompare) {
      absl::StrAppend(&text, "graph @", info.name, "(%x: ", in, ", %y: ", in, ") -> (", in,
                      ") {\n  %2: ", in, " = ", info.name, "(%x, %y)\n  return %2\n}\n");
    }
  }
  return text;
}

constexpr char kOthers[] = R"(
graph @compare(%x: bf16[n], %y: bf16[n]) -> (bool[n]) {
  %2: bool[n] = compare(%x, %y) {direction = "le"}
  return %2
}
graph @clamp(%0: s8[4], %1: s8[4], %2: s8[4]) -> (s8[4]) {
  %3: s8[4] = clamp(%0, %1, %2)
  return %3
}
graph @select(%0: bool[2,n], %1: u16[2,n], %2: u16[2,n]) -> (u16[2,n]) {
  %3: u16[2,n] = select(%0, %1, %2)
  return %3
}
graph @convert(%0: f64[n]) -> (s32[n], f16[n]) {
  %1: s32[n] = convert(%0) {dtype = s32}
  %2: f16[n] = convert(%0) {dtype = f16}
  %3: s32[n] = bitcast(%1) {dtype = s32}
  return %3, %2
}
graph @broadcast_in_dim(%x: f32[n,1]) -> (f32[5,n,7]) {
  %1: f32[5,n,7] = broadcast_in_dim(%x) {dimensions = [1, 2], shape = (5, n, 7)}
  return %1
}
graph @concatenate(%x: s64[n,2], %y: s64[m,2]) -> (s64[m + 2*n,2]) {
  %2: s64[m + 2*n,2] = concatenate(%x, %y, %x) {dimension = 0}
  return %2
}
graph @constant() -> (f32[3], f64[], bool[0,4]) {
  %0: f32[3] = constant() {value = f32[3]{1, -inf, nan:0000c07f}}
  %1: f64[] = constant() {value = f64[]{0.10000000000000001}}
  %2: bool[0,4] = constant() {value = bool[0,4]{}}
  return %0, %1, %2
}
graph @dynamic_slice(%x: f32[n,4], %i: s32[], %j: s32[]) -> (f32[2,4]) {
  %3: f32[2,4] = dynamic_slice(%x, %i, %j) {sizes = (2, 4)}
  return %3
}
graph @dynamic_update_slice(%x: f32[n,4], %u: f32[1,2], %i: s64[], %j: s64[]) -> (f32[n,4]) {
  %4: f32[n,4] = dynamic_update_slice(%x, %u, %i, %j)
  return %4
}
graph @iota(%x: f32[n]) -> (s32[3,n]) {
  %1: s32[3,n] = iota() {dimension = 1, dtype = s32, shape = (3, n)}
  return %1
}
graph @pad(%x: f32[n,4], %v: f32[]) -> (f32[n + 3,9]) {
  %2: f32[n + 3,9] = pad(%x, %v) {high = [2, 3], interior = [0, 1], low = [1, -1]}
  return %2
}
graph @reshape(%x: f32[n,4]) -> (f32[2*n,2]) {
  %1: f32[2*n,2] = reshape(%x) {shape = (2*n, 2)}
  return %1
}
graph @reverse(%x: f32[n,4]) -> (f32[n,4]) {
  %1: f32[n,4] = reverse(%x) {dimensions = [1]}
  return %1
}
graph @slice(%x: f32[n,4]) -> (f32[n,2]) {
  %1: f32[n,2] = slice(%x) {limits = (n, 4), starts = (0, 1), strides = [1, 2]}
  return %1
}
graph @transpose(%x: f32[n,4,2]) -> (f32[2,n,4]) {
  %1: f32[2,n,4] = transpose(%x) {permutation = [2, 0, 1]}
  return %1
}
graph @gather(%x: f32[9,d], %i: s32[n,1]) -> (f32[n,d]) {
  %2: f32[n,d] = gather(%x, %i) {collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], slice_sizes = (1, d), start_index_map = [0]}
  return %2
}
graph @scatter(%x: f32[9,d], %i: s32[n,1], %u: f32[n,d]) -> (f32[9,d]) {
  %3: f32[9,d] = scatter(%x, %i, %u) {collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], reducer = "add", scatter_dims_to_operand_dims = [0]}
  return %3
}
graph @update_rows(%w: f32[9,d], %m: f32[9,d], %i: s32[n], %g: f32[n,d], %rate: f32[]) -> (f32[9,d], f32[9,d]) {
  %5:2 : (f32[9,d], f32[9,d]) = update_rows(%w, %m, %i, %g, %rate)
    graph @rule(%0: f32[], %1: f32[], %2: f32[], %3: f32[]) -> (f32[], f32[]) {
      %4: f32[] = add(%1, %2)
      %5: f32[] = mul(%3, %4)
      %6: f32[] = sub(%0, %5)
      return %6, %4
    }
  return %5#0, %5#1
}
graph @reduce(%x: f32[n,4]) -> (f32[n]) {
  %1: f32[n] = reduce(%x) {dimensions = [1], reducer = "add"} "model/Sum"
  return %1
}
graph @reduce_by_region(%x: f32[n,4], %y: s32[n,4], %a: f32[], %b: s32[]) -> (f32[n], s32[n]) {
  %4:2 : (f32[n], s32[n]) = reduce(%x, %y, %a, %b) {dimensions = [1]}
    graph @sum(%0: f32[], %1: s32[], %2: f32[], %3: s32[]) -> (f32[], s32[]) {
      %4: f32[] = add(%0, %2)
      %5: s32[] = max(%1, %3)
      return %4, %5
    }
  return %4#0, %4#1
}
graph @reduce_window(%x: f32[b,8,8,3]) -> (f32[b,4,4,3]) {
  %1: f32[b,4,4,3] = reduce_window(%x) {high = [0, 1, 1, 0], reducer = "max", strides = [1, 2, 2, 1], window = [1, 3, 3, 1]}
  return %1
}
graph @select_and_scatter(%x: f32[b,4], %s: f32[b,2]) -> (f32[b,4]) {
  %2: f32[b,4] = select_and_scatter(%x, %s) {strides = [1, 2], window = [1, 2]}
  return %2
}
graph @cumulative(%x: f32[n,4]) -> (f32[n,4]) {
  %1: f32[n,4] = cumulative(%x) {dimension = 1, exclusive = true, reducer = "add", reverse = false}
  return %1
}
graph @convolution(%x: f32[b,8,8,4], %k: f32[3,3,2,6]) -> (f32[b,4,4,6]) {
  %2: f32[b,4,4,6] = convolution(%x, %k) {feature_group_count = 2, high = [1, 1], input_layout = "b01f", kernel_layout = "01io", low = [0, 0], output_layout = "b01f", strides = [2, 2]}
  return %2
}
graph @dot_general(%x: f32[b,n,4], %w: f32[b,4,m]) -> (f32[b,n,m]) {
  %2: f32[b,n,m] = dot_general(%x, %w) {lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [1]}
  return %2
}
graph @sort(%x: f32[n,5], %y: s32[n,5]) -> (f32[n,5], s32[n,5]) {
  %2:2 : (f32[n,5], s32[n,5]) = sort(%x, %y) {descending = true, dimension = 1}
  return %2#0, %2#1
}
graph @top_k(%x: f32[n,5]) -> (f32[n,2], s32[n,2]) {
  %1:2 : (f32[n,2], s32[n,2]) = top_k(%x) {k = 2}
  return %1#0, %1#1
}
graph @selection(%m: bool[n], %x: f32[n,3], %k: s64[n]) -> (f32[n,3], s64[n,1], s64[n], s32[n], s64[]) {
  %3:2 : (f32[n,3], s64[]) = compact(%m, %x)
  %4:2 : (s64[n,1], s64[]) = nonzero(%m)
  %5:4 : (s64[n], s32[n], s32[n], s64[]) = unique(%k) {dtype = s32}
  %6: bool[n] = is_member(%k, %5#0)
  return %3#0, %4#0, %5#0, %5#1, %5#3
}
graph @suppression(%b: f32[n,4], %s: f32[n], %m: s32[], %o: f32[]) -> (s32[n], f32[n], s64[]) {
  %4:3 : (s32[n], f32[n], s64[]) = non_max_suppression(%b, %s, %m, %o, %o, %o) {shape = (n)}
  return %4#0, %4#1, %4#2
}
graph @spectrum(%x: f32[n,6]) -> (f32[n,6], f32[n,4], f32[n,6]) {
  %1:2 : (f32[n,4], f32[n,4]) = real_fft(%x) {dimension = 1}
  %2: f32[n,6] = inverse_real_fft(%1#0, %1#1) {dimension = 1, shape = (6)}
  %3:2 : (f32[n,6], f32[n,6]) = fft(%x, %2) {dimension = 0, inverse = true}
  return %3#0, %1#1, %3#1
}
graph @matrix(%x: f32[n,3,3], %y: f32[n,3,2]) -> (bool[n], f32[n,3,2], f32[n,3,3], f32[n,3]) {
  %2:2 : (f32[n,3,3], bool[n]) = cholesky(%x)
  %3:2 : (f32[n,3,2], bool[n]) = triangular_solve(%2#0, %y) {lower = true, transpose_a = false}
  %4:2 : (f32[n,3,2], bool[n]) = solve(%x, %3#0)
  %5:2 : (f32[n,3,2], bool[n]) = tridiagonal_solve(%x, %4#0) {pivots = true}
  %6:3 : (f32[n,3,2], f32[n,2,2], bool[n]) = qr(%5#0) {full = false}
  %7:3 : (f32[n,3], f32[n,3,3], bool[n]) = eigh(%x) {vectors = true}
  %8:4 : (f32[n,3], f32[n,3,3], f32[n,3,3], bool[n]) = svd(%x) {full = true, vectors = true}
  return %8#3, %6#0, %7#1, %8#0
}
graph @structure(%x: f32[n], %p: bool[]) -> (f32[n], f32[n], bool[]) {
  %2: f32[n] = call(%x)
    graph @body(%0: f32[n]) -> (f32[n]) {
      return %0
    }
  %3: f32[n] = conditional(%p, %2)
    graph @then(%0: f32[n]) -> (f32[n]) {
      %1: f32[n] = neg(%0)
      return %1
    }
    graph @else(%0: f32[n]) -> (f32[n]) {
      return %0
    }
  %4: f32[n] = fusion(%3) {kind = loop} "fused"
    graph @fused(%0: f32[n]) -> (f32[n]) {
      %1: f32[n] = abs(%0)
      return %1
    }
  %5:2 : (f32[n], bool[]) = while(%4, %p)
    graph @condition(%0: f32[n], %1: bool[]) -> (bool[]) {
      return %1
    }
    graph @body(%0: f32[n], %1: bool[]) -> (f32[n], bool[]) {
      %2: bool[] = constant() {value = bool[]{false}}
      return %0, %2
    }
  return %4, %5#0, %5#1
}
graph @size_value(%x: f32[n]) -> (s64[2]) {
  %1: s64[2] = size_value() {sizes = (n, 2*n)}
  return %1
}
)";

}  // namespace

const std::string& EveryOpText() {
  static const std::string& text = *new std::string(absl::StrCat(Elementwise(), kOthers));
  return text;
}

}  // namespace tektite::testing
