// The system's C compiler: text in, a function out.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedFunction> f, CompileC(text));
//   f->call(buffers, sizes, scratch);
//
// Runs $CC, or cc, in a folder of its own that is gone when this returns.
#ifndef TEKTITE_EXAMPLES_BACKEND_C_SYSTEM_COMPILER_H_
#define TEKTITE_EXAMPLES_BACKEND_C_SYSTEM_COMPILER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace backend_c {

class LoadedFunction {
 public:
  using Call = void (*)(void* const* buffers, const int64_t* sizes, char* scratch);
  LoadedFunction(void* library, Call call) : call(call), library_(library) {}
  ~LoadedFunction();
  LoadedFunction(const LoadedFunction&) = delete;
  LoadedFunction& operator=(const LoadedFunction&) = delete;

  const Call call;

 private:
  void* const library_;
};

// `text` defines `kernel`, a function of type Call.
absl::StatusOr<std::shared_ptr<const LoadedFunction>> CompileC(const std::string& text);

}  // namespace backend_c

#endif  // TEKTITE_EXAMPLES_BACKEND_C_SYSTEM_COMPILER_H_
