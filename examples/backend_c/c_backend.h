// A back end that prints C and calls the system's compiler: a whole one, in some 500 lines.
//
//   compiler_options.own_backend = [] { return backend_c::CreateBackendC(); };
//
// Kernels run on the host.  What c_printer.h has no C for is refused, and the compiler takes the
// fusion apart; the interpreter computes what is left, where it is tiny.
#ifndef TEKTITE_EXAMPLES_BACKEND_C_C_BACKEND_H_
#define TEKTITE_EXAMPLES_BACKEND_C_C_BACKEND_H_

#include <memory>

#include "jit/backend/backend.h"

namespace backend_c {

std::unique_ptr<tektite::backend::Backend> CreateBackendC();

}  // namespace backend_c

#endif  // TEKTITE_EXAMPLES_BACKEND_C_C_BACKEND_H_
