#include "backends/cpu/onednn/onednn_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/onednn/onednn_library.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Attr;
using ir::Node;
using ir::Op;
using KernelPtr = std::shared_ptr<const backend::Kernel>;

// A chunk takes about so long.
constexpr double kChunkNs = 100000;
constexpr int kLanes = 16;

template <typename T>
using Owned = std::unique_ptr<T, dnnl_status_t (*)(T*)>;
using Description = Owned<dnnl_memory_desc>;
using Primitive = Owned<dnnl_primitive>;

absl::Status Check(dnnl_status_t status, const Node& node, absl::string_view what) {
  if (status == dnnl_success) return absl::OkStatus();
  return Unimplemented(node.Describe(), ": oneDNN's ", what, " returns status ",
                       static_cast<int>(status));
}

// One spatial dimension.
struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, low = 0, high = 0;
};

struct Problem {
  const Node* root = nullptr;
  int64_t images = 1, channels = 1, features = 1;
  double products_per_ns = 1;
  std::vector<Axis> axes;  // outermost first
  double nanoseconds() const {
    double products = static_cast<double>(images * channels * features);
    for (const Axis& a : axes) products *= static_cast<double>(a.out * a.kernel);
    return products / products_per_ns;
  }
};

absl::StatusOr<Problem> ReadProblem(const Node& fusion, const target::TargetInfo& target) {
  Problem p;
  p.root = ops::FindContraction(fusion.region());
  if (p.root == nullptr || p.root->op() != Op::kConvolution) {
    return Unimplemented("oneDNN is used for convolutions alone");
  }
  const Node& node = *p.root;
  const ir::Shape &image = node.operand_shape(0), &kernel = node.operand_shape(1);
  if (target.vector_bytes != 64) return Unimplemented("oneDNN is used with AVX-512 alone");
  if (image.dtype() != ir::DType::kF32 || !image.is_static() || !kernel.is_static() ||
      !node.shape().is_static() || node.shape().num_elements() == 0) {
    return Unimplemented(node.Describe(), ": oneDNN is used for f32 of known sizes");
  }
  TEKTITE_ASSIGN_OR_RETURN(ops::ConvDims dims, ops::GetConvDims(image.rank(), node.attrs()));
  if (dims.feature_groups != 1 || dims.batch_groups != 1) {
    return Unimplemented(node.Describe(), ": oneDNN is not used for groups");
  }
  if (dims.spatial != 3)
    return Unimplemented(node.Describe(), ": oneDNN is used for volumes alone");
  TEKTITE_RETURN_IF_ERROR(GeometryOf(node, dims).status());  // channels last, and no dilated input
  p.products_per_ns = target.vector_fmas_per_ns() * kLanes;
  p.images = image.sizes().front();
  p.channels = image.sizes().back();
  p.features = node.shape().sizes().back();
  for (int i = 0; i < dims.spatial; ++i) {
    p.axes.push_back({image.sizes()[1 + i], node.shape().sizes()[1 + i], kernel.sizes()[i],
                      dims.strides[i], dims.rhs_dilation[i], dims.low[i], dims.high[i]});
  }
  return p;
}

// Output rows [begin, end) of the outermost dimension, and the input rows they read.
struct Block {
  int64_t begin = 0, in_begin = 0;
  Axis axis;
  auto Key() const { return std::tuple(axis.in, axis.out, axis.low, axis.high); }
};

Block BlockOf(const Axis& axis, int64_t begin, int64_t end) {
  Block block;
  block.begin = begin;
  const int64_t first = begin * axis.stride - axis.low;
  const int64_t last = (end - 1) * axis.stride - axis.low + (axis.kernel - 1) * axis.dilation + 1;
  block.in_begin = std::max<int64_t>(first, 0);
  block.axis = axis;
  block.axis.low = std::max<int64_t>(-first, 0);
  block.axis.high = std::max<int64_t>(last - axis.in, 0);
  block.axis.in = std::min(last, axis.in) - block.in_begin;
  block.axis.out = end - begin;
  return block;
}

