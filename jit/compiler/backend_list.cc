#include "jit/compiler/backend_list.h"

#include "jit/reference/interpreter.h"
#include "jit/reference/reference_backend.h"
#ifdef TEKTITE_HAS_CPU_BACKEND
#include "backends/cpu/cpu_backend.h"
#endif

namespace tektite::compiler {

absl::Span<const BackendInfo> AllBackends() {
  static constexpr BackendInfo kBackends[] = {
#ifdef TEKTITE_HAS_CPU_BACKEND
      {"cpu", &cpu::CreateCpuBackend},
#endif
      {kReference, &reference::ReferenceBackend::Create},
  };
  return kBackends;
}

absl::StatusOr<std::vector<ir::Literal>> Evaluate(const ir::Graph& graph,
                                                  absl::Span<const ir::Literal> parameters) {
  return reference::Evaluate(graph, parameters);
}

}  // namespace tektite::compiler
