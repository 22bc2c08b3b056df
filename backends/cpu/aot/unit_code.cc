#include "backends/cpu/aot/unit_code.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace tektite::cpu {

using runtime::Step;

llvm::Function* UnitCode::Make(absl::Span<const int> steps) {
  Begin(b_.getVoidTy(), jobs_.unit_type()->params(),
        absl::StrCat(library_.prefix, ".unit", steps[0]));
  auto* const end = Block("end");
  llvm::SwitchInst* const which = b_.CreateSwitch(function_->getArg(4), end);
  for (size_t i = 0; i < steps.size(); ++i) {
    auto* const unit = Block("unit");
    which->addCase(b_.getInt64(i), unit);
    b_.SetInsertPoint(unit);
    OneStep(steps[i]);
    b_.CreateBr(end);
  }
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
  return function_;
}

llvm::Value* UnitCode::FrameAt(int64_t offset) { return At(function_->getArg(0), offset); }

llvm::Value* UnitCode::Pointer(int buffer) {
  const Location& location = library_.plan.locations[buffer];
  for (auto it = moved_.rbegin(); it != moved_.rend(); ++it) {
    if (it->first == location) return it->second;
  }
  return b_.CreateLoad(b_.getPtrTy(), FrameAt(frame_.pointers().at(buffer)));
}

llvm::Value* UnitCode::Operand(const Step& step, size_t o) {
  return At(Pointer(step.operands[o]), std::max<int64_t>(step.PartOf(o), 0));
}

llvm::Value* UnitCode::Bytes(int buffer) {
  const runtime::Buffer& it = library_.graph.buffers[buffer];
  if (frame_.table() < 0) return b_.getInt64(static_cast<uint64_t>(it.typical_bytes));
  return b_.CreateLoad(b_.getInt64Ty(), FrameAt(frame_.table() + 8 * int64_t{it.place}));
}

void UnitCode::Copy(llvm::Value* to, llvm::Value* from, llvm::Value* bytes) {
  auto *copy = Block("copy"), *next = Block("copied");
  b_.CreateCondBr(b_.CreateICmpEQ(to, from), next, copy);
  b_.SetInsertPoint(copy);
  b_.CreateMemCpy(to, llvm::MaybeAlign(), from, llvm::MaybeAlign(), bytes);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

void UnitCode::Steps(const std::vector<int>& steps) {
  for (int s : steps) OneStep(s);
}

void UnitCode::OneStep(int s) {
  const Step& step = library_.graph.steps[s];
  switch (step.kind) {
    case Step::Kind::kKernel:
      return RunKernel(s);
    case Step::Kind::kCopy:
      return Copy(Pointer(step.results[0]), Operand(step, 0), Bytes(step.results[0]));
    case Step::Kind::kWhile:
      return Loop(step);
    case Step::Kind::kConditional:
      return Choice(step);
  }
}

UnitCode::KernelLaunch UnitCode::LaunchOf(int s, llvm::Value* frame, llvm::IRBuilder<>* b) {
  const KernelPlace& place = frame_.kernel(s);
  if (place.is_static) {
    return {kernels_.tables.at(s), b->getInt64(static_cast<uint64_t>(kernels_.chunks.at(s))),
            b->getInt64(static_cast<uint64_t>(kernels_.claims.at(s)))};
  }
  const auto at = [&](int64_t offset) {
    return b->CreateConstInBoundsGEP1_64(b->getInt8Ty(), frame, static_cast<uint64_t>(offset));
  };
  return {at(place.table), b->CreateLoad(i64_, at(place.chunks)),
          b->CreateLoad(i64_, at(place.claim))};
}

void UnitCode::RunKernel(int s) {
  const Step& step = library_.graph.steps[s];
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> top(&entry, entry.begin());  // a loop must not make the stack grow
  llvm::Value* const slots =
      top.CreateAlloca(b_.getPtrTy(), top.getInt64(step.operands.size() + step.results.size()));
  uint64_t slot = 0;
  const auto add = [&](llvm::Value* pointer) {
    b_.CreateStore(pointer, b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), slots, slot++));
  };
  for (size_t o = 0; o < step.operands.size(); ++o) add(Operand(step, o));
  for (int b : step.results) add(Pointer(b));
  llvm::Value *job = function_->getArg(1), *scratch = function_->getArg(2),
              *index = function_->getArg(3);
  const auto [table, chunks, claim] = LaunchOf(s, function_->getArg(0), &b_);
  b_.CreateCall(jobs_.share(), {function_->getArg(0), kernels_.functions.at(s), slots, table,
                                chunks, claim, job, index, scratch});
}