std::vector<Block> BlocksOf(const Problem& p) {
  const Axis& outer = p.axes.front();
  const double row_ns = p.nanoseconds() / static_cast<double>(p.images * outer.out);
  const auto wanted = static_cast<int64_t>(kChunkNs / std::max(row_ns, 1.0));
  const int64_t count =
      (outer.out + std::max<int64_t>(wanted, 1) - 1) / std::max<int64_t>(wanted, 1);
  const int64_t rows = CeilDiv(outer.out, count);
  std::vector<Block> blocks;
  for (int64_t begin = 0; begin < outer.out; begin += rows) {
    blocks.push_back(BlockOf(outer, begin, std::min(begin + rows, outer.out)));
  }
  return blocks;
}

// oneDNN's name for panels [n / width, k, width] of the weights.
dnnl_format_tag_t PanelTag(int64_t width) {
  constexpr dnnl_format_tag_t kTags[] = {dnnl_Odhwi16o, dnnl_Odhwi32o, dnnl_Odhwi48o,
                                         dnnl_Odhwi64o};
  if (width % 16 != 0 || width < 16 || width > 64) return dnnl_format_tag_undef;
  return kTags[width / 16 - 1];
}

struct Compiled {
  Description image, weights, result, scratch;
  Primitive primitive;
  int64_t panel_width = 0;
};

absl::StatusOr<Description> Describe(const OneDnn& dnn, const Problem& p,
                                     const std::vector<int64_t>& sizes, dnnl_format_tag_t tag) {
  dnnl_dims_t dims = {};
  std::copy(sizes.begin(), sizes.end(), dims);
  dnnl_memory_desc_t made = nullptr;
  TEKTITE_RETURN_IF_ERROR(Check(dnn.dnnl_memory_desc_create_with_tag(
                                    &made, static_cast<int>(sizes.size()), dims, dnnl_f32, tag),
                                *p.root, "description of memory"));
  return Description(made, dnn.dnnl_memory_desc_destroy);
}

// The blocks of weights in the chosen layout: one of output features, as panels have it.
int64_t WidthOf(const OneDnn& dnn, const_dnnl_memory_desc_t weights) {
  int count = 0;
  dnnl_dims_t *sizes = nullptr, *which = nullptr;
  if (dnn.dnnl_memory_desc_query(weights, dnnl_query_inner_nblks_s32, &count) != dnnl_success ||
      dnn.dnnl_memory_desc_query(weights, dnnl_query_inner_blks, &sizes) != dnnl_success ||
      dnn.dnnl_memory_desc_query(weights, dnnl_query_inner_idxs, &which) != dnnl_success ||
      count != 1 || (*which)[0] != 0) {
    return 0;
  }
  return (*sizes)[0];
}

