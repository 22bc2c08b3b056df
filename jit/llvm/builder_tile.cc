// Builder's instructions for words of bf16, s8 and s16 and for matrix tiles of a CPU.
#include "jit/llvm/instr.h"

namespace tektite::loop {

Value Builder::DotPairs(Value a, Value b, Value sums) {
  Instr* instr = kernel_->body().arena->New(Code::kDotPairs);
  instr->operands = {a, b, sums};
  instr->results.push_back(sums.type());
  return Emit(instr);
}

Value Builder::DotBytes(Value a, Value b, Value sums) {
  Instr* instr = kernel_->body().arena->New(Code::kDotBytes);
  instr->operands = {a, b, sums};
  instr->results.push_back(sums.type());
  return Emit(instr);
}

Value Builder::DotShorts(Value a, Value b, Value sums) {
  Instr* instr = kernel_->body().arena->New(Code::kDotShorts);
  instr->operands = {a, b, sums};
  instr->results.push_back(sums.type());
  return Emit(instr);
}

void Builder::ConfigureTiles(absl::Span<const TileShape> shapes) {
  Instr* instr = kernel_->body().arena->New(Code::kTileConfigure);
  for (const TileShape& shape : shapes) {
    instr->lanes.push_back(shape.rows);
    instr->lanes.push_back(shape.row_bytes);
  }
  Emit(instr);
}

void Builder::ReleaseTiles() { Emit(kernel_->body().arena->New(Code::kTileRelease)); }

void Builder::ZeroTile(int tile) {
  Instr* instr = kernel_->body().arena->New(Code::kTileZero);
  instr->immediate = tile;
  Emit(instr);
}

void Builder::LoadTile(int tile, Value pointer, DType dtype, Value index, Value stride) {
  Instr* instr = kernel_->body().arena->New(Code::kTileLoad);
  instr->operands = {pointer, index, stride};
  instr->access = dtype;
  instr->immediate = tile;
  Emit(instr);
}

void Builder::StoreTile(int tile, Value pointer, DType dtype, Value index, Value stride) {
  Instr* instr = kernel_->body().arena->New(Code::kTileStore);
  instr->operands = {pointer, index, stride};
  instr->access = dtype;
  instr->immediate = tile;
  Emit(instr);
}

void Builder::MultiplyTiles(int sums, int a, int b, DType dtype) {
  Instr* instr = kernel_->body().arena->New(Code::kTileMultiply);
  instr->lanes = {sums, a, b};
  instr->access = dtype;
  Emit(instr);
}

}  // namespace tektite::loop
