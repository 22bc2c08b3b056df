// Images of kernels for a card: what is kept on disk.
#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/card_kernel.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/llvm/lower.h"

namespace tektite::gpu {
namespace {

using ir::Dim;

constexpr int KernelImage::*kPlaces[] = {&KernelImage::blocks, &KernelImage::scratch_bytes,
                                         &KernelImage::moved_bytes};
constexpr int KernelImage::*kNumbers[] = {&KernelImage::num_buffers, &KernelImage::threads,
                                          &KernelImage::resident_blocks};
constexpr int64_t Resources::*kResources[] = {
    &Resources::shared_bytes, &Resources::constant_bytes, &Resources::stack_bytes,
    &Resources::spill_store_bytes, &Resources::spill_load_bytes};
constexpr int64_t kMostBuffers = 4096, kMostSharedBytes = 1 << 20;
constexpr size_t kLeastBytes = 64;  // of an image

// Of all arrays that a kernel reads and writes.
Dim BytesOf(const ir::Graph& region) {
  Dim bytes(0);
  const auto add = [&](const ir::Shape& shape) {
    bytes = bytes + shape.NumElements() * Dim(ir::DTypeBytes(shape.dtype()));
  };
  for (const ir::Node* p : region.parameters()) add(p->shape());
  for (ir::Value v : region.outputs()) add(v.shape());
  return bytes;
}

KernelImage OfLaunch(const loop::Kernel& kernel, const Dim& moved_bytes, const DeviceCode& code) {
  KernelImage image;
  image.name = kernel.name();
  image.sizes = kernel.sizes;
  image.launch = ir::DimProgram(kernel.sizes.symbols());
  image.blocks = image.launch.Add(kernel.launch.blocks);
  image.scratch_bytes = image.launch.Add(kernel.scratch_bytes);
  image.moved_bytes = image.launch.Add(moved_bytes);
  image.num_buffers = static_cast<int>(kernel.buffers().size());
  image.threads = kernel.launch.threads;
  image.dynamic_shared_bytes = static_cast<int>(loop::DynamicSharedBytes(kernel));
  for (const loop::TensorMap& map : kernel.tensor_maps) {
    TensorImage& tensor = image.tensors.emplace_back();
    tensor.buffer = map.buffer;
    tensor.dtype = kernel.buffers()[static_cast<size_t>(map.buffer)].dtype;
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      tensor.sizes[i] = image.launch.Add(map.sizes[i]);
      tensor.box[i] = map.box[i];
    }
    for (size_t i = 0; i < tensor.strides.size(); ++i) {
      tensor.strides[i] = image.launch.Add(map.strides[i]);
    }
  }
  image.code = code;
  return image;
}

// As Write has it: a buffer, a type, places of sizes and strides, a box.
constexpr size_t kTensorWords = 10;
constexpr int64_t kMostBox = 256;

bool ReadTensor(ByteReader* r, int num_buffers, int table_size, TensorImage* tensor) {
  bool fits = true;
  const auto read = [&](int64_t least, int64_t end) {
    const int64_t value = r->I64();
    fits = fits && value >= least && value < end;
    return static_cast<int>(value);
  };
  tensor->buffer = read(0, num_buffers);
  tensor->dtype = read(0, 2) == 0 ? ir::DType::kF16 : ir::DType::kBF16;
  for (int& place : tensor->sizes) place = read(0, table_size);
  for (int& place : tensor->strides) place = read(0, table_size);
  for (int& size : tensor->box) size = read(1, kMostBox + 1);
  return fits;
}

std::string Describe(const KernelImage& image) {
  if (!image.library.empty()) {
    const absl::StatusOr<DescribedCall> call = DescribeCall(image.library, image.call);
    return call.ok() ? call->text : "an unknown call";
  }
  const Resources& r = image.code.cubin.resources;
  std::string text = absl::StrCat(image.threads, " threads a block");
  if (image.resident_blocks > 0) {
    absl::StrAppend(&text, ", ", image.resident_blocks, " blocks (",
                    image.resident_blocks * image.threads, " threads) a multiprocessor");
  }
  if (image.code.cubin.bytes.empty()) return absl::StrCat(text, "; PTX that the driver assembles");
  return absl::StrCat(text, "; ", r.registers, " registers a thread, ", r.spilled_bytes(),
                      " bytes spilled, ", r.stack_bytes, " bytes of stack; ",
                      r.shared_bytes + image.dynamic_shared_bytes,
                      " bytes of shared memory a block");
}

}  // namespace

KernelImage KernelImage::Of(const ir::Graph& region, const EmittedKernel& emitted,
                            absl::Span<const DeviceCode> codes) {
  KernelImage image = OfLaunch(*emitted.kernel, BytesOf(region), codes[0]);
  image.in_place = emitted.in_place;
  // Counted with the first launch: those that follow share its arrays.
  for (size_t i = 0; i < emitted.then.size(); ++i) {
    image.then.push_back(OfLaunch(*emitted.then[i], Dim(0), codes[i + 1]));
  }
  return image;
}

