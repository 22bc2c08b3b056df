#include "bench/kernels/workloads.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"

namespace tektite::bench {
namespace {

Workload Gemm(int m, int k, int n) {
  Workload w;
  w.name = absl::StrCat("gemm_", m, "x", k, "x", n);
  auto text = [&](const std::string& rows) {
    return absl::Substitute(
        "graph @f(%x: f32[$0,$1], %w: f32[$1,$2] {weight = true}) -> (f32[$0,$2]) {\n"
        "  %0: f32[$0,$2] = dot_general(%x, %w) {lhs_batch = [], lhs_contracting = [1], "
        "rhs_batch = [], rhs_contracting = [0]}\n"
        "  return %0\n}\n",
        rows, k, n);
  };
  w.text = text(absl::StrCat(m));
  w.any_rows = text("n");
  w.rows = m;
  w.flops = 2.0 * m * k * n;
  w.bytes =
      4.0 * (static_cast<double>(m) * k + static_cast<double>(k) * n + static_cast<double>(m) * n);
  return w;
}

// Epilogues of a product %1 of [$0, $1] in registers: swish, and GELU as TensorFlow writes it.
constexpr char kSwish[] = R"(  %2: f32[$0,$1] = logistic(%1)
  %3: f32[$0,$1] = mul(%1, %2)
  return %3
}
)";
constexpr char kGelu[] = R"(  %2: f32[] = constant() {value = f32[]{-0.707106769}}
  %3: f32[$0,$1] = broadcast_in_dim(%2) {dimensions = [], shape = ($0, $1)}
  %4: f32[$0,$1] = mul(%1, %3)
  %5: f32[$0,$1] = erfc(%4)
  %6: f32[] = constant() {value = f32[]{0.5}}
  %7: f32[$0,$1] = broadcast_in_dim(%6) {dimensions = [], shape = ($0, $1)}
  %8: f32[$0,$1] = mul(%1, %7)
  %9: f32[$0,$1] = mul(%8, %5)
  return %9
}
)";

Workload GemmWith(const std::string& name, const char* epilogue, int m, int k, int n) {
  Workload w;
  w.name = absl::StrCat("gemm_", name, "_", m, "x", k, "x", n);
  w.text = absl::Substitute(
      "graph @f(%x: f32[$0,$1], %w: f32[$1,$2] {weight = true}, %b: f32[$2]) -> (f32[$0,$2]) {\n"
      "  %p: f32[$0,$2] = dot_general(%x, %w) {lhs_batch = [], lhs_contracting = [1], "
      "rhs_batch = [], rhs_contracting = [0]}\n"
      "  %0: f32[$0,$2] = broadcast_in_dim(%b) {dimensions = [1], shape = ($0, $2)}\n"
      "  %1: f32[$0,$2] = add(%p, %0)\n",
      m, k, n);
  w.text += absl::Substitute(epilogue, m, n);
  w.flops = 2.0 * m * k * n;
  return w;
}

// A dense layer's gradient: both sides are contracted over their first dimension, the batch.
Workload GemmOfGradient(int m, int k, int n) {
  Workload w;
  w.name = absl::StrCat("gemm_gradient_", m, "x", k, "x", n);
  w.text = absl::Substitute(
      "graph @f(%x: f32[$1,$0], %y: f32[$1,$2]) -> (f32[$0,$2]) {\n"
      "  %0: f32[$0,$2] = dot_general(%x, %y) {lhs_batch = [], lhs_contracting = [0], "
      "rhs_batch = [], rhs_contracting = [0]}\n"
      "  return %0\n}\n",
      m, k, n);
  w.flops = 2.0 * m * k * n;
  return w;
}

// [batch, m, k] x [batch, k, n], or the right-hand side as [batch, n, k].
std::string BatchMatMulText(int batch, const std::string& m, const std::string& k,
                            const std::string& n, bool transposed) {
  const std::string rhs =
      transposed ? absl::StrCat(batch, ",", n, ",", k) : absl::StrCat(batch, ",", k, ",", n);
  return absl::Substitute(
      "graph @f(%x: f32[$0,$1,$2], %y: f32[$4]) -> (f32[$0,$1,$3]) {\n"
      "  %0: f32[$0,$1,$3] = dot_general(%x, %y) {lhs_batch = [0], lhs_contracting = [2], "
      "rhs_batch = [0], rhs_contracting = [$5]}\n"
      "  return %0\n}\n",
      batch, m, k, n, rhs, transposed ? 2 : 1);
}

