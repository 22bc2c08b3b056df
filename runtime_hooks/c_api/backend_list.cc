#include "runtime_hooks/c_api/backend_list.h"

#include "jit/reference/interpreter.h"
#include "jit/reference/reference_backend.h"
#ifdef TEKTITE_HAS_CPU_BACKEND
#include "backends/cpu/aot/cpu_code_writer.h"
#include "backends/cpu/cpu_backend.h"
#endif
#ifdef TEKTITE_HAS_GPU_BACKEND
#include "backends/gpu/card_backend.h"
#include "backends/gpu/driver/card_kernel.h"
#endif

namespace tektite::c_api {

compiler::BackendList AllBackends() {
  static constexpr compiler::BackendInfo kBackends[] = {
#ifdef TEKTITE_HAS_GPU_BACKEND
      {"gpu", &gpu::CreateGpuBackend, /*is_for_card=*/true, &gpu::DescribeImage},
#endif
#ifdef TEKTITE_HAS_CPU_BACKEND
      {"cpu", &cpu::CreateCpuBackend},
#endif
      {compiler::kReference, &reference::ReferenceBackend::Create},
  };
  return {kBackends, &reference::Evaluate};
}

absl::StatusOr<std::unique_ptr<aot::CodeWriter>> LibraryWriter(const std::string& cpu,
                                                               const Flags& flags) {
#ifdef TEKTITE_HAS_CPU_BACKEND
  return cpu::CreateCpuCodeWriter(cpu, flags);
#else
  return absl::UnimplementedError("this build makes no code for CPUs");
#endif
}

std::string DescribeImage(absl::string_view backend, absl::string_view image) {
  for (const compiler::BackendInfo& info : AllBackends().rows) {
    if (info.name == backend && info.describe_image != nullptr) return info.describe_image(image);
  }
  return "";
}

}  // namespace tektite::c_api