// `width` 0: what oneDNN likes best.
absl::StatusOr<Compiled> CompileBlock(const OneDnn& dnn, const Problem& p, const Block& block,
                                      int64_t width) {
  std::vector<Axis> axes = p.axes;
  axes.front() = block.axis;
  std::vector<int64_t> image = {1, p.channels}, weights = {p.features, p.channels},
                       result = {1, p.features};
  dnnl_dims_t strides = {}, dilations = {}, low = {}, high = {};
  for (size_t i = 0; i < axes.size(); ++i) {
    image.push_back(axes[i].in);
    weights.push_back(axes[i].kernel);
    result.push_back(axes[i].out);
    strides[i] = axes[i].stride;
    dilations[i] = axes[i].dilation - 1;
    low[i] = axes[i].low;
    // Elements that the last window does not reach are no padding to oneDNN.
    high[i] = (axes[i].out - 1) * axes[i].stride + (axes[i].kernel - 1) * axes[i].dilation + 1 -
              axes[i].in - axes[i].low;
  }
  const dnnl_format_tag_t tag = width == 0 ? dnnl_format_tag_any : PanelTag(width);
  TEKTITE_ASSIGN_OR_RETURN(Description image_desc, Describe(dnn, p, image, dnnl_ndhwc));
  TEKTITE_ASSIGN_OR_RETURN(Description weights_desc, Describe(dnn, p, weights, tag));
  TEKTITE_ASSIGN_OR_RETURN(Description result_desc, Describe(dnn, p, result, dnnl_ndhwc));

  dnnl_primitive_attr_t attr = nullptr;
  TEKTITE_RETURN_IF_ERROR(Check(dnn.dnnl_primitive_attr_create(&attr), *p.root, "attributes"));
  const Owned<dnnl_primitive_attr> owned_attr(attr, dnn.dnnl_primitive_attr_destroy);
  TEKTITE_RETURN_IF_ERROR(
      Check(dnn.dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), *p.root,
            "scratch memory"));
  dnnl_primitive_desc_t description = nullptr;
  TEKTITE_RETURN_IF_ERROR(
      Check(dnn.dnnl_convolution_forward_primitive_desc_create(
                &description, dnn.engine, dnnl_forward_inference, dnnl_convolution_direct,
                image_desc.get(), weights_desc.get(), nullptr, result_desc.get(), strides,
                dilations, low, high, attr),
            *p.root, "convolution"));
  const Owned<dnnl_primitive_desc> owned_description(description, dnn.dnnl_primitive_desc_destroy);
  const char* code = "";
  dnn.dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &code);
  if (!absl::StartsWith(code, "brgconv") || !absl::StrContains(code, "avx512")) {
    return Unimplemented(p.root->Describe(), ": oneDNN would use ", code);
  }
  const const_dnnl_memory_desc_t chosen =
      dnn.dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
  const int64_t chosen_width = WidthOf(dnn, chosen);
  const dnnl_format_tag_t chosen_tag = PanelTag(chosen_width);
  if (chosen_tag == dnnl_format_tag_undef) {
    return Unimplemented(p.root->Describe(), ": oneDNN needs its weights in another layout");
  }
  TEKTITE_ASSIGN_OR_RETURN(weights_desc, Describe(dnn, p, weights, chosen_tag));
  const_dnnl_memory_desc_t scratch =
      dnn.dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
  const auto scratch_bytes = static_cast<int64_t>(dnn.dnnl_memory_desc_get_size(scratch));
  TEKTITE_ASSIGN_OR_RETURN(
      Description scratch_desc,
      Describe(dnn, p, {std::max<int64_t>((scratch_bytes + 3) / 4, 1)}, dnnl_a));
  dnnl_primitive_t primitive = nullptr;
  TEKTITE_RETURN_IF_ERROR(
      Check(dnn.dnnl_primitive_create(&primitive, description), *p.root, "primitive"));
  return Compiled{std::move(image_desc),
                  std::move(weights_desc),
                  std::move(result_desc),
                  std::move(scratch_desc),
                  Primitive(primitive, dnn.dnnl_primitive_destroy),
                  chosen_width};
}

class OneDnnConvolution : public backend::HostKernel {
 public:
  // `width` 0: as oneDNN likes it for the block in the middle.
  static absl::StatusOr<std::shared_ptr<OneDnnConvolution>> Create(const Problem& p,
                                                                   int64_t width) {
    const OneDnn* const dnn = OneDnn::Get();
    if (dnn == nullptr) return Unimplemented("no oneDNN: ", OneDnn::WhyNot());
    const OneDnn::OneThread one(*dnn);
    auto kernel = std::make_shared<OneDnnConvolution>(*dnn, p);
    for (const Block& block : kernel->blocks_) {
      if (block.axis.in < 1) {
        return Unimplemented(p.root->Describe(), ": rows that see padding alone");
      }
    }
    if (width == 0) {
      const Block& middle = kernel->blocks_[kernel->blocks_.size() / 2];
      TEKTITE_ASSIGN_OR_RETURN(Compiled compiled, CompileBlock(*dnn, p, middle, 0));
      width = compiled.panel_width;
    }
    for (const Block& block : kernel->blocks_) {
      if (kernel->compiled_.count(block.Key()) > 0) continue;
      TEKTITE_ASSIGN_OR_RETURN(Compiled compiled, CompileBlock(*dnn, p, block, width));
      kernel->config_.scratch_bytes =
          std::max(kernel->config_.scratch_bytes,
                   static_cast<int64_t>(dnn->dnnl_memory_desc_get_size(compiled.scratch.get())));
      kernel->compiled_.emplace(block.Key(), std::move(compiled));
    }
    kernel->panel_width_ = width;
    kernel->config_.num_chunks = p.images * static_cast<int64_t>(kernel->blocks_.size());
    kernel->config_.cost_ns = p.nanoseconds();
    return kernel;
  }

  OneDnnConvolution(const OneDnn& dnn, const Problem& p) : dnn_(dnn), blocks_(BlocksOf(p)) {
    in_row_ = p.channels;
    out_row_ = p.features;
    for (size_t i = 1; i < p.axes.size(); ++i) {
      in_row_ *= p.axes[i].in;
      out_row_ *= p.axes[i].out;
    }
    in_image_ = in_row_ * p.axes.front().in;
    out_image_ = out_row_ * p.axes.front().out;
  }