// As code for any m, and for any size of k or n that is the same: attention's length.
Workload BatchMatMul(int batch, int m, int k, int n, bool transposed) {
  Workload w;
  w.name = absl::StrCat(transposed ? "bmm_nt_" : "bmm_nn_", batch, "x", m, "x", k, "x", n);
  const auto any = [m](int size) { return size == m ? "n" : absl::StrCat(size); };
  w.text = BatchMatMulText(batch, absl::StrCat(m), absl::StrCat(k), absl::StrCat(n), transposed);
  w.any_rows = BatchMatMulText(batch, "n", any(k), any(n), transposed);
  w.rows = m;
  w.flops = 2.0 * batch * m * k * n;
  return w;
}

// A decoding step: one query of each head against a cache of keys, [n, k], or of values, [k, n]; as
// code for a cache of any length.
Workload OneQuery(int heads, int length, int width, bool keys) {
  const int k = keys ? width : length, n = keys ? length : width;
  Workload w = BatchMatMul(heads, 1, k, n, keys);
  w.name = absl::StrCat(keys ? "query_keys_" : "query_values_", heads, "x", length, "x", width);
  w.any_rows =
      BatchMatMulText(heads, "1", keys ? absl::StrCat(k) : "n", keys ? "n" : absl::StrCat(n), keys);
  w.rows = length;
  return w;
}

// The gradient of a 3x3 filter of `out` features for a batch of images with `in` channels.
Workload FilterGradient(int batch, int size, int in, int out) {
  Workload w;
  w.name = absl::StrCat("filter_gradient_", batch, "x", size, "x", size, "x", in, "x", out);
  const auto text = [&](const std::string& images) {
    return absl::Substitute(
        "graph @f(%x: f32[$0,$1,$1,$2], %y: f32[$0,$1,$1,$3]) -> (f32[3,3,$2,$3]) {\n"
        "  %0: f32[3,3,$2,$3] = convolution(%x, %y) {input_layout = \"f01b\", "
        "kernel_layout = \"i01o\", output_layout = \"01bf\", low = [1, 1], high = [1, 1]}\n"
        "  return %0\n}\n",
        images, size, in, out);
  };
  w.text = text(absl::StrCat(batch));
  w.any_rows = text("n");
  w.rows = batch;
  w.flops = 2.0 * 9 * batch * size * size * in * out;
  return w;
}

// [1, length, heads, width] operands and result, as the projections around it leave and want them.
constexpr char kAttention[] =
    R"(graph @f(%q: f32[1,$0,$1,$2], %k: f32[1,$3,$1,$2], %v: f32[1,$3,$1,$2]) -> (f32[1,$0,$1,$2]) {
  %0: f32[1,$1,$0,$3] = dot_general(%q, %k) {lhs_batch = [0, 2], lhs_contracting = [3], rhs_batch = [0, 2], rhs_contracting = [3]}
  %1: f32[] = constant() {value = f32[]{0.125}}
  %2: f32[1,$1,$0,$3] = broadcast_in_dim(%1) {dimensions = [], shape = (1, $1, $0, $3)}
  %3: f32[1,$1,$0,$3] = mul(%0, %2)
  %4: f32[1,$1,$0] = reduce(%3) {dimensions = [3], reducer = "max"}
  %5: f32[1,$1,$0,$3] = broadcast_in_dim(%4) {dimensions = [0, 1, 2], shape = (1, $1, $0, $3)}
  %6: f32[1,$1,$0,$3] = sub(%3, %5)
  %7: f32[1,$1,$0,$3] = exp(%6)
  %8: f32[1,$1,$0] = reduce(%7) {dimensions = [3], reducer = "add"}
  %9: f32[1,$1,$0,$3] = broadcast_in_dim(%8) {dimensions = [0, 1, 2], shape = (1, $1, $0, $3)}
  %10: f32[1,$1,$0,$3] = div(%7, %9)
  %11: f32[1,$1,$0,$2] = dot_general(%10, %v) {lhs_batch = [0, 1], lhs_contracting = [3], rhs_batch = [0, 2], rhs_contracting = [1]}
  %12: f32[1,$0,$1,$2] = transpose(%11) {permutation = [0, 2, 1, 3]}
  return %12
}
)";

