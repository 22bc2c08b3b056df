// Words of bf16, s8 and s16 as AVX512-BF16, AVX512-VNNI and AVX2 multiply them, and matrix tiles as
// AMX does.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <numeric>

#include "jit/llvm/lower_context.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tektite::loop {

namespace {

namespace Intrinsic = llvm::Intrinsic;

// What LDTILECFG reads: the palette, then bytes of a row and rows of each tile (Intel's Software
// Developer's Manual, volume 1, chapter 18).
llvm::Value* Configuration(LowerContext& c, const Instr& instr) {
  constexpr size_t kBytes = 64, kRowBytes = 16, kRows = 48;
  std::array<uint8_t, kBytes> bytes = {1};
  for (size_t tile = 0; 2 * tile < instr.lanes.size(); ++tile) {
    bytes[kRows + tile] = static_cast<uint8_t>(instr.lanes[2 * tile]);
    bytes[kRowBytes + 2 * tile] = static_cast<uint8_t>(instr.lanes[2 * tile + 1]);
  }
  llvm::Constant* data = llvm::ConstantDataArray::get(c.builder.getContext(), bytes);
  auto* global =
      new llvm::GlobalVariable(*c.module, data->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::PrivateLinkage, data, "tile_configuration");
  global->setAlignment(llvm::Align(kBytes));
  return global;
}

}  // namespace

llvm::Value* LowerDotPairs(LowerContext& c, llvm::Value* a, llvm::Value* b, llvm::Value* sums) {
  llvm::IRBuilder<>& builder = c.builder;
  const int lanes = LanesOf(sums);
  auto* pairs = llvm::FixedVectorType::get(builder.getBFloatTy(), static_cast<unsigned>(2 * lanes));
  const Intrinsic::ID id = lanes == 16  ? Intrinsic::x86_avx512bf16_dpbf16ps_512
                           : lanes == 8 ? Intrinsic::x86_avx512bf16_dpbf16ps_256
                                        : Intrinsic::x86_avx512bf16_dpbf16ps_128;
  return builder.CreateIntrinsic(
      sums->getType(), id,
      {sums, builder.CreateBitCast(a, pairs), builder.CreateBitCast(b, pairs)});
}

llvm::Value* LowerDotBytes(LowerContext& c, llvm::Value* a, llvm::Value* b, llvm::Value* sums) {
  llvm::IRBuilder<>& builder = c.builder;
  const int lanes = LanesOf(sums);
  // LLVM's intrinsics take vectors of bytes.
  auto* bytes = llvm::FixedVectorType::get(builder.getInt8Ty(), static_cast<unsigned>(4 * lanes));
  const Intrinsic::ID id = lanes == 16  ? Intrinsic::x86_avx512_vpdpbusd_512
                           : lanes == 8 ? Intrinsic::x86_avx512_vpdpbusd_256
                                        : Intrinsic::x86_avx512_vpdpbusd_128;
  return builder.CreateIntrinsic(
      sums->getType(), id,
      {sums, builder.CreateBitCast(a, bytes), builder.CreateBitCast(b, bytes)});
}

// By vpmaddwd and vpaddd, of at most eight words: 16 are two registers of AVX2.
llvm::Value* LowerDotShorts(LowerContext& c, llvm::Value* a, llvm::Value* b, llvm::Value* sums) {
  llvm::IRBuilder<>& builder = c.builder;
  const int lanes = LanesOf(sums);
  auto* shorts = llvm::FixedVectorType::get(builder.getInt16Ty(), static_cast<unsigned>(2 * lanes));
  a = builder.CreateBitCast(a, shorts);
  const auto multiply = [&](llvm::Value* x, llvm::Value* y) {
    const bool is_whole = LanesOf(x) == 16;
    auto* words = llvm::FixedVectorType::get(builder.getInt32Ty(), is_whole ? 8 : 4);
    const Intrinsic::ID id = is_whole ? Intrinsic::x86_avx2_pmadd_wd : Intrinsic::x86_sse2_pmadd_wd;
    return builder.CreateIntrinsic(words, id, {x, y});
  };
  if (lanes < 16) return builder.CreateAdd(sums, multiply(a, b));
  const auto part = [&](llvm::Value* v, int first) {
    std::array<int, 16> indices;
    std::iota(indices.begin(), indices.end(), first);
    return builder.CreateShuffleVector(v, indices);
  };
  llvm::Value* low = multiply(part(a, 0), part(b, 0));
  llvm::Value* high = multiply(part(a, 16), part(b, 16));
  std::array<int, 16> all;
  std::iota(all.begin(), all.end(), 0);
  return builder.CreateAdd(sums, builder.CreateShuffleVector(low, high, all));
}

void LowerTile(LowerContext& c, const Instr& instr, const OperandOf& operand) {
  llvm::IRBuilder<>& b = c.builder;
  const auto call = [&](Intrinsic::ID id, std::initializer_list<llvm::Value*> arguments) {
    b.CreateIntrinsic(b.getVoidTy(), id, arguments);
  };
  const auto tile = [&](int64_t number) { return b.getInt8(static_cast<uint8_t>(number)); };
  switch (instr.code) {
    case Code::kTileConfigure:
      call(Intrinsic::x86_ldtilecfg, {Configuration(c, instr)});
      c.in_tiles = true;
      return;
    case Code::kTileRelease:
      call(Intrinsic::x86_tilerelease, {});
      c.in_tiles = false;
      return;
    case Code::kTileZero:
      call(Intrinsic::x86_tilezero, {tile(instr.immediate)});
      return;
    case Code::kTileMultiply:
      call(instr.access == ir::DType::kS8   ? Intrinsic::x86_tdpbssd
           : instr.access == ir::DType::kU8 ? Intrinsic::x86_tdpbusd
                                            : Intrinsic::x86_tdpbf16ps,
           {tile(instr.lanes[0]), tile(instr.lanes[1]), tile(instr.lanes[2])});
      return;
    default: {
      llvm::Value* address =
          b.CreateGEP(MemoryType(b.getContext(), instr.access), operand(0), operand(1));
      llvm::Value* stride = b.CreateMul(operand(2), b.getInt64(ir::DTypeBytes(instr.access)));
      b.CreateIntrinsic(
          instr.code == Code::kTileLoad ? Intrinsic::x86_tileloadd64 : Intrinsic::x86_tilestored64,
          {}, {tile(instr.immediate), address, stride});
    }
  }
}

}  // namespace tektite::loop
