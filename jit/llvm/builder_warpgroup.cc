// Builder's instructions for roles, signals, copies of tensors and products of warpgroups.
#include <utility>

#include "jit/llvm/instr.h"
#include "jit/llvm/warpgroup.h"

namespace tektite::loop {
namespace {

// Operands of `instr` that are its results, too.
std::vector<Value> PassOn(absl::Span<const Value> sums, Instr* instr) {
  std::vector<Value> results;
  for (Value sum : sums) {
    instr->operands.push_back(sum);
    instr->results.push_back(sum.type());
    results.emplace_back(instr, static_cast<int>(results.size()));
  }
  return results;
}

}  // namespace

void Builder::Roles(int threads, std::pair<int, int> registers, const std::function<void()>& first,
                    const std::function<void()>& second) {
  Block::Arena& arena = *kernel_->body().arena;
  ThreadIndex();  // decides: it has to be a leaf of the kernel
  Instr* instr = arena.New(Code::kRoles);
  instr->immediate = threads;
  instr->lanes = {registers.first, registers.second};
  instr->body = &arena.blocks.emplace_back();
  instr->otherwise = &arena.blocks.emplace_back();
  Block* outer = std::exchange(block_, instr->body);
  first();
  block_ = instr->otherwise;
  second();
  block_ = outer;
  Emit(instr);
}

void Builder::WarpBarrier() { Emit(kernel_->body().arena->New(Code::kWarpBarrier)); }

void Builder::InitSignal(Value signals, Value index, int arrivals) {
  Instr* instr = kernel_->body().arena->New(Code::kInitSignal);
  instr->operands = {signals, index};
  instr->immediate = arrivals;
  Emit(instr);
}

void Builder::Arrive(Value signals, Value index, Value bytes) {
  Instr* instr = kernel_->body().arena->New(Code::kArrive);
  instr->operands = {signals, index};
  if (bytes) instr->operands.push_back(bytes);
  Emit(instr);
}

void Builder::WaitForSignal(Value signals, Value index, Value parity) {
  Instr* instr = kernel_->body().arena->New(Code::kWaitForSignal);
  instr->operands = {signals, index, parity};
  Emit(instr);
}

void Builder::AcquireTensor(int map) {
  Instr* instr = kernel_->body().arena->New(Code::kAcquireTensor);
  instr->immediate = map;
  Emit(instr);
}

void Builder::CopyTensor(Value to, Value to_index, int map, absl::Span<const Value> place,
                         Value signals, Value signal) {
  Instr* instr = kernel_->body().arena->New(Code::kCopyTensor);
  instr->operands = {to, to_index, signals, signal};
  instr->operands.insert(instr->operands.end(), place.begin(), place.end());
  instr->access = to.dtype();
  instr->immediate = map;
  Emit(instr);
}

std::vector<Value> Builder::BeginProduct(Value shared, DType dtype, const SharedMatrix& a,
                                         const SharedMatrix& b, absl::Span<const Value> sums) {
  return BeginProductOf({a.index}, a.transposed ? kATransposed : 0, shared, dtype, b, sums);
}

std::vector<Value> Builder::BeginProduct(absl::Span<const Value> a, Value shared,
                                         const SharedMatrix& b, absl::Span<const Value> sums) {
  return BeginProductOf(a, kAInRegisters, shared, a[0].dtype(), b, sums);
}

std::vector<Value> Builder::BeginProductOf(absl::Span<const Value> a, int64_t flags, Value shared,
                                           DType dtype, const SharedMatrix& b,
                                           absl::Span<const Value> sums) {
  Instr* instr = kernel_->body().arena->New(Code::kBeginProduct);
  instr->operands = {shared, b.index};
  instr->operands.insert(instr->operands.end(), a.begin(), a.end());
  instr->access = dtype;
  instr->immediate = flags + (b.transposed ? kBTransposed : 0);
  std::vector<Value> results = PassOn(sums, instr);
  Emit(instr);
  return results;
}

std::vector<Value> Builder::WaitForProducts(int under_way, absl::Span<const Value> sums,
                                            Value after) {
  Instr* instr = kernel_->body().arena->New(Code::kWaitForProducts);
  instr->immediate = under_way;
  std::vector<Value> results = PassOn(sums, instr);
  if (after) instr->operands.push_back(after);
  Emit(instr);
  return results;
}

}  // namespace tektite::loop
