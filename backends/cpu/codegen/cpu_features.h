// Detects the CPU's features as a TargetInfo: from cpuid by way of LLVM, and the caches from sysfs.
//
//   ASSIGN_OR_RETURN(TargetInfo target, DetectTarget("native"));
//
// The flag --cpu: "native" takes the machine's features (AVX-512 when F, BW, DQ and VL are, else
// AVX2); "avx512" and "avx2" (x86-64-v3: 32-byte vectors, 16 registers) force one, so that the
// tests can run both on one machine.  A machine without AVX2, FMA and F16C gets Unimplemented.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_CPU_FEATURES_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_CPU_FEATURES_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/base/flags.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

absl::StatusOr<target::TargetInfo> DetectTarget(absl::string_view flag);

// What --f32_products allows of what the target can do.
void TakePermissions(const Flags& flags, target::TargetInfo* target);

// A target of code that may run on another machine.
struct NamedTarget {
  target::TargetInfo info;
  bool runs_here = false;
  bool is_aarch64 = false;  // Linux's, whatever this machine is
};
// "native" (as DetectTarget), "x86-64-v3", "x86-64-v4", "amx" (x86-64-v4 with products of bf16 and
// bytes, in tiles) or "armv8-a" (which are the same on every machine, whatever its caches).
absl::StatusOr<NamedTarget> TargetNamed(absl::string_view name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_CPU_FEATURES_H_