Workload Attention(int heads, int rows, int keys, int width) {
  Workload w;
  w.name = absl::StrCat("attention_", heads, "x", rows, "x", keys, "x", width);
  w.text = absl::Substitute(kAttention, rows, heads, width, keys);
  w.any_rows =
      absl::Substitute(kAttention, "n", heads, width, rows == keys ? "n" : absl::StrCat(keys));
  w.rows = rows;
  w.flops = 4.0 * heads * rows * keys * width;
  return w;
}

constexpr char kConvolution[] =
    "graph @f(%x: f32[$9,$0,$0,$1], %w: f32[$2,$2,$3,$4] {weight = true}) -> "
    "(f32[$9,$5,$5,$4]) {\n"
    "  %0: f32[$9,$5,$5,$4] = convolution(%x, %w) {batch_group_count = 1, "
    "feature_group_count = $6, high = [$7, $7], input_layout = \"b01f\", "
    "kernel_layout = \"01io\", lhs_dilation = [1, 1], low = [$7, $7], "
    "output_layout = \"b01f\", rhs_dilation = [1, 1], strides = [$8, $8]}\n"
    "  return %0\n}\n";

Workload Convolution(int size, int in, int out, int kernel, int stride, bool depthwise = false,
                     int images = 1) {
  Workload w;
  const int pad = (kernel - 1) / 2;
  const int result = (size + 2 * pad - kernel) / stride + 1;
  w.name = absl::StrCat(depthwise ? "depthwise" : "conv", kernel, "x", kernel, "_", size, "_", in,
                        "_", out, stride > 1 ? "_s2" : "", images > 1 ? "_x" : "",
                        images > 1 ? absl::StrCat(images) : "");
  const auto text = [&](const std::string& batch) {
    return absl::Substitute(kConvolution, size, in, kernel, depthwise ? 1 : in, out, result,
                            depthwise ? in : 1, pad, stride, batch);
  };
  w.text = text(absl::StrCat(images));
  w.any_rows = text("n");
  w.rows = images;
  w.flops = 2.0 * images * result * result * kernel * kernel * out * (depthwise ? 1 : in);
  w.bytes = 4.0 * images *
            (static_cast<double>(size) * size * in + static_cast<double>(result) * result * out);
  if (depthwise) w.flops = 0;
  return w;
}

Workload Rows(const std::string& name, const std::string& body, int rows, int columns) {
  Workload w;
  w.name = absl::StrCat(name, "_", rows, "x", columns);
  w.text = absl::Substitute(body, rows, columns);
  w.any_rows = absl::Substitute(body, "n", columns);
  w.rows = rows;
  w.bytes = 8.0 * rows * columns;
  return w;
}

// As it comes from TensorFlow, which divides by multiplying.
constexpr char kSoftmax[] = R"(graph @f(%x: f32[$0,$1]) -> (f32[$0,$1]) {
  %0: f32[$0] = reduce(%x) {dimensions = [1], reducer = "max"}
  %1: f32[$0,$1] = broadcast_in_dim(%0) {dimensions = [0], shape = ($0, $1)}
  %2: f32[$0,$1] = sub(%x, %1)
  %3: f32[$0,$1] = exp(%2)
  %4: f32[$0] = reduce(%3) {dimensions = [1], reducer = "add"}
  %5: f32[] = constant() {value = f32[]{1}}
  %6: f32[$0] = broadcast_in_dim(%5) {dimensions = [], shape = ($0)}
  %7: f32[$0] = div(%6, %4)
  %8: f32[$0,$1] = broadcast_in_dim(%7) {dimensions = [0], shape = ($0, $1)}
  %9: f32[$0,$1] = mul(%3, %8)
  return %9
}
)";

