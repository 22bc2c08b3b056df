#include "tests/gpu/card_interpreter.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/card_kernel.h"
#include "jit/base/bytes.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "tests/gpu/fake_driver/fake_driver.h"
#include "tests/gpu/interpreter/interpreted_kernel.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

// One launch.  The last one that has blocks runs a kernel's launches on the interpreted device,
// where they share one scratch; those before it only look at their frames.
struct Known {
  std::string text;                                      // of its programs of sizes
  std::shared_ptr<const gpu::InterpretedKernel> kernel;  // of all its launches
  std::vector<std::shared_ptr<const Known>> later;       // launches
  ir::DimProgram sizes;
  size_t num_buffers = 0;
  unsigned threads = 0;
  ir::DimProgram launch;     // at these places of its table:
  std::vector<int> buffers;  // their bytes
  int blocks = 0, scratch_bytes = 0;
  std::vector<gpu::TensorImage> tensors;
};

using Candidates = std::vector<std::shared_ptr<const Known>>;

struct Registry {
  std::mutex mutex;  // guards what follows
  // By name and code.  Kernels of one code may differ in how their sizes follow from symbols, which
  // the frame tells.
  std::map<std::pair<std::string, uint64_t>, Candidates> kernels;
  std::string fault;

  static Registry& Get() {
    static auto& registry = *new Registry;
    return registry;
  }
};

// Whether the tensor maps in a frame, behind `words` of them, are of the buffers and sizes there.
absl::Status CheckTensors(const Known& known, const FakeLaunch& launch, size_t words,
                          absl::Span<const int64_t> planned) {
  constexpr size_t kMapBytes = sizeof(gpu::CuTensorMap);
  const size_t begin = RoundUp(static_cast<int64_t>(words * sizeof(uint64_t)), kMapBytes);
  if (known.tensors.empty()) return absl::OkStatus();
  if (begin + known.tensors.size() * kMapBytes > launch.frame_bytes ||
      reinterpret_cast<uintptr_t>(launch.frame) % kMapBytes != 0) {
    return Internal("no place for tensor maps");
  }
  const auto* maps = reinterpret_cast<const std::byte*>(launch.frame) + begin;
  for (const gpu::TensorImage& image : known.tensors) {
    FakeTensor tensor;
    std::memcpy(&tensor, maps, sizeof(tensor));
    maps += kMapBytes;
    const auto size = [&](int place) {
      return static_cast<uint64_t>(planned[static_cast<size_t>(place)]);
    };
    if (size(image.sizes[0]) * size(image.sizes[1]) * size(image.sizes[2]) == 0) continue;
    bool is_same =
        tensor.address == launch.frame[image.buffer] &&
        tensor.type == (image.dtype == ir::DType::kF16 ? gpu::kCuTensorF16 : gpu::kCuTensorBF16);
    for (size_t i = 0; i < 3; ++i) {
      is_same = is_same && tensor.sizes[i] == size(image.sizes[i]) &&
                tensor.box[i] == static_cast<uint32_t>(image.box[i]);
    }
    for (size_t i = 0; i < 2; ++i) {
      is_same = is_same &&
                tensor.strides[i] ==
                    size(image.strides[i]) * static_cast<uint64_t>(ir::DTypeBytes(image.dtype));
    }
    if (!is_same) return Internal("the tensor map of buffer ", image.buffer, " is of another one");
  }
  return absl::OkStatus();
}

absl::Status Run(const Known& known, const FakeLaunch& launch) {
  const FakeDriver& fake = FakeDriver::Opened();
  const size_t num_buffers = known.num_buffers;
  const auto num_sizes = static_cast<size_t>(known.sizes.table_size());
  if ((num_buffers + 1 + num_sizes) * sizeof(uint64_t) > launch.frame_bytes) {
    return Internal("a frame of ", launch.frame_bytes, " bytes");
  }
  const auto* const table = reinterpret_cast<const int64_t*>(launch.frame + num_buffers + 1);
  std::vector<int64_t> sizes(num_sizes), planned(static_cast<size_t>(known.launch.table_size()));
  // A table begins with the symbols' values.
  if (!known.sizes.Run(table, sizes.data()) || !known.launch.Run(table, planned.data())) {
    return Internal("sizes that do not fit");
  }
  if (!std::equal(sizes.begin(), sizes.end(), table)) {
    return absl::NotFoundError("another table of sizes");
  }
  if (planned[static_cast<size_t>(known.blocks)] != launch.blocks ||
      known.threads != launch.threads) {
    return absl::NotFoundError(
        absl::StrCat(launch.blocks, " blocks of ", launch.threads, " threads"));
  }
  TEKTITE_RETURN_IF_ERROR(CheckTensors(known, launch, num_buffers + 1 + num_sizes, planned));
  std::vector<gpu::DeviceBuffer> buffers;
  for (size_t i = 0; i < num_buffers; ++i) {
    const int64_t bytes = planned[static_cast<size_t>(known.buffers[i])];
    void* const data =
        bytes == 0 ? nullptr : fake.reach(launch.frame[i], static_cast<size_t>(bytes));
    // Of a kernel of equal code that reads a larger array, perhaps.
    if (bytes > 0 && data == nullptr) {
      return absl::NotFoundError(absl::StrCat("buffer ", i, " is not the card's"));
    }
    buffers.push_back({data, bytes});
  }
  const int64_t scratch = planned[static_cast<size_t>(known.scratch_bytes)];
  if (scratch > 0 &&
      fake.reach(launch.frame[num_buffers], static_cast<size_t>(scratch)) == nullptr) {
    return Internal("the scratch is not the card's");
  }
  for (const auto& later : known.later) {
    std::vector<int64_t> ahead(static_cast<size_t>(later->launch.table_size()));
    if (!later->launch.Run(table, ahead.data())) return Internal("sizes that do not fit");
    if (ahead[static_cast<size_t>(later->blocks)] > 0) return absl::OkStatus();
  }
  return known.kernel->Run(
      buffers, absl::MakeConstSpan(table, static_cast<size_t>(known.sizes.num_symbols())));
}

