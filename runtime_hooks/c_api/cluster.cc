#include "runtime_hooks/c_api/cluster.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/compiler/background.h"
#include "runtime_hooks/c_api/guard.h"

namespace tektite::c_api {
namespace {

constexpr int kMostDimensions = 32;
// Values that shape code are axes, sizes and permutations; anything larger is data.
constexpr int64_t kMostValueBytes = 4096;

// The host's callbacks, as the runtime wants them.
class AbiHost : public runtime::CallHost {
 public:
  explicit AbiHost(const tektite_call& call) : call_(call) {}

  runtime::HostPool Pool() override { return {call_.num_threads, call_.context, call_.schedule}; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    return call_.allocate(call_.context, result, ir::DTypeToTensorFlow(type.dtype),
                          static_cast<int32_t>(type.dims.size()), type.dims.data());
  }
  bool Forward(int result, int argument) override {
    return call_.forward != nullptr && call_.forward(call_.context, result, argument) == 0;
  }

 private:
  const tektite_call& call_;
};

absl::Span<const int64_t> DimsOf(const tektite_tensor& tensor) {
  return absl::MakeConstSpan(tensor.dims, tensor.rank);
}

// -1 when it does not fit 64 bits.
int64_t NumBytes(const tektite_tensor& tensor, int element_bytes) {
  int64_t bytes = element_bytes;
  for (int64_t dim : DimsOf(tensor)) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return -1;
  }
  return bytes;
}

}  // namespace

Cluster::Cluster(std::shared_ptr<CompilerState> state, absl::string_view name,
                 std::unique_ptr<GraphSource> source)
    : state_(std::move(state)),
      name_(state_->RegisterCluster(name)),
      source_(std::move(source)),
      weights_(state_->compiler().NewWeightStore()) {}

std::shared_ptr<Cluster> Cluster::Create(std::shared_ptr<CompilerState> state,
                                         absl::string_view name,
                                         std::unique_ptr<GraphSource> source) {
  return std::shared_ptr<Cluster>(new Cluster(std::move(state), name, std::move(source)));
}

void Cluster::Dump(absl::string_view file, absl::string_view bytes) const {
  const std::string directory = state_->compiler().DumpDirectory(name_);
  if (directory.empty()) return;
  const std::string path = absl::StrCat(directory, "/", file);
  std::ofstream out(path, std::ios::trunc | std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) Warn("dump_to: cannot write ", path);
}

absl::Status Cluster::Run(const tektite_call& call) {
  absl::Status status = CatchAll([&]() -> absl::Status {
    TEKTITE_ASSIGN_OR_RETURN(const auto executable, Find(call));
    absl::InlinedVector<runtime::Argument, 16> arguments(call.num_args);
    for (int i = 0; i < call.num_args; ++i) {
      arguments[i] = {call.args[i].data, call.args[i].version};
    }
    AbiHost host(call);
    return executable->Run(arguments, host);
  });
  state_->CountRun();
  if (!status.ok()) state_->CountFallback(name_, status);
  return status;
}