  void BindBuffers(int image, int weights, int result) {
    image_ = image;
    weights_ = weights;
    result_ = result;
  }
  int64_t panel_width() const { return panel_width_; }
  backend::LaunchConfig Configure(absl::Span<const int64_t>) const override { return config_; }

  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    const OneDnn::OneThread one(dnn_);
    dnnl_stream_t created = nullptr;
    NeedsMemory(dnn_.dnnl_stream_create(&created, dnn_.engine, dnnl_stream_default_flags));
    const Owned<dnnl_stream> stream(created, dnn_.dnnl_stream_destroy);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const auto count = static_cast<int64_t>(blocks_.size());
      const Block& block = blocks_[chunk % count];
      const Compiled& code = compiled_.at(block.Key());
      const int64_t image = chunk / count;
      float* const x =
          static_cast<float*>(frame.buffers[image_]) + image * in_image_ + block.in_begin * in_row_;
      float* const y =
          static_cast<float*>(frame.buffers[result_]) + image * out_image_ + block.begin * out_row_;
      const Argument arguments[] = {
          Argument(dnn_, DNNL_ARG_SRC, code.image, x),
          Argument(dnn_, DNNL_ARG_WEIGHTS, code.weights, frame.buffers[weights_]),
          Argument(dnn_, DNNL_ARG_DST, code.result, y),
          Argument(dnn_, DNNL_ARG_SCRATCHPAD, code.scratch, frame.scratch)};
      dnnl_exec_arg_t passed[std::size(arguments)];
      for (size_t i = 0; i < std::size(arguments); ++i) passed[i] = arguments[i].passed();
      NeedsMemory(dnn_.dnnl_primitive_execute(code.primitive.get(), stream.get(), std::size(passed),
                                              passed));
    }
  }

 private:
  // What oneDNN makes when it runs are some bytes around buffers that are there.
  static void NeedsMemory(dnnl_status_t status) {
    if (status != dnnl_success) throw std::bad_alloc();
  }

  class Argument {
   public:
    Argument(const OneDnn& dnn, int which, const Description& description, void* data)
        : which_(which), memory_(nullptr, dnn.dnnl_memory_destroy) {
      dnnl_memory_t memory = nullptr;
      NeedsMemory(dnn.dnnl_memory_create(&memory, description.get(), dnn.engine, data));
      memory_.reset(memory);
    }
    dnnl_exec_arg_t passed() const { return {which_, memory_.get()}; }

   private:
    int which_;
    Owned<dnnl_memory> memory_;
  };

  const OneDnn& dnn_;
  const std::vector<Block> blocks_;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, Compiled> compiled_;
  backend::LaunchConfig config_;
  int64_t panel_width_ = 0;
  int64_t in_row_, out_row_, in_image_, out_image_;  // elements
  int image_ = 0, weights_ = 1, result_ = 2;
};

}  // namespace

absl::StatusOr<KernelPtr> MakeOneDnnKernel(const Node& contraction,
                                           const target::TargetInfo& target) {
  TEKTITE_ASSIGN_OR_RETURN(const Problem p, ReadProblem(contraction, target));
  const ir::Graph& region = contraction.region();
  if (region.outputs().size() != 1 || region.outputs()[0].node != p.root ||
      p.root->operand(0).node->op() != Op::kParameter) {
    return Unimplemented(p.root->Describe(), ": oneDNN computes nothing else in its kernel");
  }
  if (!contraction.attrs().Has(Attr::rhs_packed)) {
    return Unimplemented(p.root->Describe(), ": oneDNN is used with packed weights alone");
  }
  TEKTITE_ASSIGN_OR_RETURN(auto kernel,
                           OneDnnConvolution::Create(p, contraction.Int(Attr::rhs_packed)));
  kernel->BindBuffers(ops::ParameterIndex(p.root->operand(0)),
                      ops::ParameterIndex(p.root->operand(1)), region.num_parameters());
  return kernel;
}

absl::StatusOr<int64_t> OneDnnPanelWidth(const Node& fusion, const target::TargetInfo& target) {
  TEKTITE_ASSIGN_OR_RETURN(const Problem p, ReadProblem(fusion, target));
  TEKTITE_ASSIGN_OR_RETURN(const auto kernel, OneDnnConvolution::Create(p, 0));
  return kernel->panel_width();
}

}  // namespace tektite::cpu
