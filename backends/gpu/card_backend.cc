#include "backends/gpu/card_backend.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "backends/gpu/cublaslt/prepared_product.h"
#include "backends/gpu/cudnn/prepared_attention.h"
#include "backends/gpu/cudnn/prepared_convolution.h"
#include "backends/gpu/driver/card_kernel.h"
#include "backends/gpu/driver/driver.h"
#include "backends/gpu/implementation_list.h"
#include "backends/gpu/libraries.h"
#include "jit/base/log.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"
#include "llvm/Config/llvm-config.h"

namespace tektite::gpu {
namespace {

// What has instructions for warpgroups, and the first driver that assembles all of them, the fence
// for tensor maps in a card's memory (PTX 8.3) among them.
constexpr absl::string_view kWarpgroupArchitecture = "sm_90a";
constexpr int kVersionOfTensorFences = 12030;

void Dump(const std::string& directory, const loop::Kernel& kernel, const DeviceCode& code) {
  const std::string path = absl::StrCat(directory, "/", kernel.name());
  for (const auto& [ending, text] :
       {std::pair<const char*, std::string>(".loop", kernel.ToString()), {".ptx", code.ptx}}) {
    const absl::Status written = ReplaceFile(absl::StrCat(path, ending), text);
    if (!written.ok()) Warn("dump_to: ", written.message());
  }
}

class CardBackend final : public backend::Backend {
 public:
  CardBackend(std::shared_ptr<Card> card, std::string architecture, const Assembler* assembler,
              CardOptions options)
      : card_(std::move(card)),
        architecture_(std::move(architecture)),
        assembler_(assembler),
        hook_(std::move(options.hook)) {
    if (options.products != nullptr) {
      libraries_.products = std::make_shared<ProductLibrary>(card_.get(), options.products);
    }
    if (options.cudnn != nullptr) {
      libraries_.cudnn = std::make_shared<CudnnOnCard>(card_.get(), options.cudnn);
    }
    options_.shared_bytes = MostSharedBytes(architecture_);
    options_.tf32 = options.tf32;
    if (architecture_ == kWarpgroupArchitecture &&
        card_->driver().version() >= kVersionOfTensorFences) {
      options_.warpgroups = options.warpgroups;
    }
    options_.multiprocessors = card_->multiprocessors();
    DescribeKernels(&target_);
    target_.cpu = architecture_;
    // Not for the code: whose kernels are faster, the host's or the card's, is kept under it, too.
    target_.features = card_->model();
    target_.code_generator =
        absl::StrCat("llvm ", LLVM_VERSION_STRING, ", ",
                     assembler_ == nullptr ? absl::StrCat("driver ", card_->driver().version_text())
                                           : assembler_->version());
    if (!libraries_.empty()) {
      absl::StrAppend(&target_.code_generator, ", ", libraries_.version_text());
    }
  }

  absl::string_view name() const override { return "gpu"; }
  const target::TargetInfo& target() const override { return target_; }
  std::shared_ptr<backend::Device> device() const override { return card_; }

  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    TEKTITE_RETURN_IF_ERROR(card_->status());
    if (auto call = MakeCall(fusion)) return CardKernel::Of(card_, options.name, std::move(call));
    TEKTITE_RETURN_IF_ERROR(card_->status());
    TEKTITE_ASSIGN_OR_RETURN(EmittedKernel emitted, EmitKernel(fusion, options.name, options_));
    std::vector<const loop::Kernel*> launches = {emitted.kernel.get()};
    for (const auto& next : emitted.then) launches.push_back(next.get());
    std::vector<DeviceCode> codes;
    for (const loop::Kernel* launch : launches) {
      TEKTITE_ASSIGN_OR_RETURN(DeviceCode code,
                               CompileForDevice(*launch, architecture_, assembler_));
      if (!options.dump_dir.empty()) Dump(options.dump_dir, *launch, code);
      codes.push_back(std::move(code));
    }
    KernelImage image = KernelImage::Of(fusion.region(), emitted, codes);
    if (hook_ != nullptr) hook_(fusion, std::move(emitted), codes);
    return CardKernel::Create(card_, std::move(image));
  }

