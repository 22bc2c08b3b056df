// Static libraries for CPUs.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto writer, CreateCpuCodeWriter("x86-64-v3,x86-64-v4", flags));
//
// The names are those of TargetNamed (cpu_features.h).  From flags it reads --f32_products.  A
// library is an archive: for each CPU an object of each kernel and one of the calling program, one
// of the functions that choose, and one of the weights, which the CPUs share where they are packed
// alike.
#ifndef TEKTITE_BACKENDS_CPU_AOT_CPU_CODE_WRITER_H_
#define TEKTITE_BACKENDS_CPU_AOT_CPU_CODE_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "jit/aot/code_writer.h"
#include "jit/base/flags.h"

namespace tektite::cpu {

absl::StatusOr<std::unique_ptr<aot::CodeWriter>> CreateCpuCodeWriter(const std::string& cpus,
                                                                     const Flags& flags);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_CPU_CODE_WRITER_H_
