// The facts about the machine that code generation and layout choices need.
//
// A back end fills it from the machine, or from --cpu=avx2; no other code asks the machine.
// Limits: the instruction set varies, the architecture does not: code is for the host's triple.
#ifndef TEKTITE_JIT_TARGET_TARGET_INFO_H_
#define TEKTITE_JIT_TARGET_TARGET_INFO_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/dtype.h"

namespace tektite::target {

// Which convolutions of groups, and gradients of their filters, are faster as one for each group:
// those whose groups have so many channels on the narrower side.  1: all.
struct GroupSplitting {
  int64_t channels = 1;
  int64_t channels_of_bf16 = 1;
  // The same for kernels of so many taps along the last dimension; 0: no such rule.
  int64_t many_taps = 0, channels_of_many_taps = 1;
};

struct TargetInfo {
  std::string cpu;            // LLVM's name, such as "znver5"
  std::string features;       // LLVM's feature string, "+avx512f,..."
  int vector_bytes = 32;      // 64 with AVX-512
  int vector_registers = 16;  // 32 with AVX-512
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 8 << 20;
  bool has_bf16_dot = false;           // AVX512-BF16, faster than f32: pairs of bf16, sums of f32
  bool has_bf16_tiles = false;         // AMX-BF16, and this process may use it
  bool splits_f32 = false;             // by permission: f32 as two bf16 each (--f32_products)
  bool has_int8_dot = false;           // AVX512-VNNI, cards: products of four bytes, sums of s32
  bool has_int8_tiles = false;         // AMX-INT8, and this process may use it
  bool widens_int8 = false;            // AVX2 alone: bytes as pairs of s16, sums of s32
  bool multiplies_f32_faster = false;  // than integers of 32 bits
  // Bytes of which the addresses of operands must be multiples.  A part of a buffer that begins
  // elsewhere is copied; all buffers begin at multiples of kAlignment.
  int64_t operand_alignment = 1;
  // Types of attention that there are kernels for: fusions of kind `attention` are made then.
  std::vector<ir::DType> attention_types = {ir::DType::kF32};
  GroupSplitting groups;
  // Input channels from which on Winograd's algorithm is considered.  A sum has as many terms then,
  // where a direct one has nine times as many, and its rounding error is 0.55 to 0.75 of the direct
  // sum's (random weights and inputs, in order, f32); with few channels the transforms' own weigh
  // more.
  int64_t winograd_channels = 128;
  std::string code_generator;  // "llvm 22.1.8"; empty where code is not generated

  // The cost model's rates of one core, chosen on Zen 5 servers (bench/kernels prints a machine's
  // own).  Constants: plans follow from them, and are the same in every process.
  double clock_ghz = 4;              // while it multiplies vectors
  double vector_fmas_per_cycle = 2;  // multiply-adds of whole vectors
  double tile_fmas_per_cycle = 600;  // multiply-adds of bf16 in tiles: 0.6 of the units' peak
  double memory_bytes_per_ns = 20;   // to or from memory
  double l2_bytes_per_ns = 400;      // out of L2 beside multiply-adds, without taking longer

  bool Attends(ir::DType dtype) const {
    return std::find(attention_types.begin(), attention_types.end(), dtype) !=
           attention_types.end();
  }
  bool MultipliesBytes() const { return has_int8_dot || widens_int8; }
  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  double ns(double cycles) const { return cycles / clock_ghz; }
  // The rate that one core is expected to reach: nine tenths of its units' peak.
  double vector_fmas_per_ns() const { return clock_ghz * vector_fmas_per_cycle * 0.9; }
};

}  // namespace tektite::target

#endif  // TEKTITE_JIT_TARGET_TARGET_INFO_H_