void UnitCode::Loop(const Step& step) {
  const auto& condition = library_.graph.regions[step.regions[0]];
  const auto& body = library_.graph.regions[step.regions[1]];
  const auto location = [&](int b) { return library_.plan.locations[b]; };
  struct Turned {
    llvm::Value *first, *bytes;
    llvm::PHINode *present, *next;
  };
  std::vector<Turned> turned;
  for (size_t r = 0; r < step.results.size(); ++r) {
    Copy(Pointer(step.results[r]), Operand(step, r), Bytes(step.results[r]));
  }
  std::vector<std::pair<int, int>> places;  // buffers: of a value, and of its next one
  for (size_t r = 0; r < step.results.size(); ++r) {
    if (location(step.results[r]) == location(body.outputs[r])) continue;
    places.emplace_back(step.results[r], body.outputs[r]);
  }
  std::vector<std::pair<llvm::Value*, llvm::Value*>> begin;
  for (const auto& [present, next] : places) begin.emplace_back(Pointer(present), Pointer(next));
  std::vector<llvm::Value*> bytes;
  for (const auto& [present, next] : places) bytes.push_back(Bytes(present));
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  auto *head = Block("turn"), *inside = Block("body"), *exit = Block("exit");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  const size_t around = moved_.size();
  for (size_t i = 0; i < places.size(); ++i) {
    llvm::PHINode* const present = b_.CreatePHI(b_.getPtrTy(), 2);
    llvm::PHINode* const next = b_.CreatePHI(b_.getPtrTy(), 2);
    present->addIncoming(begin[i].first, before);
    next->addIncoming(begin[i].second, before);
    turned.push_back({begin[i].first, bytes[i], present, next});
    moved_.emplace_back(location(places[i].first), present);
    moved_.emplace_back(location(places[i].second), next);
  }
  Steps(condition.steps);
  llvm::Value* const goes_on = b_.CreateLoad(b_.getInt8Ty(), Pointer(condition.outputs[0]));
  b_.CreateCondBr(b_.CreateICmpNE(goes_on, b_.getInt8(0)), inside, exit);
  b_.SetInsertPoint(inside);
  Steps(body.steps);
  llvm::BasicBlock* const end = b_.GetInsertBlock();
  for (const Turned& it : turned) {
    it.present->addIncoming(it.next, end);
    it.next->addIncoming(it.present, end);
  }
  b_.CreateBr(head);
  b_.SetInsertPoint(exit);
  moved_.resize(around);
  for (const Turned& it : turned) Copy(it.first, it.present, it.bytes);
}

void UnitCode::Choice(const Step& step) {
  const bool by_number =
      library_.graph.buffers[step.operands[0]].size != ir::Dim(int64_t{sizeof(bool)});
  llvm::Type* const type = by_number ? static_cast<llvm::Type*>(b_.getInt32Ty()) : b_.getInt8Ty();
  llvm::Value* const which = b_.CreateLoad(type, Operand(step, 0));
  auto* const next = Block("chosen");
  std::vector<llvm::BasicBlock*> cases;
  for (size_t r = 0; r < step.regions.size(); ++r) cases.push_back(Block("case"));
  if (by_number) {
    llvm::SwitchInst* const choice =
        b_.CreateSwitch(which, cases.back(), static_cast<unsigned>(cases.size()));
    for (size_t r = 0; r + 1 < cases.size(); ++r) {
      choice->addCase(b_.getInt32(static_cast<uint32_t>(r)), cases[r]);
    }
  } else {
    b_.CreateCondBr(b_.CreateICmpNE(which, b_.getInt8(0)), cases[0], cases[1]);
  }
  for (size_t r = 0; r < cases.size(); ++r) {
    b_.SetInsertPoint(cases[r]);
    Steps(library_.graph.regions[step.regions[r]].steps);
    b_.CreateBr(next);
  }
  b_.SetInsertPoint(next);
}

}  // namespace tektite::cpu
