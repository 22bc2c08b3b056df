#include "runtime_hooks/c_api/call_key.h"

#include <cstring>

#include "jit/base/status.h"
#include "jit/ir/dtype.h"

namespace tektite::c_api {
namespace {

constexpr int kMostDimensions = 32;
// Values that shape code are axes, sizes and permutations; anything larger is data.
constexpr int64_t kMostValueBytes = 4096;

// -1 when it does not fit 64 bits.
int64_t NumBytes(const tektite_tensor& tensor, int element_bytes) {
  int64_t bytes = element_bytes;
  for (int64_t dim : DimsOf(tensor)) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return -1;
  }
  return bytes;
}

// An element of these is a word of its own.
bool HasElements(ir::DType dtype) { return dtype == ir::DType::kS32 || dtype == ir::DType::kS64; }

}  // namespace

absl::Status MakeCallKey(const GraphSource& source, const tektite_call& call, CallKey* key) {
  if (call.num_args != source.num_args()) {
    return InvalidArgument("expected ", source.num_args(), " arguments, got ", call.num_args);
  }
  key->clear();
  for (int i = 0; i < call.num_args; ++i) {
    const tektite_tensor& tensor = call.args[i];
    if (!ir::DTypeFromTensorFlow(tensor.dtype)) {
      return Unimplemented("argument ", i, ": element type ", tensor.dtype);
    }
    if (tensor.rank < 0 || tensor.rank > kMostDimensions) {
      return InvalidArgument("argument ", i, ": bad rank ", tensor.rank);
    }
    key->push_back((int64_t{tensor.dtype} << 8) | tensor.rank);
    for (int64_t dim : DimsOf(tensor)) {
      if (dim < 0) return InvalidArgument("argument ", i, ": bad dimension ", dim);
      key->push_back(dim);
    }
  }
  for (int i : source.compile_time_args()) {
    const tektite_tensor& tensor = call.args[i];
    const ir::DType dtype = *ir::DTypeFromTensorFlow(tensor.dtype);
    const int64_t bytes = NumBytes(tensor, ir::DTypeBytes(dtype));
    if (bytes < 0 || bytes > kMostValueBytes) {
      return Unimplemented("argument ", i, ": too large for a value that code depends on");
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

std::vector<KeyWord> KeyLayout(const GraphSource& source, const tektite_call& call) {
  std::vector<KeyWord> words;
  for (int i = 0; i < call.num_args; ++i) {
    const bool versioned = call.args[i].version != 0;
    words.push_back({KeyWord::Kind::kType, i, 0, versioned});
    for (int d = 0; d < call.args[i].rank; ++d) {
      words.push_back({KeyWord::Kind::kDimension, i, d, versioned});
    }
  }
  for (int i : source.compile_time_args()) {
    const ir::DType dtype = *ir::DTypeFromTensorFlow(call.args[i].dtype);
    const int64_t bytes = NumBytes(call.args[i], ir::DTypeBytes(dtype));
    const bool elements = HasElements(dtype);
    const int64_t count = elements ? bytes / ir::DTypeBytes(dtype) : (bytes + 7) / 8;
    for (int e = 0; e < count; ++e) {
      words.push_back({elements ? KeyWord::Kind::kElement : KeyWord::Kind::kBytes, i, e, false});
    }
  }
  return words;
}

}  // namespace tektite::c_api
