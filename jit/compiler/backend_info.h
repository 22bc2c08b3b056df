// What a compiler is told of the back ends that there are.
//
//   const BackendList all = c_api::AllBackends();     // runtime_hooks/c_api/backend_list.h
//   options.backends = all;
//
// Why: a compiler names no back end, so that what is linked with it is for the program at the top
// to say.  --device says which of the list serve: those for the host, or one for a card.
#ifndef TEKTITE_JIT_COMPILER_BACKEND_INFO_H_
#define TEKTITE_JIT_COMPILER_BACKEND_INFO_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/backend/backend.h"
#include "jit/base/flags.h"
#include "jit/ir/literal.h"

namespace tektite::compiler {

struct BackendInfo {
  absl::string_view name;
  absl::StatusOr<std::unique_ptr<backend::Backend>> (*create)(const Flags& flags);
  bool is_for_card = false;
  // What people want to know of a kernel's image beside its size; may be null.
  std::string (*describe_image)(absl::string_view image) = nullptr;
};

inline constexpr absl::string_view kReference = "reference";

struct BackendList {
  // In the order in which they are asked for a kernel; the reference interpreter stands last.
  absl::Span<const BackendInfo> rows;
  // A graph's outputs for given parameters, which constant folding asks for; may be null.
  absl::StatusOr<std::vector<ir::Literal>> (*evaluate)(
      const ir::Graph& graph, absl::Span<const ir::Literal> parameters) = nullptr;
};

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_BACKEND_INFO_H_
