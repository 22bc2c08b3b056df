// All back ends, in the order in which they are asked for a kernel.
//
// The list is backend_list.cc, the one file of the compiler that names back ends; a new one is a
// row there.  --device says which of them serve: those for the host, or one for a card.
#ifndef TEKTITE_JIT_COMPILER_BACKEND_LIST_H_
#define TEKTITE_JIT_COMPILER_BACKEND_LIST_H_

#include <memory>
#include <string>
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
  bool is_for_card = false;
  // What people want to know of a kernel's image beside its size; may be null.
  std::string (*describe_image)(absl::string_view image) = nullptr;
};

// The reference interpreter stands last.
absl::Span<const BackendInfo> AllBackends();
inline constexpr absl::string_view kReference = "reference";

// What the back end says of an image that it made; empty where it says nothing.
std::string DescribeImage(absl::string_view backend, absl::string_view image);

// A graph's outputs for given parameters, by the reference interpreter.
absl::StatusOr<std::vector<ir::Literal>> Evaluate(const ir::Graph& graph,
                                                  absl::Span<const ir::Literal> parameters);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_BACKEND_LIST_H_
