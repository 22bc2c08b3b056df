#include "mine_backend.h"

#include "jit/base/status.h"
#include "jit/reference/reference_backend.h"
#include "mine_device.h"
#include "mine_kernel.h"

namespace mine {
namespace {

class MineBackend final : public backend::Backend {
 public:
  MineBackend() : interpreter_(*tektite::reference::ReferenceBackend::Create({})) {
    target_.cpu = "mine";  // part of the cache's keys
  }

  absl::string_view name() const override { return "mine"; }
  const tektite::target::TargetInfo& target() const override { return target_; }
  std::shared_ptr<backend::Device> device() const override { return device_; }

  // To replace, kind by kind (fusion.fusion_kind()): make code of fusion.region(), and refuse with
  // Unimplemented what there is no code for.  The host computes that.
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const tektite::ir::Node& fusion, const backend::CompileOptions& options) override {
    TEKTITE_ASSIGN_OR_RETURN(auto kernel, interpreter_->Compile(fusion, options));
    return std::make_shared<const MineKernel>(
        std::static_pointer_cast<const backend::HostKernel>(std::move(kernel)));
  }

 private:
  tektite::target::TargetInfo target_;
  const std::unique_ptr<backend::Backend> interpreter_;
  const std::shared_ptr<MineDevice> device_ = std::make_shared<MineDevice>();
};

}  // namespace

std::unique_ptr<backend::Backend> CreateMine() { return std::make_unique<MineBackend>(); }

}  // namespace mine
