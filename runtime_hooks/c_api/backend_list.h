// All back ends.  The list is backend_list.cc, the one file that names them; a new one is a row
// there.
//
//   options.backends = c_api::AllBackends();
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_BACKEND_LIST_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_BACKEND_LIST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/aot/code_writer.h"
#include "jit/base/flags.h"
#include "jit/compiler/backend_info.h"

namespace tektite::c_api {

compiler::BackendList AllBackends();

// Of libraries for a CPU of that name; Unimplemented in a build without a back end for CPUs.
absl::StatusOr<std::unique_ptr<aot::CodeWriter>> LibraryWriter(const std::string& cpu,
                                                               const Flags& flags);

// What the back end says of an image that it made; empty where it says nothing.
std::string DescribeImage(absl::string_view backend, absl::string_view image);

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_BACKEND_LIST_H_
