// Which build this code belongs to: the linker's build id of the library or program it stands in.
//
//   key = absl::StrCat(text, ";", BuildId());      // "4e37f37b8363b7dadf9c6eaa697d31c39ee8c471"
//
// Equal for equal code on any machine, different as soon as one instruction differs: what a cache
// of compiled code has to know about the compiler.  Empty when the linker wrote none.
#ifndef TEKTITE_JIT_BASE_BUILD_ID_H_
#define TEKTITE_JIT_BASE_BUILD_ID_H_

#include <string>

namespace tektite {

const std::string& BuildId();

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_BUILD_ID_H_
