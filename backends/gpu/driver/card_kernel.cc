#include "backends/gpu/driver/card_kernel.h"

#include <algorithm>
#include <atomic>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 31;
// For the decision what is worth a thread or a copy: a launch, and what memory takes for a byte.
constexpr double kLaunchNs = 3000, kByteNs = 0.001;

constexpr size_t kTableOnStack = 128;
using SizeTable = absl::FixedArray<int64_t, kTableOnStack>;

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

CardKernel::CardKernel(std::shared_ptr<Card> card, KernelImage image)
    : card_(std::move(card)), number_(NextNumber()), image_(std::move(image)) {}

std::shared_ptr<const CardKernel> CardKernel::Of(std::shared_ptr<Card> card,
                                                 const std::string& name,
                                                 std::shared_ptr<const LibraryCall> call) {
  std::shared_ptr<CardKernel> kernel(new CardKernel(std::move(card), KernelImage::Of(name, *call)));
  kernel->call_ = std::move(call);
  return kernel;
}

absl::StatusOr<std::shared_ptr<const CardKernel>> CardKernel::Create(std::shared_ptr<Card> card,
                                                                     KernelImage image,
                                                                     const Libraries& libraries) {
  if (!image.library.empty()) {
    TEKTITE_ASSIGN_OR_RETURN(auto call, libraries.Make(image.library, image.call));
    return Of(std::move(card), image.name, std::move(call));
  }
  std::vector<std::shared_ptr<const CardKernel>> then;
  for (KernelImage& next : image.then) {
    TEKTITE_ASSIGN_OR_RETURN(std::shared_ptr<const CardKernel> made, Create(card, std::move(next)));
    then.push_back(std::move(made));
  }
  image.then.clear();
  std::shared_ptr<CardKernel> kernel(new CardKernel(std::move(card), std::move(image)));
  kernel->then_ = std::move(then);
  const DeviceCode& code = kernel->image_.code;
  TEKTITE_ASSIGN_OR_RETURN(
      kernel->code_,
      LoadedCode::Load(kernel->card_.get(), kernel->name(), code.cubin.bytes, code.ptx,
                       {kernel->threads(), kernel->dynamic_shared_bytes()}));
  if (kernel->code_->resident_blocks() < 1) {
    return Unimplemented("kernel ", kernel->name(), ": a block of ", kernel->threads(),
                         " threads does not fit a multiprocessor of ", kernel->card_->name());
  }
  kernel->image_.resident_blocks = kernel->code_->resident_blocks();
  return kernel;
}

backend::LaunchConfig CardKernel::Configure(absl::Span<const int64_t> sizes) const {
  SizeTable table(
      static_cast<size_t>(std::max(image_.launch.table_size(), image_.sizes.table_size())), 0);
  backend::LaunchConfig config;
  config.fits = image_.sizes.complete() && image_.sizes.Run(sizes.data(), table.data());
  config.fits =
      image_.launch.complete() && image_.launch.Run(sizes.data(), table.data()) && config.fits;
  config.fits = config.fits && table[image_.blocks] >= 0 && table[image_.blocks] < kMostBlocks;
  config.scratch_bytes = table[image_.scratch_bytes];
  config.cost_ns = kLaunchNs + kByteNs * static_cast<double>(table[image_.moved_bytes]);
  for (const auto& next : then_) {
    const backend::LaunchConfig more = next->Configure(sizes);
    config.fits = config.fits && more.fits;
    config.scratch_bytes = std::max(config.scratch_bytes, more.scratch_bytes);
    config.cost_ns += more.cost_ns;
  }
  return config;
}

std::string CardKernel::Image() const {
  KernelImage image = image_;
  for (const auto& next : then_) image.then.push_back(next->image_);
  return image.Write();
}

bool CardKernel::CanRunInPlace(int operand, int result) const {
  const auto& pairs = image_.in_place;
  return std::find(pairs.begin(), pairs.end(), std::pair(operand, result)) != pairs.end();
}

int CardKernel::tensors_at() const {
  constexpr int kWords = sizeof(CuTensorMap) / sizeof(uint64_t);
  const int words = image_.num_buffers + 1 + image_.sizes.table_size();
  return CeilDiv(words, kWords) * kWords;
}

int CardKernel::frame_words() const {
  if (image_.tensors.empty()) return image_.num_buffers + 1 + image_.sizes.table_size();
  constexpr int kWords = sizeof(CuTensorMap) / sizeof(uint64_t);
  return tensors_at() + kWords * static_cast<int>(image_.tensors.size());
}

absl::Status CardKernel::EncodeTensor(const TensorImage& tensor, void* buffer,
                                      absl::Span<const int64_t> table, CuTensorMap* map) const {
  const auto bytes = static_cast<uint64_t>(ir::DTypeBytes(tensor.dtype));
  constexpr uint32_t kRank = 3;
  uint64_t sizes[kRank], strides[kRank - 1];
  uint32_t box[kRank], element_strides[kRank];
  for (size_t i = 0; i < kRank; ++i) {
    sizes[i] = static_cast<uint64_t>(table[static_cast<size_t>(tensor.sizes[i])]);
    if (sizes[i] == 0) return absl::OkStatus();  // nothing is copied
    box[i] = static_cast<uint32_t>(tensor.box[i]);
    element_strides[i] = 1;
  }
  for (size_t i = 0; i + 1 < kRank; ++i) {
    strides[i] = static_cast<uint64_t>(table[static_cast<size_t>(tensor.strides[i])]) * bytes;
  }
  return card_->Check(card_->driver().TensorMapEncodeTiled(
                          map, tensor.dtype == ir::DType::kF16 ? kCuTensorF16 : kCuTensorBF16,
                          kRank, buffer, sizes, strides, box, element_strides, kCuNoInterleave,
                          kCuSwizzle128, kCuPromotion256, kCuFillZero),
                      absl::StrCat("describing a tensor of '", name(), "'"));
}

absl::StatusOr<int64_t> CardKernel::FillFrame(absl::Span<void* const> buffers, const void* scratch,
                                              absl::Span<const int64_t> sizes,
                                              uint64_t* words) const {
  auto* const tensors = reinterpret_cast<CuTensorMap*>(words + tensors_at());
  for (void* buffer : buffers) *words++ = reinterpret_cast<uint64_t>(buffer);
  *words++ = reinterpret_cast<uint64_t>(scratch);
  // Plan has found that the sizes fit.
  static_cast<void>(image_.sizes.Run(sizes.data(), reinterpret_cast<int64_t*>(words)));
  SizeTable table(static_cast<size_t>(image_.launch.table_size()));
  static_cast<void>(image_.launch.Run(sizes.data(), table.data()));
  for (size_t i = 0; i < image_.tensors.size(); ++i) {
    const TensorImage& tensor = image_.tensors[i];
    TEKTITE_RETURN_IF_ERROR(
        EncodeTensor(tensor, buffers[static_cast<size_t>(tensor.buffer)], table, tensors + i));
  }
  return table[image_.blocks];
}

}  // namespace tektite::gpu
