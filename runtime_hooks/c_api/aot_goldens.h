// What a call of a library is to return, from the same graph compiled for this process.
//
//   TEKTITE_ASSIGN_OR_RETURN(aot::Goldens goldens, RunGoldens(source, flags, library, sizes));
//
// Arguments are those of FillArgument (programs.h).  Nothing is measured, so that on the same CPU
// the library's results are these to the bit.
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_AOT_GOLDENS_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_AOT_GOLDENS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "clustering/source/library_source.h"
#include "jit/aot/programs.h"
#include "jit/base/flags.h"

namespace tektite::c_api {

// `sizes`: of the library's open sizes, in order.
absl::StatusOr<aot::Goldens> RunGoldens(const clustering::LibrarySource& source, const Flags& flags,
                                        const aot::Library& library,
                                        const std::vector<int64_t>& sizes);

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_AOT_GOLDENS_H_
