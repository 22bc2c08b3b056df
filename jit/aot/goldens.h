// What a call of a library is to return, from the same graph compiled for this process.
//
//   TEKTITE_ASSIGN_OR_RETURN(Goldens goldens, RunGoldens(*executable, roles, bound, library));
//
// Arguments are those of FillArgument (programs.h); parameters of `bound` have these values.  Where
// nothing is measured, the library's results on the same CPU are these to the bit.
#ifndef TEKTITE_JIT_AOT_GOLDENS_H_
#define TEKTITE_JIT_AOT_GOLDENS_H_

#include <map>

#include "absl/status/statusor.h"
#include "jit/aot/programs.h"
#include "jit/ir/literal.h"
#include "jit/runtime/executable.h"

namespace tektite::aot {

absl::StatusOr<Goldens> RunGoldens(runtime::Executable& executable,
                                   const runtime::OutputRoles& roles,
                                   const std::map<int, ir::Literal>& bound, const Library& library);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_GOLDENS_H_
