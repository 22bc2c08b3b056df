// What code generation and layout choices need to know about the machine.
//
// A back end fills it from what it detects, or from --cpu=avx2; nothing else asks the machine.
// Limits: the instruction set varies, the architecture does not: code is for the host's triple.
#ifndef TEKTITE_JIT_BACKEND_TARGET_INFO_H_
#define TEKTITE_JIT_BACKEND_TARGET_INFO_H_

#include <cstdint>
#include <string>

namespace tektite::backend {

struct TargetInfo {
  std::string cpu;            // LLVM's name, such as "znver5"
  std::string features;       // LLVM's feature string, "+avx512f,..."
  int vector_bytes = 32;      // 64 with AVX-512
  int vector_registers = 16;  // 32 with AVX-512
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 8 << 20;
  bool has_bf16_dot = false;
  // Input channels from which on Winograd's algorithm is considered; 0: never.
  int64_t winograd_channels = 0;
  std::string code_generator;  // "llvm 22.1.8"; empty where code is not generated

  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_TARGET_INFO_H_