KernelImage KernelImage::Of(const std::string& name, const LibraryCall& call) {
  KernelImage image;
  image.name = name;
  image.blocks = image.launch.Add(Dim(1));
  image.scratch_bytes = image.launch.Add(Dim(call.workspace_bytes()));
  image.moved_bytes = image.launch.Add(Dim(call.moved_bytes()));
  image.num_buffers = call.num_buffers();
  image.threads = 1;
  image.library = std::string(call.library());
  image.call = call.description();
  return image;
}

std::string KernelImage::Write() const {
  ByteWriter w;
  w.String(name);
  sizes.Write(&w);
  launch.Write(&w);
  for (const auto place : kPlaces) w.I64(this->*place);
  for (const auto number : kNumbers) w.I64(this->*number);
  w.I64(dynamic_shared_bytes);
  w.U64(tensors.size());
  for (const TensorImage& tensor : tensors) {
    w.I64(tensor.buffer);
    w.I64(tensor.dtype == ir::DType::kF16 ? 0 : 1);
    for (int place : tensor.sizes) w.I64(place);
    for (int place : tensor.strides) w.I64(place);
    for (int size : tensor.box) w.I64(size);
  }
  w.U64(in_place.size());
  for (auto [operand, result] : in_place) {
    w.I64(operand);
    w.I64(result);
  }
  w.I64(code.cubin.resources.registers);
  for (const auto resource : kResources) w.I64(code.cubin.resources.*resource);
  w.String(code.cubin.bytes);
  w.String(code.ptx);
  w.String(library);
  w.String(call);
  w.U64(then.size());
  for (const KernelImage& next : then) w.String(next.Write());
  return w.Take();
}

absl::StatusOr<KernelImage> KernelImage::Read(absl::string_view bytes) {
  return ReadLaunch(bytes, /*may_have_more=*/true);
}

absl::StatusOr<KernelImage> KernelImage::ReadLaunch(absl::string_view bytes, bool may_have_more) {
  const auto refusal = [] { return InvalidArgument("not the image of a kernel for a GPU"); };
  ByteReader r(bytes);
  KernelImage image;
  image.name = std::string(r.String());
  if (!image.sizes.Read(&r) || !image.launch.Read(&r)) return refusal();
  for (const auto place : kPlaces) {
    const int64_t at = r.I64();
    if (at < 0 || at >= image.launch.table_size()) return refusal();
    image.*place = static_cast<int>(at);
  }
  for (const auto number : kNumbers) {
    const int64_t value = r.I64();
    if (value < 0 || value > kMostBuffers) return refusal();
    image.*number = static_cast<int>(value);
  }
  const int64_t shared_bytes = r.I64();
  if (shared_bytes < 0 || shared_bytes > kMostSharedBytes) return refusal();
  image.dynamic_shared_bytes = static_cast<int>(shared_bytes);
  image.tensors.resize(r.Count(kTensorWords * sizeof(int64_t)));
  for (TensorImage& tensor : image.tensors) {
    if (!ReadTensor(&r, image.num_buffers, image.launch.table_size(), &tensor)) return refusal();
  }
  image.in_place.resize(r.Count(2 * sizeof(int64_t)));
  for (auto& [operand, result] : image.in_place) {
    operand = static_cast<int>(r.I64());
    result = static_cast<int>(r.I64());
  }
  image.code.cubin.resources.registers = static_cast<int>(r.I64());
  for (const auto resource : kResources) image.code.cubin.resources.*resource = r.I64();
  image.code.cubin.bytes = std::string(r.String());
  image.code.ptx = std::string(r.String());
  image.library = std::string(r.String());
  image.call = std::string(r.String());
  const size_t num_more = r.Count(kLeastBytes);
  // Refused before it is read: bytes that nest must not decide how deep the calls go.
  if (num_more > 0 && !may_have_more) return refusal();
  image.then.resize(num_more);
  for (KernelImage& next : image.then) {
    TEKTITE_ASSIGN_OR_RETURN(next, ReadLaunch(r.String(), /*may_have_more=*/false));
    if (next.num_buffers != image.num_buffers) return refusal();
  }
  if (!r.AtEnd() || image.threads < 1 || image.threads > loop::kMostThreads ||
      image.sizes.num_symbols() != image.launch.num_symbols()) {
    return refusal();
  }
  if (!image.library.empty()) {
    const absl::StatusOr<DescribedCall> call = DescribeCall(image.library, image.call);
    if (!call.ok() || image.num_buffers != call->num_buffers) return refusal();
  }
  return image;
}

std::string DescribeImage(absl::string_view bytes) {
  const absl::StatusOr<KernelImage> image = KernelImage::Read(bytes);
  if (!image.ok()) return "";
  std::string text = Describe(*image);
  for (const KernelImage& next : image->then) absl::StrAppend(&text, "; then ", Describe(next));
  return text;
}

}  // namespace tektite::gpu
