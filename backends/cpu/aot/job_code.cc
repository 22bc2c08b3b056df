#include "backends/cpu/aot/job_code.h"

#include "backends/cpu/aot/team_code.h"
#include "llvm/IR/Intrinsics.h"

namespace tektite::cpu {
namespace {

using Order = llvm::AtomicOrdering;

constexpr int64_t kLine = 64;
// Offsets in a job.
constexpr int64_t kChunksDone = 0;  // by threads that help
constexpr int64_t kOffers = 8;      // kernels so far; of the thread that runs the unit
constexpr int64_t kMostLines = kJobBytes / kLine - 1;
// Offsets in the line of a part.
constexpr int64_t kLeft = 0, kKernel = 8, kBuffers = 16, kTable = 24, kEnd = 32, kClaim = 40;
// Of the word at kLeft: chunks are below, the number of offers above.
constexpr uint64_t kOffersShift = 32, kMostChunks = (uint64_t{1} << kOffersShift) - 1;
constexpr llvm::Align kWordAlign = llvm::Align::Of<int64_t>();

}  // namespace

JobCode::JobCode(llvm::Module* module, const std::string& library) : FunctionCode(module) {
  llvm::Type* const nothing = b_.getVoidTy();
  kernel_type_ = KernelType(context_);
  unit_type_ = llvm::FunctionType::get(nothing, {ptr_, ptr_, ptr_, i64_, i64_}, false);
  const auto make = [&](llvm::Type* result, std::vector<llvm::Type*> types, const char* name) {
    return MakeInternal(&module_, llvm::FunctionType::get(result, types, false), library + name);
  };
  take_ = make(i64_, {ptr_, i64_, i64_, ptr_}, ".take");
  share_ = make(nothing, {ptr_, ptr_, ptr_, ptr_, i64_, i64_, ptr_, i64_, ptr_}, ".share");
  round_ = make(nothing, {ptr_, ptr_, i64_, i64_, i64_, ptr_}, ".round");
  relax_ = MakeRelax(&module_, library);
  MakeTake();
  MakeShare();
  MakeRound();
}

llvm::Value* JobCode::Load(llvm::Type* type, llvm::Value* address, Order order) {
  llvm::LoadInst* const load = b_.CreateAlignedLoad(type, address, kWordAlign);
  load->setAtomic(order);
  return load;
}

void JobCode::Store(llvm::Value* value, llvm::Value* address, Order order) {
  b_.CreateAlignedStore(value, address, kWordAlign)->setAtomic(order);
}

llvm::Value* JobCode::Parts(llvm::Value* threads) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, threads,
                                  b_.getInt64(static_cast<uint64_t>(kMostLines)));
}

llvm::Value* JobCode::JobOf(llvm::Value* jobs, llvm::Value* which) {
  return At(jobs, b_.CreateMul(which, b_.getInt64(static_cast<uint64_t>(kJobBytes))));
}

void JobCode::MakeTake() {
  function_ = take_;
  auto *entry = Block("entry"), *part = Block("part"), *look = Block("look"),
       *claim = Block("claim"), *run = Block("run"), *next = Block("next"), *end = Block("end");
  llvm::Value *job = take_->getArg(0), *parts = take_->getArg(1), *index = take_->getArg(2),
              *scratch = take_->getArg(3);
  b_.SetInsertPoint(entry);
  b_.CreateBr(part);

  b_.SetInsertPoint(part);
  llvm::PHINode* const turn = b_.CreatePHI(i64_, 2);
  llvm::PHINode* const before = b_.CreatePHI(i64_, 2);
  turn->addIncoming(b_.getInt64(0), entry);
  before->addIncoming(b_.getInt64(0), entry);
  llvm::Value* const which = b_.CreateURem(b_.CreateAdd(index, turn), parts);
  llvm::Value* const line =
      At(At(job, kLine), b_.CreateMul(which, b_.getInt64(static_cast<uint64_t>(kLine))));
  b_.CreateBr(look);

  b_.SetInsertPoint(look);
  llvm::PHINode* const taken = b_.CreatePHI(i64_, 3);
  taken->addIncoming(before, part);
  llvm::Value* const word = Load(i64_, At(line, kLeft), Order::Acquire);
  llvm::Value* const left = b_.CreateAnd(word, b_.getInt64(kMostChunks));
  b_.CreateCondBr(b_.CreateICmpEQ(left, b_.getInt64(0)), next, claim);

  b_.SetInsertPoint(claim);
  const auto read = [&](llvm::Type* type, int64_t offset) {
    return Load(type, At(line, offset), Order::Monotonic);
  };
  llvm::Value *kernel = read(ptr_, kKernel), *buffers = read(ptr_, kBuffers),
              *table = read(ptr_, kTable), *last = read(i64_, kEnd), *each = read(i64_, kClaim);
  llvm::Value* const count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, each, left);
  llvm::Value* const exchanged =
      b_.CreateAtomicCmpXchg(At(line, kLeft), word, b_.CreateSub(word, count), kWordAlign,
                             Order::Acquire, Order::Monotonic);
  taken->addIncoming(taken, claim);
  b_.CreateCondBr(b_.CreateExtractValue(exchanged, 1), run, look);

  b_.SetInsertPoint(run);
  llvm::Value* const first = b_.CreateSub(last, left);
  b_.CreateCall(kernel_type_, kernel, {buffers, table, scratch, first, b_.CreateAdd(first, count)});
  taken->addIncoming(b_.CreateAdd(taken, count), run);
  b_.CreateBr(look);

  b_.SetInsertPoint(next);
  llvm::Value* const turns = b_.CreateAdd(turn, b_.getInt64(1));
  turn->addIncoming(turns, next);
  before->addIncoming(taken, next);
  b_.CreateCondBr(b_.CreateICmpULT(turns, parts), part, end);
  b_.SetInsertPoint(end);
  b_.CreateRet(taken);
}