absl::Status Cluster::MakeKey(const tektite_call& call, Key* key) const {
  if (call.num_args != source_->num_args()) {
    return InvalidArgument("expected ", source_->num_args(), " arguments, got ", call.num_args);
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
  for (int i : source_->compile_time_args()) {
    const tektite_tensor& tensor = call.args[i];
    const ir::DType dtype = *ir::DTypeFromTensorFlow(tensor.dtype);
    const int64_t bytes = NumBytes(tensor, ir::DTypeBytes(dtype));
    if (bytes < 0 || bytes > kMostValueBytes) {
      return Unimplemented("argument ", i, ": too large for a value that code depends on");
    }
    const size_t words = key->size();
    key->resize(words + (bytes + 7) / 8);
    if (bytes > 0) std::memcpy(key->data() + words, tensor.data, bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<runtime::Executable>> Cluster::Find(const tektite_call& call) {
  // Kept from call to call: a model has hundreds of arguments.
  static thread_local Key key;
  TEKTITE_RETURN_IF_ERROR(MakeKey(call, &key));
  bool added = false;
  const VariantPtr variant = FindOrAdd(key, &added);
  if (variant == nullptr) return absl::UnavailableError("not compiled: --compile=off");
  const bool async = state_->flags().compile == "async";
  if (added) {
    std::vector<ArgInfo> args = Describe(call);
    if (!async) {
      state_->CountRequestCompile();
      Compile(*variant, args);
    } else if (!compiler::Background::Get().Submit(
                   [self = shared_from_this(), variant, args = std::move(args)] {
                     self->Compile(*variant, args);
                   })) {
      Forget(variant);
    }
  }
  std::unique_lock<std::mutex> lock(variant->mutex);
  if (!async) variant->changed.wait(lock, [&] { return variant->settled; });
  return variant->executable;
}

Cluster::VariantPtr Cluster::FindOrAdd(const Key& key, bool* added) {
  std::lock_guard<std::mutex> lock(mutex_);
  VariantPtr variant = latest_;
  if (variant == nullptr || variant->key != key) {
    auto it = variants_.find(key);
    if (it != variants_.end()) {
      variant = it->second;
    } else {
      if (state_->flags().compile == "off") return nullptr;
      EvictLeastRecentlyUsed();
      variant = std::make_shared<Variant>();
      variant->key = key;
      variant->number = variants_made_++;
      variants_.emplace(key, variant);
      *added = true;
    }
    latest_ = variant;
  }
  variant->last_use = ++clock_;
  return variant;
}

void Cluster::EvictLeastRecentlyUsed() {
  const auto most = static_cast<size_t>(std::max<int64_t>(state_->flags().max_executables, 1));
  while (variants_.size() >= most) {
    auto oldest = variants_.begin();
    for (auto it = variants_.begin(); it != variants_.end(); ++it) {
      if (it->second->last_use < oldest->second->last_use) oldest = it;
    }
    variants_.erase(oldest);
  }
}

void Cluster::Forget(const VariantPtr& variant) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = variants_.find(variant->key);
  if (it != variants_.end() && it->second == variant) variants_.erase(it);
  if (latest_ == variant) latest_ = nullptr;
}

std::vector<ArgInfo> Cluster::Describe(const tektite_call& call) const {
  std::vector<ArgInfo> args(call.num_args);
  for (int i = 0; i < call.num_args; ++i) {
    const tektite_tensor& tensor = call.args[i];
    args[i].shape = ir::Shape(*ir::DTypeFromTensorFlow(tensor.dtype), DimsOf(tensor));
    args[i].versioned = tensor.version != 0;
  }
  for (int i : source_->compile_time_args()) {
    const ir::Shape& shape = args[i].shape;
    args[i].value = ir::Literal::CopyOf(shape.dtype(), shape.sizes(), call.args[i].data);
  }
  return args;
}

void Cluster::Compile(Variant& variant, const std::vector<ArgInfo>& args) {
  absl::StatusOr<std::shared_ptr<runtime::Executable>> executable =
      absl::InternalError("not compiled");
  const absl::Status status = CatchAll([&]() -> absl::Status {
    executable = MakeExecutable(variant.number, args);
    return executable.status();
  });
  if (!status.ok()) executable = status;
  std::lock_guard<std::mutex> lock(variant.mutex);
  variant.executable = std::move(executable);
  variant.settled = true;
  variant.changed.notify_all();
}

absl::StatusOr<std::shared_ptr<runtime::Executable>> Cluster::MakeExecutable(
    int number, const std::vector<ArgInfo>& args) {
  TEKTITE_ASSIGN_OR_RETURN(SourceGraph source, source_->Specialize(args));
  compiler::CompileJob job;
  job.cluster = name_;
  job.variant = absl::StrCat("shape", number);
  job.num_checks = source.num_checks;
  job.weights = weights_;
  return state_->compiler().Compile(std::move(source.graph), job);
}

}  // namespace tektite::c_api
