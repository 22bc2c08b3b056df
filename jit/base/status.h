// Status plumbing: the one error type (absl::Status) and the two macros that pass it on.
//
//   absl::StatusOr<Shape> Infer(const Node& node) {
//     TEKTITE_RETURN_IF_ERROR(CheckRank(node, 2));
//     TEKTITE_ASSIGN_OR_RETURN(Shape lhs, Operand(node, 0));
//     return lhs;
//   }
//
// Codes: InvalidArgument is the user's fault, Unimplemented an ordinary "not here" with a reason,
// Internal a defect of ours.  None of them ever aborts the host.
#ifndef TEKTITE_JIT_BASE_STATUS_H_
#define TEKTITE_JIT_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tektite {

template <typename... Args>
absl::Status InvalidArgument(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status Unimplemented(const Args&... args) {
  return absl::UnimplementedError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status Internal(const Args&... args) {
  return absl::InternalError(absl::StrCat(args...));
}

}  // namespace tektite

#define TEKTITE_CONCAT_INNER(a, b) a##b
#define TEKTITE_CONCAT(a, b) TEKTITE_CONCAT_INNER(a, b)

#define TEKTITE_RETURN_IF_ERROR(expr)                  \
  do {                                                 \
    absl::Status tektite_status_ = (expr);             \
    if (!tektite_status_.ok()) return tektite_status_; \
  } while (false)

#define TEKTITE_ASSIGN_OR_RETURN(lhs, expr) \
  TEKTITE_ASSIGN_OR_RETURN_IMPL(TEKTITE_CONCAT(tektite_or_, __LINE__), lhs, expr)
#define TEKTITE_ASSIGN_OR_RETURN_IMPL(var, lhs, expr) \
  auto var = (expr);                                  \
  if (!var.ok()) return var.status();                 \
  lhs = std::move(var).value()

#endif  // TEKTITE_JIT_BASE_STATUS_H_