  bool keeps_images() const override { return true; }
  absl::StatusOr<std::vector<std::shared_ptr<const backend::Kernel>>> Load(
      absl::Span<const absl::string_view> images) override {
    TEKTITE_RETURN_IF_ERROR(card_->status());
    std::vector<KernelImage> read;
    for (absl::string_view bytes : images) {
      TEKTITE_ASSIGN_OR_RETURN(KernelImage image, KernelImage::Read(bytes));
      read.push_back(std::move(image));
    }
    std::vector<std::shared_ptr<const backend::Kernel>> kernels;
    for (KernelImage& image : read) {
      TEKTITE_ASSIGN_OR_RETURN(auto kernel,
                               CardKernel::Create(card_, std::move(image), libraries_));
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

  std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                       const target::Facts& facts) const override {
    return SchedulesFor(fusion, facts, options_, libraries_);
  }
  std::string LibraryVersion() const override { return libraries_.version_text(); }

 private:
  // Null: it is for our own code.
  std::shared_ptr<const LibraryCall> MakeCall(const ir::Node& fusion) const {
    const std::string way = target::ScheduleOf(fusion).implementation;
    if (libraries_.products != nullptr && (way == kCublasLt || way == kCublasLtWithBias)) {
      const absl::StatusOr<MatrixProduct> product = MatrixProduct::Of(fusion);
      if (!product.ok()) return nullptr;
      return PreparedProduct::Create(libraries_.products, *product).value_or(nullptr);
    }
    if (libraries_.cudnn != nullptr && way == kCudnn) {
      const absl::StatusOr<ConvolutionCall> call = ConvolutionCall::Of(fusion, options_.tf32);
      if (!call.ok()) return nullptr;
      return PreparedConvolution::Create(libraries_.cudnn, *call).value_or(nullptr);
    }
    if (libraries_.cudnn != nullptr && way == kCudnnAttention) {
      const absl::StatusOr<AttentionCall> call = AttentionCall::Of(fusion);
      if (!call.ok()) return nullptr;
      return PreparedAttention::Create(libraries_.cudnn, *call).value_or(nullptr);
    }
    return nullptr;
  }

  const std::shared_ptr<Card> card_;
  const std::string architecture_;
  const Assembler* const assembler_;
  const CompiledHook hook_;
  EmitOptions options_;
  Libraries libraries_;
  target::TargetInfo target_;
};

// "gpu" and "auto" mean the first card; what names none means it, too.
absl::StatusOr<int> NumberOf(absl::string_view device) {
  int number = 0;
  if (!absl::ConsumePrefix(&device, "gpu:")) return 0;
  if (absl::SimpleAtoi(device, &number)) return number;
  return InvalidArgument("--device=gpu:", device, ": expected the number of a card");
}

absl::StatusOr<std::shared_ptr<Card>> SharedCard(int number, int64_t memory_limit) {
  static auto& mutex = *new std::mutex;
  static auto& cards = *new std::map<std::pair<int, int64_t>, std::weak_ptr<Card>>;
  TEKTITE_ASSIGN_OR_RETURN(const Driver* driver, Driver::OfThisMachine());
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<Card>& known = cards[{number, memory_limit}];
  std::shared_ptr<Card> card = known.lock();
  // One that is lost serves those who have it, with an error.
  if (card != nullptr && card->status().ok()) return card;
  TEKTITE_ASSIGN_OR_RETURN(card, Card::Open(driver, number, memory_limit));
  known = card;
  return card;
}

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCardBackend(std::shared_ptr<Card> card,
                                                                    const Assembler* assembler,
                                                                    CardOptions options) {
  absl::StatusOr<std::string> architecture = ArchitectureOf(card->major(), card->minor());
  if (!architecture.ok()) {
    return absl::Status(
        architecture.status().code(),
        absl::StrCat(card->name(), " (", card->model(), "): ", architecture.status().message()));
  }
  return std::make_unique<CardBackend>(std::move(card), *std::move(architecture), assembler,
                                       std::move(options));
}

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateGpuBackend(const Flags& flags) {
  TEKTITE_ASSIGN_OR_RETURN(const int number, NumberOf(flags.device));
  const int64_t limit = std::min<int64_t>(std::max<int64_t>(flags.device_memory_mb, 0), 1 << 30)
                        << 20;
  TEKTITE_ASSIGN_OR_RETURN(std::shared_ptr<Card> card, SharedCard(number, limit));
  CardOptions options;
  options.tf32 = flags.f32_products == "tf32";
  options.products = CublasLt::OfThisMachine();
  options.cudnn = Cudnn::OfThisMachine();
  return CreateCardBackend(std::move(card), Assembler::OfThisMachine(), std::move(options));
}

}  // namespace tektite::gpu