void JobCode::MakeShare() {
  function_ = share_;
  auto *entry = Block("entry"), *serial = Block("serial"), *alone = Block("alone"),
       *offer = Block("offer"), *end = Block("end");
  llvm::Value *frame = share_->getArg(0), *kernel = share_->getArg(1), *buffers = share_->getArg(2),
              *table = share_->getArg(3), *chunks = share_->getArg(4), *each = share_->getArg(5),
              *job = share_->getArg(6), *index = share_->getArg(7), *scratch = share_->getArg(8);
  b_.SetInsertPoint(entry);
  llvm::Value* const threads = b_.CreateLoad(i64_, At(frame, FrameHeader::kThreads));
  llvm::Value* const is_alone =
      b_.CreateOr(b_.CreateICmpSLE(threads, b_.getInt64(1)),
                  b_.CreateOr(b_.CreateICmpSGE(each, chunks),
                              b_.CreateICmpSGT(chunks, b_.getInt64(kMostChunks))));
  b_.CreateCondBr(is_alone, serial, offer);
  b_.SetInsertPoint(serial);
  b_.CreateCondBr(b_.CreateICmpSGT(chunks, b_.getInt64(0)), alone, end);
  b_.SetInsertPoint(alone);
  b_.CreateCall(kernel_type_, kernel, {buffers, table, scratch, b_.getInt64(0), chunks});
  b_.CreateBr(end);

  b_.SetInsertPoint(offer);
  llvm::Value* const parts = Parts(threads);
  llvm::Value* const offers = b_.CreateAdd(b_.CreateLoad(i64_, At(job, kOffers)), b_.getInt64(1));
  b_.CreateStore(offers, At(job, kOffers));
  Store(b_.getInt64(0), At(job, kChunksDone), Order::Monotonic);
  MakeOffer(b_.CreateShl(offers, b_.getInt64(kOffersShift)), parts);
  llvm::Value* const own = b_.CreateCall(take_, {job, parts, index, scratch});
  WaitUntil(&b_, relax_, [&] {
    llvm::Value* const others = Load(i64_, At(job, kChunksDone), Order::Acquire);
    return b_.CreateICmpSGE(b_.CreateAdd(own, others), chunks);
  });
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

// Writes the lines of share_'s kernel.
void JobCode::MakeOffer(llvm::Value* number, llvm::Value* parts) {
  llvm::Value *chunks = share_->getArg(4), *job = share_->getArg(6);
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  auto *part = Block("part"), *next = Block("next");
  b_.CreateBr(part);
  b_.SetInsertPoint(part);
  llvm::PHINode* const which = b_.CreatePHI(i64_, 2);
  llvm::PHINode* const begin = b_.CreatePHI(i64_, 2);
  which->addIncoming(b_.getInt64(0), before);
  begin->addIncoming(b_.getInt64(0), before);
  llvm::Value* const line = At(job, b_.CreateMul(b_.CreateAdd(which, b_.getInt64(1)),
                                                 b_.getInt64(static_cast<uint64_t>(kLine))));
  llvm::Value* const following = b_.CreateAdd(which, b_.getInt64(1));
  llvm::Value* const last = b_.CreateUDiv(b_.CreateMul(following, chunks), parts);
  const auto write = [&](llvm::Value* value, int64_t offset) {
    Store(value, At(line, offset), Order::Monotonic);
  };
  write(share_->getArg(1), kKernel);
  write(share_->getArg(2), kBuffers);
  write(share_->getArg(3), kTable);
  write(last, kEnd);
  write(share_->getArg(5), kClaim);
  Store(b_.CreateOr(number, b_.CreateSub(last, begin)), At(line, kLeft), Order::Release);
  which->addIncoming(following, part);
  begin->addIncoming(last, part);
  b_.CreateCondBr(b_.CreateICmpULT(following, parts), part, next);
  b_.SetInsertPoint(next);
}

void JobCode::MakeRound() {
  function_ = round_;
  auto *entry = Block("entry"), *serial = Block("serial"), *team = Block("team"),
       *claim = Block("claim"), *run = Block("run"), *wait = Block("wait"), *end = Block("end");
  llvm::Value *frame = round_->getArg(0), *unit = round_->getArg(1), *count = round_->getArg(2),
              *number = round_->getArg(3), *index = round_->getArg(4), *scratch = round_->getArg(5);
  b_.SetInsertPoint(entry);
  llvm::Value* const threads = b_.CreateLoad(i64_, At(frame, FrameHeader::kThreads));
  llvm::Value* const jobs = b_.CreateLoad(ptr_, At(frame, FrameHeader::kJobs));
  const auto call = [&](llvm::Value* which) {
    b_.CreateCall(unit_type_, unit, {frame, JobOf(jobs, which), scratch, index, which});
  };
  b_.CreateCondBr(b_.CreateICmpSLE(threads, b_.getInt64(1)), serial, team);

  b_.SetInsertPoint(serial);
  llvm::PHINode* const each = b_.CreatePHI(i64_, 2);
  each->addIncoming(b_.getInt64(0), entry);
  call(each);
  llvm::Value* const following = b_.CreateAdd(each, b_.getInt64(1));
  each->addIncoming(following, serial);
  b_.CreateCondBr(b_.CreateICmpSLT(following, count), serial, end);

  b_.SetInsertPoint(team);
  llvm::Value* const parts = Parts(threads);
  llvm::Value* const counters =
      At(b_.CreateLoad(ptr_, At(frame, FrameHeader::kCounters)),
         b_.CreateMul(number, b_.getInt64(static_cast<uint64_t>(kCounterBytes))));
  llvm::Value *done = counters, *claimed = At(counters, int64_t{sizeof(int64_t)});
  b_.CreateBr(claim);
  b_.SetInsertPoint(claim);
  llvm::Value* const which = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, claimed, b_.getInt64(1),
                                                kWordAlign, Order::Monotonic);
  b_.CreateCondBr(b_.CreateICmpSLT(which, count), run, wait);
  b_.SetInsertPoint(run);
  call(which);
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, done, b_.getInt64(1), kWordAlign, Order::Release);
  b_.CreateBr(claim);

  b_.SetInsertPoint(wait);
  WaitUntil(
      &b_, relax_, [&] { return b_.CreateICmpSGE(Load(i64_, done, Order::Acquire), count); },
      [&] { MakeHelp(jobs, parts); });
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