constexpr char kLayerNorm[] =
    R"(graph @f(%x: f32[$0,$1], %g: f32[$1], %b: f32[$1]) -> (f32[$0,$1]) {
  %0: f32[$0] = reduce(%x) {dimensions = [1], reducer = "add"}
  %1: f32[] = constant() {value = f32[]{0.0009765625}}
  %2: f32[$0] = broadcast_in_dim(%1) {dimensions = [], shape = ($0)}
  %3: f32[$0] = mul(%0, %2)
  %4: f32[$0,$1] = broadcast_in_dim(%3) {dimensions = [0], shape = ($0, $1)}
  %5: f32[$0,$1] = sub(%x, %4)
  %6: f32[$0,$1] = mul(%5, %5)
  %7: f32[$0] = reduce(%6) {dimensions = [1], reducer = "add"}
  %8: f32[$0] = mul(%7, %2)
  %9: f32[] = constant() {value = f32[]{0.00001}}
  %10: f32[$0] = broadcast_in_dim(%9) {dimensions = [], shape = ($0)}
  %11: f32[$0] = add(%8, %10)
  %12: f32[$0] = rsqrt(%11)
  %13: f32[$0,$1] = broadcast_in_dim(%12) {dimensions = [0], shape = ($0, $1)}
  %14: f32[$0,$1] = mul(%5, %13)
  %15: f32[$0,$1] = broadcast_in_dim(%g) {dimensions = [1], shape = ($0, $1)}
  %16: f32[$0,$1] = mul(%14, %15)
  %17: f32[$0,$1] = broadcast_in_dim(%b) {dimensions = [1], shape = ($0, $1)}
  %18: f32[$0,$1] = add(%16, %17)
  return %18
}
)";

constexpr char kBiasGelu[] = R"(graph @f(%x: f32[$0,$1], %b: f32[$1]) -> (f32[$0,$1]) {
  %0: f32[$0,$1] = broadcast_in_dim(%b) {dimensions = [1], shape = ($0, $1)}
  %1: f32[$0,$1] = add(%x, %0)
  %2: f32[] = constant() {value = f32[]{0.707106769}}
  %3: f32[$0,$1] = broadcast_in_dim(%2) {dimensions = [], shape = ($0, $1)}
  %4: f32[$0,$1] = mul(%1, %3)
  %5: f32[$0,$1] = erf(%4)
  %6: f32[] = constant() {value = f32[]{1}}
  %7: f32[$0,$1] = broadcast_in_dim(%6) {dimensions = [], shape = ($0, $1)}
  %8: f32[$0,$1] = add(%5, %7)
  %9: f32[$0,$1] = mul(%1, %8)
  return %9
}
)";

Workload InBFloat16(Workload w) {
  w.name += "_bf16";
  for (std::string* text : {&w.text, &w.any_rows}) absl::StrReplaceAll({{"f32", "bf16"}}, text);
  w.bytes /= 2;
  return w;
}

}  // namespace

