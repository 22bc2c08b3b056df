#include "backends/cpu/aot/team_code.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tektite::cpu {
namespace {

// Words of a step's counters: the chunks that are done, then what is claimed of each part.
constexpr uint64_t kDone = 0, kFirstPart = 1, kMostParts = 7;
// Looks for the end of a step between which a thread lets others run.
constexpr uint64_t kLooks = 1024;
static_assert((kFirstPart + kMostParts) * sizeof(int64_t) == kCounterBytes);

}  // namespace

llvm::FunctionType* KernelType(llvm::LLVMContext& context) {
  llvm::Type* const ptr = llvm::PointerType::getUnqual(context);
  llvm::Type* const i64 = llvm::Type::getInt64Ty(context);
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context), {ptr, ptr, ptr, i64, i64}, false);
}

llvm::Function* MakeInternal(llvm::Module* module, llvm::FunctionType* type,
                             const std::string& name) {
  llvm::Function* function =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, *module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NoInline);
  return function;
}

llvm::Function* MakeRelax(llvm::Module* module, const std::string& library) {
  const std::string name = library + ".relax";
  if (llvm::Function* const known = module->getFunction(name)) return known;
  llvm::IRBuilder<> b(module->getContext());
  llvm::Function* const relax =
      MakeInternal(module, llvm::FunctionType::get(b.getVoidTy(), {b.getInt64Ty()}, false), name);
  const auto block = [&](const char* label) {
    return llvm::BasicBlock::Create(module->getContext(), label, relax);
  };
  auto *entry = block("entry"), *yield = block("yield"), *end = block("end");
  b.SetInsertPoint(entry);
  if (module->getTargetTriple().isX86_64()) {
    b.CreateIntrinsic(llvm::Intrinsic::x86_sse2_pause, llvm::ArrayRef<llvm::Type*>(),
                      llvm::ArrayRef<llvm::Value*>());
  }
  llvm::Value* const low = b.CreateAnd(relax->getArg(0), b.getInt64(kLooks - 1));
  b.CreateCondBr(b.CreateICmpEQ(low, b.getInt64(0)), yield, end);
  b.SetInsertPoint(yield);
  b.CreateCall(module->getOrInsertFunction("sched_yield",
                                           llvm::FunctionType::get(b.getInt32Ty(), {}, false)));
  b.CreateBr(end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return relax;
}

void WaitUntil(llvm::IRBuilder<>* b, llvm::Function* relax,
               absl::FunctionRef<llvm::Value*()> is_done, absl::FunctionRef<void()> meanwhile) {
  llvm::BasicBlock* const before = b->GetInsertBlock();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b->getContext(), name, before->getParent());
  };
  auto *wait = block("wait"), *look = block("look"), *end = block("waited");
  b->CreateBr(wait);
  b->SetInsertPoint(wait);
  llvm::PHINode* const looks = b->CreatePHI(b->getInt64Ty(), 2);
  looks->addIncoming(b->getInt64(1), before);
  b->CreateCondBr(is_done(), end, look);
  b->SetInsertPoint(look);
  meanwhile();
  b->CreateCall(relax, {looks});
  looks->addIncoming(b->CreateAdd(looks, b->getInt64(1)), b->GetInsertBlock());
  b->CreateBr(wait);
  b->SetInsertPoint(end);
}

TeamCode::TeamCode(llvm::Module* module, const std::string& library)
    : FunctionCode(module), kernel_type_(KernelType(context_)) {
  step_ = MakeInternal(
      &module_,
      llvm::FunctionType::get(b_.getVoidTy(),
                              {ptr_, ptr_, ptr_, ptr_, i64_, i64_, i64_, i64_, ptr_}, false),
      library + ".step");
  threads_ = MakeThreadCount(&module_, library);
  relax_ = MakeRelax(&module_, library);
  MakeStep();
}