// One look at the jobs of all units of round_'s step: claims and runs chunks of theirs.
void JobCode::MakeHelp(llvm::Value* jobs, llvm::Value* parts) {
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  auto *help = Block("help"), *told = Block("told"), *helped = Block("helped"),
       *looked = Block("looked");
  b_.CreateBr(help);
  b_.SetInsertPoint(help);
  llvm::PHINode* const helping = b_.CreatePHI(i64_, 2);
  helping->addIncoming(b_.getInt64(0), before);
  llvm::Value* const job = JobOf(jobs, helping);
  llvm::Value* const taken =
      b_.CreateCall(take_, {job, parts, round_->getArg(4), round_->getArg(5)});
  b_.CreateCondBr(b_.CreateICmpSGT(taken, b_.getInt64(0)), told, helped);
  b_.SetInsertPoint(told);
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, At(job, kChunksDone), taken, kWordAlign,
                     Order::Release);
  b_.CreateBr(helped);
  b_.SetInsertPoint(helped);
  llvm::Value* const more = b_.CreateAdd(helping, b_.getInt64(1));
  helping->addIncoming(more, helped);
  b_.CreateCondBr(b_.CreateICmpSLT(more, round_->getArg(2)), help, looked);
  b_.SetInsertPoint(looked);
}

}  // namespace tektite::cpu