std::vector<Workload> AllWorkloads() {
  std::vector<Workload> all = {
      Gemm(512, 768, 768),
      Gemm(128, 768, 768),
      Gemm(128, 768, 3072),
      Gemm(128, 3072, 768),
      Gemm(560, 256, 256),
      Gemm(560, 256, 1024),
      Gemm(560, 1024, 256),
      Gemm(1, 768, 3072),
      Gemm(1, 768, 50257),
      Gemm(1, 2048, 1000),
      Gemm(4, 1024, 1024),
      Gemm(3136, 64, 64),
      Gemm(3136, 64, 256),
      Gemm(784, 512, 128),
      Gemm(196, 1024, 256),
      Gemm(49, 2048, 512),
      Gemm(12544, 16, 96),
      Gemm(3136, 144, 24),
      Gemm(12544, 32, 16),
      Gemm(49, 320, 1280),
      GemmWith("swish", kSwish, 12544, 16, 96),
      GemmWith("gelu", kGelu, 196, 192, 768),
      GemmWith("gelu", kGelu, 1024, 256, 1024),
      GemmOfGradient(1024, 128, 1024),
      GemmOfGradient(256, 1024, 1024),
      GemmOfGradient(1024, 1024, 256),
      GemmOfGradient(256, 1024, 256),
      GemmOfGradient(256, 12544, 128),
      GemmOfGradient(384, 3136, 1536),
      GemmOfGradient(1536, 3136, 384),
      BatchMatMul(12, 1, 64, 256, true),
      BatchMatMul(12, 1, 256, 64, false),
      BatchMatMul(12, 128, 64, 128, true),
      BatchMatMul(12, 128, 128, 64, false),
      BatchMatMul(64, 64, 64, 64, true),
      BatchMatMul(64, 64, 64, 64, false),
      BatchMatMul(1, 128, 1024, 1024, true),
      BatchMatMul(1, 128, 1024, 1024, false),
      BatchMatMul(1, 1024, 256, 256, true),
      BatchMatMul(1, 1024, 256, 256, false),
      BatchMatMul(1, 1024, 256, 1024, true),
      BatchMatMul(1, 1024, 256, 1024, false),
      BatchMatMul(1, 1024, 1024, 256, true),
      BatchMatMul(1, 1024, 1024, 256, false),
      OneQuery(12, 256, 64, true),
      OneQuery(12, 256, 64, false),
      Attention(12, 128, 128, 64),
      Attention(16, 128, 128, 64),
      Attention(3, 197, 197, 64),
      Attention(12, 1024, 1024, 64),
      Attention(4, 4096, 4096, 64),
      Convolution(56, 64, 64, 3, 1),
      Convolution(28, 128, 128, 3, 1),
      Convolution(14, 256, 256, 3, 1),
      Convolution(7, 512, 512, 3, 1),
      Convolution(14, 256, 256, 3, 1, /*depthwise=*/false, /*images=*/8),
      Convolution(7, 512, 512, 3, 1, /*depthwise=*/false, /*images=*/8),
      FilterGradient(8, 56, 64, 64),
      FilterGradient(8, 28, 128, 128),
      FilterGradient(8, 14, 256, 256),
      FilterGradient(8, 7, 512, 512),
      Convolution(224, 3, 64, 7, 2),
      Convolution(224, 3, 32, 3, 2),
      Convolution(112, 32, 32, 3, 1, true),
      Convolution(14, 576, 576, 3, 1, true),
      InBFloat16(Gemm(128, 768, 768)),
      InBFloat16(Gemm(512, 768, 768)),
      InBFloat16(Gemm(560, 1024, 256)),
      InBFloat16(Gemm(2048, 512, 2048)),
      InBFloat16(Gemm(2048, 2048, 512)),
      InBFloat16(Gemm(3136, 64, 64)),
      InBFloat16(GemmOfGradient(1024, 128, 1024)),
      InBFloat16(GemmOfGradient(512, 2048, 2048)),
      InBFloat16(BatchMatMul(128, 128, 64, 128, true)),
      InBFloat16(BatchMatMul(128, 128, 128, 64, false)),
      InBFloat16(Convolution(56, 64, 64, 3, 1)),
      InBFloat16(Convolution(32, 64, 64, 3, 1, /*depthwise=*/false, /*images=*/16)),
      InBFloat16(Convolution(14, 256, 256, 3, 1, /*depthwise=*/false, /*images=*/8)),
      InBFloat16(Convolution(8, 256, 256, 3, 1, /*depthwise=*/false, /*images=*/16)),
      InBFloat16(FilterGradient(8, 28, 128, 128)),
      InBFloat16(FilterGradient(16, 8, 256, 256)),
      Rows("softmax", kSoftmax, 512, 1024),
      Rows("softmax", kSoftmax, 2364, 197),
      Rows("layer_norm", kLayerNorm, 512, 1024),
      Rows("bias_gelu", kBiasGelu, 512, 1024),
  };
  return all;
}

}  // namespace tektite::bench
