#include "jit/serving/call_key.h"

#include <cstring>

#include "jit/base/status.h"
#include "jit/ir/dtype.h"

namespace tektite::serving {
namespace {

constexpr size_t kMostDimensions = 32;
// Values that shape code are axes, sizes and permutations; anything larger is data.
constexpr int64_t kMostValueBytes = 4096;

// -1 when it does not fit 64 bits.
int64_t NumBytes(const Tensor& tensor, int element_bytes) {
  int64_t bytes = element_bytes;
  for (int64_t dim : tensor.dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return -1;
  }
  return bytes;
}

// An element of these is a word of its own.
bool HasElements(ir::DType dtype) { return dtype == ir::DType::kS32 || dtype == ir::DType::kS64; }

}  // namespace

absl::Status MakeCallKey(const GraphSource& source, const Call& call, CallKey* key) {
  const int num_args = static_cast<int>(call.args.size());
  if (num_args != source.num_args()) {
    return InvalidArgument("expected ", source.num_args(), " arguments, got ", num_args);
  }
  key->clear();
  for (int i = 0; i < source.num_args(); ++i) {
    const Tensor& tensor = call.args[i];
    if (tensor.dims.size() > kMostDimensions) {
      return InvalidArgument("argument ", i, ": bad rank ", tensor.dims.size());
    }
    key->push_back((static_cast<int64_t>(tensor.dtype) << 8) |
                   static_cast<int64_t>(tensor.dims.size()));
    for (int64_t dim : tensor.dims) {
      if (dim < 0) return InvalidArgument("argument ", i, ": bad dimension ", dim);
      key->push_back(dim);
    }
  }
  for (int i : source.compile_time_args()) {
    const Tensor& tensor = call.args[i];
    const ir::DType dtype = tensor.dtype;
    const int64_t bytes = NumBytes(tensor, ir::DTypeBytes(dtype));
    if (tensor.space != runtime::MemorySpace::kHost) {
      return Unimplemented("argument ", i, ": code depends on its value, which a device holds");
    }
    if (bytes < 0 || bytes > kMostValueBytes) {
      return Unimplemented("argument ", i, ": the value is too large for code to depend on it");
    }
    if (dtype == ir::DType::kS32) {
      const auto* values = static_cast<const int32_t*>(tensor.data);
      key->insert(key->end(), values, values + bytes / sizeof(int32_t));
    } else if (bytes > 0) {
      const size_t words = key->size();
      key->resize(words + (bytes + 7) / 8);
      std::memcpy(key->data() + words, tensor.data, bytes);
    }
  }
  return absl::OkStatus();
}

std::vector<KeyWord> KeyLayout(const GraphSource& source, const Call& call) {
  std::vector<KeyWord> words;
  for (int i = 0; i < source.num_args(); ++i) {
    const bool versioned = call.args[i].version != 0;
    words.push_back({KeyWord::Kind::kType, i, 0, versioned});
    for (int d = 0; d < static_cast<int>(call.args[i].dims.size()); ++d) {
      words.push_back({KeyWord::Kind::kDimension, i, d, versioned});
    }
  }
  for (int i : source.compile_time_args()) {
    const ir::DType dtype = call.args[i].dtype;
    const int64_t bytes = NumBytes(call.args[i], ir::DTypeBytes(dtype));
    const bool elements = HasElements(dtype);
    const int64_t count = elements ? bytes / ir::DTypeBytes(dtype) : (bytes + 7) / 8;
    for (int e = 0; e < count; ++e) {
      words.push_back({elements ? KeyWord::Kind::kElement : KeyWord::Kind::kBytes, i, e, false});
    }
  }
  return words;
}

}  // namespace tektite::serving
