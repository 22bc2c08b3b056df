#include "tests/gpu/fake_cudnn/fake_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "jit/ir/dtype.h"
#include "tests/gpu/fake_driver/fake_driver.h"

extern "C" const tektite::testing::FakeDriver* fake_driver_controls();

namespace tektite::gpu::fake {
namespace {

using Sizes = std::vector<int64_t>;

size_t ElementBytes(int type) { return type == kDnnF32 ? 4 : 2; }

// To 10 bits after the point.
float Rounded(float value) {
  if (!std::isfinite(value)) return value;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

// Goes through all indices of `sizes`; false behind the last one.
bool Next(const Sizes& sizes, Sizes* at) {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (++(*at)[i] < sizes[i]) return true;
    (*at)[i] = 0;
  }
  return false;
}

// Row-major.
size_t Place(const Tensor& tensor, const Sizes& at) {
  int64_t place = 0;
  for (size_t i = 0; i < at.size(); ++i) place = place * tensor.sizes[i] + at[i];
  return static_cast<size_t>(place);
}

Sizes PixelsOf(const Tensor& tensor) {
  Sizes pixels;
  for (size_t i = 2; i < tensor.sizes.size(); ++i) pixels.push_back(tensor.sizes[i]);
  return pixels;
}

}  // namespace

float Load(const void* data, int64_t i, int type) {
  switch (type) {
    case kDnnF16:
      return static_cast<float>(static_cast<const ir::Half*>(data)[i]);
    case kDnnBF16:
      return static_cast<float>(static_cast<const ir::BFloat16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

void Store(void* data, int64_t i, float value, int type) {
  switch (type) {
    case kDnnF16:
      static_cast<ir::Half*>(data)[i] = ir::Half(value);
      return;
    case kDnnBF16:
      static_cast<ir::BFloat16*>(data)[i] = ir::BFloat16(value);
      return;
    default:
      static_cast<float*>(data)[i] = value;
  }
}

int64_t Offset(const Tensor& tensor, const Sizes& at) {
  return std::inner_product(at.begin(), at.end(), tensor.strides.begin(), int64_t{0});
}

Tensor Tensor::Of(const DnnDescriptorObject& descriptor) {
  Tensor tensor;
  tensor.type = descriptor.Get<int>(kDnnTensorType);
  tensor.id = descriptor.Get<int64_t>(kDnnTensorId);
  tensor.is_virtual = descriptor.Get<bool>(kDnnTensorIsVirtual);
  tensor.is_value = descriptor.Get<bool>(kDnnTensorIsByValue);
  tensor.sizes = descriptor.All<int64_t>(kDnnTensorDimensions);
  tensor.strides = descriptor.All<int64_t>(kDnnTensorStrides);
  return tensor;
}

int64_t Tensor::elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

size_t Tensor::bytes() const {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return static_cast<size_t>(last + 1) * ElementBytes(type);
}

bool Graph::Of(const std::vector<DnnDescriptor>& operations, Graph* graph) {
  struct Names {
    int operation, convolution, image, filter, result, alpha, beta;
  };
  static constexpr Names kNames[] = {
      {kDnnForwardOperation, kDnnForwardConvolution, kDnnForwardX, kDnnForwardW, kDnnForwardY,
       kDnnForwardAlpha, kDnnForwardBeta},
      {kDnnBackwardDataOperation, kDnnBackwardDataConvolution, kDnnBackwardDataDx,
       kDnnBackwardDataW, kDnnBackwardDataDy, kDnnBackwardDataAlpha, kDnnBackwardDataBeta},
      {kDnnBackwardFilterOperation, kDnnBackwardFilterConvolution, kDnnBackwardFilterX,
       kDnnBackwardFilterDw, kDnnBackwardFilterDy, kDnnBackwardFilterAlpha,
       kDnnBackwardFilterBeta}};
  if (operations.empty()) return false;
  const DnnDescriptorObject& operation = *operations[0];
  const Names* const names =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [&](const Names& some) { return some.operation == operation.kind; });
  if (names == std::end(kNames) || operation.Get<float>(names->alpha) != 1 ||
      operation.Get<float>(names->beta) != 0 || !operation.Has(names->beta)) {
    return false;
  }
  Graph& g = *graph;
  g.operation = operation.kind;
  g.image = Tensor::Of(*operation.Get<DnnDescriptor>(names->image));
  g.filter = Tensor::Of(*operation.Get<DnnDescriptor>(names->filter));
  g.result = Tensor::Of(*operation.Get<DnnDescriptor>(names->result));
  const auto& convolution = *operation.Get<DnnDescriptor>(names->convolution);
  g.is_flipped = convolution.Get<int>(kDnnConvolutionMode) == kDnnFlippedConvolution;
  g.strides = convolution.All<int64_t>(kDnnConvolutionStrides);
  g.dilations = convolution.All<int64_t>(kDnnConvolutionDilations);
  g.low = convolution.All<int64_t>(kDnnConvolutionPre);
  g.high = convolution.All<int64_t>(kDnnConvolutionPost);
  const Sizes &x = g.image.sizes, &w = g.filter.sizes, &y = g.result.sizes;
  const auto pixels = static_cast<size_t>(convolution.Get<int64_t>(kDnnConvolutionSpatial));
  if (convolution.Get<int>(kDnnConvolutionType) != kDnnF32 || x.size() != pixels + 2 ||
      w.size() != x.size() || y.size() != x.size() || x[0] != y[0] || w[0] != y[1] ||
      x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0) {
    return false;
  }
  for (size_t i = 0; i < pixels; ++i) {
    const int64_t reach = (w[i + 2] - 1) * g.dilations[i] + 1;
    const int64_t padded = x[i + 2] + g.low[i] + g.high[i];
    if (g.low[i] < 0 || g.high[i] < 0 || padded < reach ||
        (padded - reach) / g.strides[i] + 1 != y[i + 2]) {
      return false;
    }
  }
  g.output = g.operation == kDnnForwardOperation        ? g.result.id
             : g.operation == kDnnBackwardDataOperation ? g.image.id
                                                        : g.filter.id;
  return operations.size() == 1;
}

int Graph::Run(const std::map<int64_t, uint64_t>& addresses, bool rounds_to_tf32) const {
  const auto& driver = *fake_driver_controls();
  const bool is_forward = operation == kDnnForwardOperation;
  const Tensor& written = is_forward                               ? result
                          : operation == kDnnBackwardDataOperation ? image
                                                                   : filter;
  const auto reach = [&](int64_t id, const Tensor& tensor) {
    const auto it = addresses.find(id);
    return it == addresses.end() ? nullptr : driver.reach(it->second, tensor.bytes());
  };
  const auto read = [&](const Tensor& tensor, const void* from) {
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    Sizes at(tensor.sizes.size());
    do {
      const float value = Load(from, Offset(tensor, at), tensor.type);
      values[Place(tensor, at)] = rounds_to_tf32 ? Rounded(value) : value;
    } while (Next(tensor.sizes, &at));
    return values;
  };
  void* const to = reach(output, written);
  if (to == nullptr) return kCuIllegalAddress;
  std::vector<float> values[3];  // image, filter, result
  const Tensor* const tensors[] = {&image, &filter, &result};
  for (int i = 0; i < 3; ++i) {
    values[i].resize(static_cast<size_t>(tensors[i]->elements()), 0);
    if (tensors[i] == &written) continue;
    const void* const from = reach(tensors[i]->id, *tensors[i]);
    if (from == nullptr) return kCuIllegalAddress;
    values[i] = read(*tensors[i], from);
  }
  // Every product that there is: of a result's pixel, a tap, and a channel of the feature's group.
  const int64_t group_features = filter.sizes[0] / (image.sizes[1] / filter.sizes[1]);
  const Sizes window = PixelsOf(filter);
  Sizes y(result.sizes.size());
  do {
    Sizes tap(window.size());
    do {
      Sizes x(image.sizes.size()), w(filter.sizes.size());
      x[0] = y[0];
      w[0] = y[1];
      bool is_inside = true;
      for (size_t i = 0; i < window.size(); ++i) {
        x[i + 2] = y[i + 2] * strides[i] - low[i] + tap[i] * dilations[i];
        w[i + 2] = is_flipped ? window[i] - 1 - tap[i] : tap[i];
        is_inside = is_inside && x[i + 2] >= 0 && x[i + 2] < image.sizes[i + 2];
      }
      if (!is_inside) continue;
      for (w[1] = 0; w[1] < filter.sizes[1]; ++w[1]) {
        x[1] = y[1] / group_features * filter.sizes[1] + w[1];
        float* const terms[] = {&values[0][Place(image, x)], &values[1][Place(filter, w)],
                                &values[2][Place(result, y)]};
        if (&written == &image) *terms[0] += *terms[1] * *terms[2];
        if (&written == &filter) *terms[1] += *terms[0] * *terms[2];
        if (&written == &result) *terms[2] += *terms[0] * *terms[1];
      }
    } while (Next(window, &tap));
  } while (Next(result.sizes, &y));
  const std::vector<float>& computed = values[is_forward ? 2 : (&written == &image ? 0 : 1)];
  Sizes at(written.sizes.size());
  do {
    Store(to, Offset(written, at), computed[Place(written, at)], written.type);
  } while (Next(written.sizes, &at));
  return kCuSuccess;
}

}  // namespace tektite::gpu::fake
