// All back ends.  The list is backend_list.cc, the one file that names them; a new one is a row
// there.
//
//   options.backends = c_api::AllBackends();
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_BACKEND_LIST_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_BACKEND_LIST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "jit/compiler/backend_info.h"

namespace tektite::c_api {

compiler::BackendList AllBackends();

// What the back end says of an image that it made; empty where it says nothing.
std::string DescribeImage(absl::string_view backend, absl::string_view image);

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_BACKEND_LIST_H_
