// All back ends, in the order in which they are asked for a kernel.
//
// The list is backend_list.cc, the one file of the compiler that names back ends; a new one is a
// row there.
#ifndef TEKTITE_JIT_COMPILER_BACKEND_LIST_H_
#define TEKTITE_JIT_COMPILER_BACKEND_LIST_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/backend/backend.h"
#include "jit/base/flags.h"

namespace tektite::compiler {

struct BackendInfo {
  absl::string_view name;
  absl::StatusOr<std::unique_ptr<backend::Backend>> (*create)(const Flags& flags);
};

// The reference interpreter stands last.
absl::Span<const BackendInfo> AllBackends();
inline constexpr absl::string_view kReference = "reference";

// A graph's outputs for given parameters, by the reference interpreter.
absl::StatusOr<std::vector<ir::Literal>> Evaluate(const ir::Graph& graph,
                                                  absl::Span<const ir::Literal> parameters);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_BACKEND_LIST_H_