bool RunLaunch(const FakeLaunch& launch) {
  Registry& registry = Registry::Get();
  Candidates candidates;
  {
    std::lock_guard<std::mutex> lock(registry.mutex);
    candidates = registry.kernels[{launch.kernel, launch.image}];
  }
  absl::Status status = Internal("was never compiled");
  for (auto known = candidates.rbegin(); known != candidates.rend(); ++known) {
    status = Run(**known, launch);
    if (!absl::IsNotFound(status)) break;
  }
  if (status.ok()) return true;
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.fault = absl::StrCat("kernel ", launch.kernel, ": ", status.message());
  std::fprintf(stderr, "%s\n", registry.fault.c_str());
  return false;
}

std::shared_ptr<Known> FactsOf(const ir::Graph& region, const gpu::KernelImage& image) {
  auto known = std::make_shared<Known>();
  known->sizes = image.sizes;
  known->num_buffers = static_cast<size_t>(image.num_buffers);
  known->threads = static_cast<unsigned>(image.threads);
  known->launch = image.launch;
  known->blocks = image.blocks;
  known->scratch_bytes = image.scratch_bytes;
  known->tensors = image.tensors;
  const auto add = [&](const ir::Shape& shape) {
    known->buffers.push_back(
        known->launch.Add(shape.NumElements() * ir::Dim(ir::DTypeBytes(shape.dtype()))));
  };
  for (const ir::Node* p : region.parameters()) add(p->shape());
  for (ir::Value v : region.outputs()) add(v.shape());
  ByteWriter text;
  known->sizes.Write(&text);
  known->launch.Write(&text);
  known->text = text.Take();
  return known;
}

void Remember(const ir::Node& fusion, gpu::EmittedKernel emitted,
              absl::Span<const gpu::DeviceCode> codes) {
  gpu::KernelImage first = gpu::KernelImage::Of(fusion.region(), emitted, codes);
  std::vector<gpu::KernelImage> images = std::move(first.then);
  images.insert(images.begin(), std::move(first));
  std::vector<std::shared_ptr<Known>> known;
  std::vector<std::pair<std::string, uint64_t>> keys;
  for (const gpu::KernelImage& image : images) {
    const gpu::Cubin& cubin = image.code.cubin;
    const std::string& code = cubin.bytes.empty() ? image.code.ptx : cubin.bytes;
    known.push_back(FactsOf(fusion.region(), image));
    keys.emplace_back(image.name, FakeDriver::Opened().image_key(code.data()));
  }
  std::vector<std::unique_ptr<loop::Kernel>> launches = std::move(emitted.then);
  launches.insert(launches.begin(), std::move(emitted.kernel));
  auto kernel = gpu::InterpretedKernel::Create(std::move(launches), &SharedLaneFunctions());
  Registry& registry = Registry::Get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  if (!kernel.ok()) {
    registry.fault = std::string(kernel.status().message());
    return;
  }
  const std::shared_ptr<const gpu::InterpretedKernel> whole = *std::move(kernel);
  for (size_t i = known.size(); i-- > 0;) {
    known[i]->kernel = whole;
    known[i]->later.assign(known.begin() + static_cast<ptrdiff_t>(i) + 1, known.end());
    Candidates& candidates = registry.kernels[keys[i]];
    candidates.erase(
        std::remove_if(candidates.begin(), candidates.end(),
                       [&](const auto& other) { return other->text == known[i]->text; }),
        candidates.end());
    candidates.push_back(known[i]);
  }
}

}  // namespace

gpu::CompiledHook InterpretOnFakeDriver() {
  FakeDriver::Opened().set_runner(RunLaunch);
  return Remember;
}

std::string LastKernelFault() {
  std::lock_guard<std::mutex> lock(Registry::Get().mutex);
  return Registry::Get().fault;
}

}  // namespace tektite::testing