void TeamCode::MakeStep() {
  function_ = step_;
  auto *entry = Block("entry"), *serial = Block("serial"), *alone = Block("alone"),
       *team = Block("team"), *part = Block("part"), *claim = Block("claim"), *run = Block("run"),
       *next = Block("next"), *wait = Block("wait"), *done = Block("done");
  llvm::Value *frame = step_->getArg(0), *kernel = step_->getArg(1), *buffers = step_->getArg(2),
              *table = step_->getArg(3), *chunks = step_->getArg(4), *each = step_->getArg(5),
              *number = step_->getArg(6), *index = step_->getArg(7), *scratch = step_->getArg(8);
  const auto word = [&](llvm::Type* type, int64_t offset) {
    return b_.CreateLoad(type, At(frame, offset));
  };
  const auto call = [&](llvm::Value* begin, llvm::Value* end) {
    b_.CreateCall(kernel_type_, kernel, {buffers, table, scratch, begin, end});
  };

  b_.SetInsertPoint(entry);
  llvm::Value* const threads = word(i64_, FrameHeader::kThreads);
  b_.CreateCondBr(b_.CreateICmpSLE(threads, b_.getInt64(1)), serial, team);
  b_.SetInsertPoint(serial);
  b_.CreateCondBr(b_.CreateICmpSGT(chunks, b_.getInt64(0)), alone, done);
  b_.SetInsertPoint(alone);
  call(b_.getInt64(0), chunks);
  b_.CreateBr(done);

  b_.SetInsertPoint(team);
  llvm::Value* const counters =
      At(word(ptr_, FrameHeader::kCounters), b_.CreateMul(number, b_.getInt64(kCounterBytes)));
  const auto counter = [&](llvm::Value* i) { return b_.CreateInBoundsGEP(i64_, counters, i); };
  llvm::Value* const few =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, threads, b_.getInt64(kMostParts));
  llvm::Value* const parts = b_.CreateSelect(b_.CreateICmpSGE(each, chunks), b_.getInt64(1), few);
  const llvm::Align align(8);
  const auto load_done = [&] {
    llvm::LoadInst* load = b_.CreateAlignedLoad(i64_, counter(b_.getInt64(kDone)), align);
    load->setAtomic(llvm::AtomicOrdering::Acquire);
    return load;
  };
  b_.CreateCondBr(b_.CreateICmpSGE(load_done(), chunks), done, part);

  b_.SetInsertPoint(part);
  llvm::PHINode* const turn = b_.CreatePHI(i64_, 2);
  turn->addIncoming(b_.getInt64(0), team);
  llvm::Value* const which = b_.CreateURem(b_.CreateAdd(index, turn), parts);
  llvm::Value* const begin = b_.CreateUDiv(b_.CreateMul(which, chunks), parts);
  llvm::Value* const end =
      b_.CreateUDiv(b_.CreateMul(b_.CreateAdd(which, b_.getInt64(1)), chunks), parts);
  b_.CreateBr(claim);

  b_.SetInsertPoint(claim);
  llvm::Value* const taken = b_.CreateAtomicRMW(
      llvm::AtomicRMWInst::Add, counter(b_.CreateAdd(which, b_.getInt64(kFirstPart))), each, align,
      llvm::AtomicOrdering::Monotonic);
  llvm::Value* const first = b_.CreateAdd(begin, taken);
  b_.CreateCondBr(b_.CreateICmpSLT(first, end), run, next);

  b_.SetInsertPoint(run);
  llvm::Value* const last =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, each), end);
  call(first, last);
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter(b_.getInt64(kDone)),
                     b_.CreateSub(last, first), align, llvm::AtomicOrdering::Release);
  b_.CreateBr(claim);

  b_.SetInsertPoint(next);
  llvm::Value* const turns = b_.CreateAdd(turn, b_.getInt64(1));
  turn->addIncoming(turns, next);
  b_.CreateCondBr(b_.CreateICmpULT(turns, parts), part, wait);

  b_.SetInsertPoint(wait);
  WaitUntil(&b_, relax_, [&] { return b_.CreateICmpSGE(load_done(), chunks); });
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
}

llvm::Function* MakeThreadCount(llvm::Module* module, const std::string& library) {
  llvm::IRBuilder<> b(module->getContext());
  llvm::Type *ptr = b.getPtrTy(), *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
  llvm::Function* const function =
      MakeInternal(module, llvm::FunctionType::get(i64, {ptr}, false), library + ".threads");
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module->getContext(), name, function);
  };
  auto *entry = block("entry"), *given = block("given"), *none = block("none");
  llvm::Value* const offered = function->getArg(0);
  llvm::StructType* const type = llvm::StructType::get(module->getContext(), {i32, ptr, ptr});
  b.SetInsertPoint(entry);
  b.CreateCondBr(b.CreateIsNull(offered), none, given);
  b.SetInsertPoint(given);
  llvm::Value* const count =
      b.CreateSExt(b.CreateLoad(i32, b.CreateStructGEP(type, offered, 0)), i64);
  llvm::Value* const bounded = b.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b.getInt64(1)),
      b.getInt64(kMostThreads));
  llvm::Value* const run = b.CreateLoad(ptr, b.CreateStructGEP(type, offered, 2));
  b.CreateRet(b.CreateSelect(b.CreateIsNull(run), b.getInt64(1), bounded));
  b.SetInsertPoint(none);
  b.CreateRet(b.getInt64(1));
  return function;
}

void RunOnThreads(llvm::IRBuilder<>* b, llvm::Function* worker, llvm::Value* argument,
                  llvm::Value* threads, llvm::Value* offered) {
  llvm::LLVMContext& context = b->getContext();
  llvm::Type *ptr = b->getPtrTy(), *i32 = b->getInt32Ty();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(context, name, b->GetInsertBlock()->getParent());
  };
  auto *many = block("many"), *one = block("one"), *next = block("worked");
  b->CreateCondBr(b->CreateICmpSGT(threads, b->getInt64(1)), many, one);
  b->SetInsertPoint(many);
  llvm::StructType* const type = llvm::StructType::get(context, {i32, ptr, ptr});
  llvm::Value* const of_caller = b->CreateLoad(ptr, b->CreateStructGEP(type, offered, 1));
  llvm::Value* const run = b->CreateLoad(ptr, b->CreateStructGEP(type, offered, 2));
  b->CreateCall(llvm::FunctionType::get(b->getVoidTy(), {ptr, i32, ptr, ptr}, false), run,
                {of_caller, b->CreateTrunc(threads, i32), worker, argument});
  b->CreateBr(next);
  b->SetInsertPoint(one);
  b->CreateCall(worker, {argument, b->getInt32(0)});
  b->CreateBr(next);
  b->SetInsertPoint(next);
}

}  // namespace tektite::cpu
