// The descriptors of the stand-in for cuDNN, and what a graph of them computes.
#ifndef TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_GRAPH_H_
#define TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_GRAPH_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "backends/gpu/cudnn/cudnn_types.h"

namespace tektite::gpu {

struct DnnDescriptorObject {
  struct Attribute {
    int type = 0;
    int64_t count = 0;
    std::string bytes;
  };
  int kind = 0;
  bool is_final = false;
  std::map<int, Attribute> attributes;

  bool Has(int attribute) const { return attributes.count(attribute) > 0; }
  // 0 for what was not set.
  template <typename T>
  T Get(int attribute) const {
    const auto it = attributes.find(attribute);
    T value{};
    if (it != attributes.end()) std::memcpy(&value, it->second.bytes.data(), sizeof(T));
    return value;
  }
  template <typename T>
  std::vector<T> All(int attribute) const {
    const auto it = attributes.find(attribute);
    if (it == attributes.end()) return {};
    std::vector<T> all(static_cast<size_t>(it->second.count));
    for (size_t i = 0; i < all.size(); ++i) {
      std::memcpy(&all[i], it->second.bytes.data() + i * sizeof(T), sizeof(T));
    }
    return all;
  }
};

namespace fake {

struct Tensor {
  int type = 0;
  int64_t id = 0;
  bool is_virtual = false, is_value = false;
  std::vector<int64_t> sizes, strides;

  static Tensor Of(const DnnDescriptorObject& descriptor);
  int64_t elements() const;
  size_t bytes() const;  // from the first element to the last
};

int64_t Offset(const Tensor& tensor, const std::vector<int64_t>& at);
float Load(const void* data, int64_t i, int type);
void Store(void* data, int64_t i, float value, int type);

// A convolution.
struct Graph {
  int operation = 0;  // kDnnForwardOperation, ...
  bool is_flipped = false;
  Tensor image, filter, result;  // of the forward pass
  std::vector<int64_t> strides, dilations, low, high;
  int64_t output = 0;  // the id of the tensor that is written

  // False where the operations are no such graph, or sizes do not belong together.
  static bool Of(const std::vector<DnnDescriptor>& operations, Graph* graph);
  // Addresses on the card, by id.  A CuResult.
  int Run(const std::map<int64_t, uint64_t>& addresses, bool rounds_to_tf32) const;
};

}  // namespace fake
}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_GRAPH_H_
