#include "backends/cpu/aot/page_code.h"

#include "jit/aot/read_ranges.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {
namespace {

constexpr int64_t kPage = 4096;
// Of less, faults take no longer than the call.
constexpr int64_t kLeastBytes = 1 << 20;
constexpr uint32_t kLargePages = 14;    // MADV_HUGEPAGE
constexpr uint32_t kPopulateRead = 22;  // MADV_POPULATE_READ, since Linux 5.14

}  // namespace

void EmitPopulateRange(llvm::Value* begin, int64_t bytes, llvm::IRBuilder<>* b) {
  llvm::Type *ptr = b->getPtrTy(), *i64 = b->getInt64Ty(), *i32 = b->getInt32Ty();
  llvm::Value* const address = b->CreatePtrToInt(begin, i64);
  llvm::Value* const first = b->CreateAnd(address, b->getInt64(~static_cast<uint64_t>(kPage - 1)));
  llvm::Value* const length =
      b->CreateAdd(b->CreateSub(address, first), b->getInt64(static_cast<uint64_t>(bytes)));
  const llvm::FunctionCallee madvise = b->GetInsertBlock()->getModule()->getOrInsertFunction(
      "madvise", llvm::FunctionType::get(i32, {ptr, i64, i32}, false));
  for (uint32_t advice : {kLargePages, kPopulateRead}) {
    b->CreateCall(madvise, {b->CreateIntToPtr(first, ptr), length, b->getInt32(advice)});
  }
}

void EmitPopulate(const aot::Library& library, llvm::Value* data, llvm::IRBuilder<>* b) {
  for (const auto& [begin, end] : aot::RangesReadWhole(library)) {
    if (end - begin < kLeastBytes) continue;
    EmitPopulateRange(
        b->CreateConstInBoundsGEP1_64(b->getInt8Ty(), data, static_cast<uint64_t>(begin)),
        end - begin, b);
  }
}

}  // namespace tektite::cpu
