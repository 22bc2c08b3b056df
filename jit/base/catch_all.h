// Exceptions become statuses.
//
//   const absl::Status status = CatchAll([&]() -> absl::Status { return Work(); });
//
// Why: protozero and the standard library throw, and nothing may be thrown across the C interface.
// Limits: the text of an exception of unknown type is lost.
#ifndef TEKTITE_JIT_BASE_CATCH_ALL_H_
#define TEKTITE_JIT_BASE_CATCH_ALL_H_

#include <exception>
#include <new>

#include "absl/status/status.h"

namespace tektite {

// Runs body() -> absl::Status; nothing gets past it.
template <typename Body>
absl::Status CatchAll(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& e) {
    return absl::InternalError(e.what());
  } catch (...) {
    return absl::InternalError("an exception of unknown type");
  }
}

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_CATCH_ALL_H_
