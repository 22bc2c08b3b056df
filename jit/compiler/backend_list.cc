#include "jit/compiler/backend_list.h"

#include "jit/reference/interpreter.h"
#include "jit/reference/reference_backend.h"
#ifdef TEKTITE_HAS_CPU_BACKEND
#include "backends/cpu/cpu_backend.h"
#endif
#ifdef TEKTITE_HAS_GPU_BACKEND
#include "backends/gpu/card_backend.h"
#include "backends/gpu/driver/card_kernel.h"
#endif

namespace tektite::compiler {

absl::Span<const BackendInfo> AllBackends() {
  static constexpr BackendInfo kBackends[] = {
#ifdef TEKTITE_HAS_GPU_BACKEND
      {"gpu", &gpu::CreateGpuBackend, /*is_for_card=*/true, &gpu::DescribeImage},
#endif
#ifdef TEKTITE_HAS_CPU_BACKEND
      {"cpu", &cpu::CreateCpuBackend},
#endif
      {kReference, &reference::ReferenceBackend::Create},
  };
  return kBackends;
}

std::string DescribeImage(absl::string_view backend, absl::string_view image) {
  for (const BackendInfo& info : AllBackends()) {
    if (info.name == backend && info.describe_image != nullptr) return info.describe_image(image);
  }
  return "";
}

absl::StatusOr<std::vector<ir::Literal>> Evaluate(const ir::Graph& graph,
                                                  absl::Span<const ir::Literal> parameters) {
  return reference::Evaluate(graph, parameters);
}

}  // namespace tektite::compiler
