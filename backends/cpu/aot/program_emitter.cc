#include "backends/cpu/aot/program_emitter.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/call_sizes.h"
#include "backends/cpu/aot/denormal_code.h"
#include "backends/cpu/aot/frame_layout.h"
#include "backends/cpu/aot/function_code.h"
#include "backends/cpu/aot/job_code.h"
#include "backends/cpu/aot/size_code.h"
#include "backends/cpu/aot/team_code.h"
#include "backends/cpu/aot/unit_code.h"
#include "backends/cpu/aot/weights_code.h"
#include "jit/base/status.h"
#include "jit/runtime/memory/host_memory.h"
#include "llvm/IR/IRBuilder.h"

namespace tektite::cpu {
namespace {

using aot::ErrorKind;
using runtime::Location;
using runtime::OutputSource;
using runtime::Step;

// A call below this stays with its thread (ThreadTeam::kSerialCallNs).
constexpr double kSerialCallNs = 20e3;

class ProgramEmitter : FunctionCode {
 public:
  ProgramEmitter(aot::Library* library, llvm::Module* module)
      : FunctionCode(module),
        library_(*library),
        frame_(*library),
        team_(module, library->prefix),
        jobs_(module, library->prefix) {
    for (const aot::Tensor& argument : library_.arguments) has_state_ |= argument.is_state;
  }

  void Emit() {
    DeclareKernels();
    const int all = static_cast<int>(library_.plan.steps.size());
    const int before_updates = library_.plan.num_before_updates;
    workers_.push_back(MakeWorker(0, before_updates));
    if (before_updates < all) workers_.push_back(MakeWorker(before_updates, all));
    EmitArenaBytes();
    EmitRun();
  }

 private:
  bool has_sizes() const { return !library_.sizes.empty(); }

  // ---- shared by the functions ----
  // A function that the library's entry points call.
  llvm::Function* BeginEntry(llvm::Type* result, const std::vector<llvm::Type*>& types,
                             const char* name) {
    Begin(result, types, absl::StrCat(library_.prefix, name), /*is_public=*/true);
    function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return function_;
  }
  void Store(llvm::Value* value, llvm::Value* base, int64_t offset) {
    b_.CreateStore(value, At(base, offset));
  }
  // Returns the code, or minus it from functions that return a number of bytes.
  void Fail(llvm::Value* condition, ErrorKind kind, std::string sentence) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition);
    if (constant != nullptr && constant->isZero()) return;
    const int64_t code = library_.Error(kind, std::move(sentence));
    auto *fail = Block("fail"), *next = Block("next");
    b_.CreateCondBr(condition, fail, next);
    b_.SetInsertPoint(fail);
    const bool is_code = function_->getReturnType() == i32_;
    b_.CreateRet(llvm::ConstantInt::getSigned(function_->getReturnType(), is_code ? code : -code));
    b_.SetInsertPoint(next);
  }
  llvm::Value* IsMisaligned(llvm::Value* pointer, int64_t alignment) {
    llvm::Value* const low = b_.CreateAnd(b_.CreatePtrToInt(pointer, i64_),
                                          b_.getInt64(static_cast<uint64_t>(alignment - 1)));
    return b_.CreateICmpNE(low, b_.getInt64(0));
  }
  std::vector<llvm::Value*> LoadSizes(llvm::Value* sizes) {
    std::vector<llvm::Value*> symbols;
    for (size_t i = 0; i < library_.sizes.size(); ++i) {
      symbols.push_back(b_.CreateLoad(i64_, At(sizes, static_cast<int64_t>(8 * i))));
    }
    return symbols;
  }
  void FailIfNull(llvm::Value* pointer, const char* what) {
    Fail(b_.CreateIsNull(pointer), aot::kBadArgument, absl::StrCat("'", what, "' is null"));
  }
  CallSizes ComputeSizes(llvm::Value* sizes) {
    CallSizes result(&b_, library_, frame_);
    result.Compute(LoadSizes(sizes), [this](llvm::Value* condition, std::string sentence) {
      Fail(condition, aot::kBadSizes, std::move(sentence));
    });
    return result;
  }

  // ---- kernels and steps ----
  void DeclareKernels() {
    kernels_.type = team_.kernel_type();
    for (const auto& [s, place] : frame_.kernels()) {
      kernels_.functions[s] = HiddenFunction(&module_, place.kernel->symbol(), kernels_.type);
      if (!place.is_static) continue;
      const backend::LaunchFacts& facts = place.kernel->facts();
      std::vector<int64_t> table(static_cast<size_t>(facts.sizes.table_size()));
      static_cast<void>(facts.sizes.Run(nullptr, table.data()));
      std::vector<uint64_t> words(table.begin(), table.end());
      llvm::Constant* const values = llvm::ConstantDataArray::get(context_, words);
      kernels_.tables[s] = new llvm::GlobalVariable(
          module_, values->getType(), true, llvm::GlobalValue::PrivateLinkage, values, "table");
      std::vector<int64_t> launch(static_cast<size_t>(facts.launch.table_size()));
      static_cast<void>(facts.launch.Run(nullptr, launch.data()));
      kernels_.chunks[s] = launch[facts.num_chunks];
      kernels_.claims[s] = ClaimOf(place, launch);
    }
  }

  // One thread's way through steps [begin, end).
  llvm::Function* MakeWorker(int begin, int end) {
    UnitCode units(&module_, library_, frame_, kernels_, jobs_);
    llvm::Function* const worker =
        Begin(b_.getVoidTy(), {ptr_, i32_}, absl::StrCat(library_.prefix, ".work", begin));
    llvm::Value* const mode = EmitFlushDenormals(&b_);
    llvm::Value* const frame = worker->getArg(0);
    llvm::Value* const index = b_.CreateSExt(worker->getArg(1), i64_);
    const auto word = [&](llvm::Type* type, int64_t at) {
      return b_.CreateLoad(type, At(frame, at));
    };
    llvm::Value* const scratch = At(word(ptr_, FrameHeader::kScratch),
                                    b_.CreateMul(index, word(i64_, FrameHeader::kScratchBytes)));
    for (int i = begin; i < end; ++i) {
      const int s = library_.plan.steps[i];
      llvm::Value* const number = b_.getInt64(static_cast<uint64_t>(i));
      if (library_.graph.steps[s].kernel == nullptr) {
        const absl::Span<const int> round = RoundAt(i, end);
        b_.CreateCall(jobs_.round(), {frame, units.Make(round), b_.getInt64(round.size()), number,
                                      index, scratch});
        i += static_cast<int>(round.size()) - 1;
        continue;
      }
      const KernelPlace& place = frame_.kernel(s);
      const auto [table, chunks, claim] = units.LaunchOf(s, frame, &b_);
      b_.CreateCall(team_.step(), {frame, kernels_.functions.at(s), At(frame, place.slots), table,
                                   chunks, claim, number, index, scratch});
    }
    EmitRestoreDenormals(mode, &b_);
    b_.CreateRetVoid();
    return worker;
  }

  // The steps of a round, from the one at position `begin` on.
  absl::Span<const int> RoundAt(int begin, int end) const {
    const std::vector<int>& rounds = library_.plan.rounds;
    int next = begin + 1;
    while (next < end && rounds[next] == rounds[begin]) ++next;
    return absl::MakeConstSpan(library_.plan.steps).subspan(begin, next - begin);
  }

  static int64_t ClaimOf(const KernelPlace& place, const std::vector<int64_t>& launch) {
    const backend::LaunchFacts& facts = place.kernel->facts();
    const double ns = static_cast<double>(launch[facts.cost]) / backend::LaunchFacts::kCostPerNs;
    const int64_t chunks = std::max<int64_t>(launch[facts.num_chunks], 1);
    if (ns < kSharedNs) return chunks;
    if (!place.kernel->needs_kernels()) return 1;
    return (chunks + kLibraryClaims - 1) / kLibraryClaims;
  }

  // ---- int64_t PREFIX.arena_bytes(sizes, threads) ----
  void EmitArenaBytes() {
    std::vector<llvm::Type*> types(has_sizes() ? 2 : 1, ptr_);
    llvm::Function* const function = BeginEntry(i64_, types, ".arena_bytes");
    llvm::Value* const sizes = function->getArg(0);
    if (has_sizes()) FailIfNull(sizes, "sizes");
    const CallSizes call = ComputeSizes(sizes);
    llvm::Value* const threads =
        b_.CreateCall(team_.threads(), {function->getArg(has_sizes() ? 1 : 0)});
    b_.CreateRet(call.ArenaBytes(threads));
  }

  // ---- int32_t PREFIX.run(sizes, args, state, results, arena, weights, threads) ----
  void EmitRun() {
    // A struct of a pointer and a number is passed as the two of them.
    std::vector<llvm::Type*> types(2 + (has_sizes() ? 1 : 0) + (has_state_ ? 1 : 0), ptr_);
    const bool is_inside = library_.weights == aot::WeightsPlace::kInside;
    types.insert(types.end(), {ptr_, i64_, ptr_});
    if (!is_inside) types.push_back(ptr_);
    llvm::Function* const function = BeginEntry(i32_, types, ".run");
    unsigned next = 0;
    const auto argument = [&] { return function->getArg(next++); };
    llvm::Value* const sizes = has_sizes() ? argument() : nullptr;
    llvm::Value* const args = argument();
    llvm::Value* const state = has_state_ ? argument() : nullptr;
    llvm::Value* const results = argument();
    arena_ = argument();
    llvm::Value* const arena_bytes = argument();
    llvm::Value* const weights = is_inside ? nullptr : argument();
    llvm::Value* const offered = argument();

    if (has_sizes()) FailIfNull(sizes, "sizes");
    FailIfNull(args, "args");
    if (has_state_) FailIfNull(state, "state");
    FailIfNull(results, "results");
    CallSizes call = ComputeSizes(sizes);
    call_ = &call;
    llvm::Value* const threads = b_.CreateCall(team_.threads(), {offered});
    CheckArena(arena_bytes, call.ArenaBytes(threads));
    data_ = is_inside ? DeclareData(library_, &module_)
                      : LoadWeights(library_, weights, &b_,
                                    [this](auto* condition, std::string sentence) {
                                      Fail(condition, aot::kBadWeights, std::move(sentence));
                                    });
    LoadArguments(args, state);
    LoadResults(results);

    llvm::Value* const is_small = b_.CreateICmpULT(
        call.cost(),
        b_.getInt64(static_cast<uint64_t>(kSerialCallNs * backend::LaunchFacts::kCostPerNs)));
    llvm::Value* const team = b_.CreateSelect(is_small, b_.getInt64(1), threads);
    PrepareFrame(team);
    RunOnThreads(&b_, workers_[0], arena_, team, offered);
    CheckValues();
    if (workers_.size() > 1) RunOnThreads(&b_, workers_[1], arena_, team, offered);
    CopyResults();
    b_.CreateRet(b_.getInt32(0));
  }

  void CheckArena(llvm::Value* bytes, llvm::Value* needed) {
    Fail(b_.CreateIsNull(arena_), aot::kBadArena, "the arena is null");
    Fail(IsMisaligned(arena_, runtime::kAlignment), aot::kBadArena,
         "the arena does not begin at a multiple of 64 bytes");
    Fail(b_.CreateICmpSLT(bytes, needed), aot::kBadArena,
         absl::StrCat("the arena is shorter than ", library_.name, "_arena_bytes says"));
  }

  // A tensor's address from its place in a struct, checked.
  llvm::Value* LoadTensor(llvm::Value* from, int64_t at, const aot::Tensor& tensor) {
    llvm::Value* const pointer = b_.CreateLoad(ptr_, At(from, at));
    llvm::Value* const bytes = call_->table()[tensor.bytes_place];
    Fail(b_.CreateAnd(b_.CreateIsNull(pointer), b_.CreateICmpNE(bytes, b_.getInt64(0))),
         aot::kBadArgument, absl::StrCat("'", tensor.name, "' is null"));
    const int64_t alignment = ir::DTypeBytes(tensor.shape.dtype());
    if (alignment > 1) {
      Fail(IsMisaligned(pointer, alignment), aot::kBadArgument,
           absl::StrCat("'", tensor.name, "' is not aligned to ", alignment, " bytes"));
    }
    return pointer;
  }

  void LoadArguments(llvm::Value* args, llvm::Value* state) {
    int64_t of_args = 0, of_state = 0;
    for (const aot::Tensor& argument : library_.arguments) {
      int64_t& at = argument.is_state ? of_state : of_args;
      arguments_.push_back(LoadTensor(argument.is_state ? state : args, at, argument));
      at += sizeof(void*);
    }
  }

  // By output of the graph: where it is written, or null.
  void LoadResults(llvm::Value* results) {
    results_.assign(library_.plan.outputs.size(), nullptr);
    int64_t at = 0;
    for (size_t k = 0; k < library_.results.size(); ++k) {
      results_[k] = LoadTensor(results, at, library_.results[k]);
      at += sizeof(void*);
    }
    for (size_t i = 0; i < library_.plan.updates.size(); ++i) {
      const runtime::UpdatePlace& update = library_.plan.updates[i];
      llvm::Value* const elsewhere = call_->UpdateAt(i);
      results_[update.output] =
          elsewhere == nullptr ? arguments_[update.parameter] : At(arena_, elsewhere);
    }
  }

  llvm::Value* Pointer(int buffer) {
    const Location& location = library_.plan.locations[buffer];
    switch (location.base) {
      case Location::Base::kArena:
        return At(arena_, call_->SlotAt(location.index));
      case Location::Base::kConstant: {
        // A kernel that has its panels reads none that is absent, as long as the addresses differ.
        const int64_t at = library_.data.constants[location.index];
        return at == aot::DataImage::kAbsent ? arena_ : At(data_, at);
      }
      case Location::Base::kWeights:
        return At(data_, library_.data.groups[location.index] + location.offset);
      case Location::Base::kSizes:
        return At(arena_, frame_.size_values()[location.index]);
      case Location::Base::kParameter:
        return arguments_[location.index];
      case Location::Base::kResult:
        return results_[location.index];
      case Location::Base::kNowhere:
        break;
    }
    return llvm::ConstantPointerNull::get(b_.getPtrTy());
  }

  void PrepareFrame(llvm::Value* team) {
    Store(team, arena_, FrameHeader::kThreads);
    Store(At(arena_, call_->ScratchAt()), arena_, FrameHeader::kScratch);
    Store(call_->scratch_bytes(), arena_, FrameHeader::kScratchBytes);
    llvm::Value* const counters = At(arena_, frame_.counters());
    Store(counters, arena_, FrameHeader::kCounters);
    Store(At(arena_, frame_.jobs()), arena_, FrameHeader::kJobs);
    for (const auto& [s, launch] : call_->launches()) {
      const KernelPlace& place = frame_.kernel(s);
      if (!place.is_static) {
        Store(launch.chunks, arena_, place.chunks);
        Store(launch.claim, arena_, place.claim);
        for (size_t i = 0; i < launch.table.size(); ++i) {
          Store(launch.table[i], arena_, place.table + static_cast<int64_t>(8 * i));
        }
      }
      if (place.slots < 0) continue;
      const Step& step = library_.graph.steps[s];
      int64_t at = place.slots;
      for (size_t o = 0; o < step.operands.size(); ++o) {
        Store(At(Pointer(step.operands[o]), std::max<int64_t>(step.PartOf(o), 0)), arena_, at);
        at += 8;
      }
      for (int b : step.results) {
        Store(Pointer(b), arena_, at);
        at += 8;
      }
    }
    for (const auto& [b, at] : frame_.pointers()) Store(Pointer(b), arena_, at);
    if (frame_.table() >= 0) {
      for (size_t i = 0; i < call_->table().size(); ++i) {
        Store(call_->table()[i], arena_, frame_.table() + static_cast<int64_t>(8 * i));
      }
    }
    for (size_t v = 0; v < frame_.size_values().size(); ++v) {
      const std::vector<int>& places = library_.graph.size_values[v];
      for (size_t i = 0; i < places.size(); ++i) {
        Store(call_->table()[places[i]], arena_,
              frame_.size_values()[v] + static_cast<int64_t>(8 * i));
      }
    }
    auto *zero = Block("zero"), *ready = Block("ready");
    b_.CreateCondBr(b_.CreateICmpSGT(team, b_.getInt64(1)), zero, ready);
    b_.SetInsertPoint(zero);
    b_.CreateMemSet(counters, b_.getInt8(0),
                    static_cast<uint64_t>(frame_.bytes() - frame_.counters()),
                    llvm::MaybeAlign(64));
    b_.CreateBr(ready);
    b_.SetInsertPoint(ready);
  }

  // What values decide.
  void CheckValues() {
    const std::vector<OutputSource>& outputs = library_.plan.outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k].kind != OutputSource::Kind::kCheck) continue;
      llvm::Value* const holds =
          b_.CreateLoad(b_.getInt8Ty(), Pointer(library_.graph.outputs[k].buffer));
      Fail(b_.CreateICmpEQ(holds, b_.getInt8(0)), aot::kCheckFailed,
           "a value is out of its range, an index for example");
    }
  }

  void CopyResults() {
    const std::vector<OutputSource>& outputs = library_.plan.outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      // Of results whose rows are counted there is room for all.
      const OutputSource::Kind kind = outputs[k].kind;
      if (kind == OutputSource::Kind::kDirect || kind == OutputSource::Kind::kCheck) continue;
      const int buffer = library_.graph.outputs[k].buffer;
      b_.CreateMemCpy(results_[k], llvm::MaybeAlign(), Pointer(buffer), llvm::MaybeAlign(),
                      call_->Bytes(buffer));
    }
    for (const runtime::UpdatePlace& update : library_.plan.updates) {
      if (update.in_place) continue;
      b_.CreateMemCpy(arguments_[update.parameter], llvm::MaybeAlign(), results_[update.output],
                      llvm::MaybeAlign(),
                      call_->Bytes(library_.graph.outputs[update.output].buffer));
    }
  }

  aot::Library& library_;
  const FrameLayout frame_;
  TeamCode team_;
  JobCode jobs_;
  bool has_state_ = false;
  KernelCode kernels_;
  std::vector<llvm::Function*> workers_;

  // Of the function at hand.
  const CallSizes* call_ = nullptr;
  llvm::Value *arena_ = nullptr, *data_ = nullptr;
  std::vector<llvm::Value*> arguments_, results_;
};

}  // namespace

void EmitProgram(aot::Library* library, llvm::Module* module) {
  ProgramEmitter(library, module).Emit();
}

std::string DataSymbolOf(const aot::Library& library) { return library.name + "__data"; }

llvm::GlobalVariable* DeclareData(const aot::Library& library, llvm::Module* module) {
  const std::string name = DataSymbolOf(library);
  if (llvm::GlobalVariable* const known = module->getNamedGlobal(name)) return known;
  auto* const data = new llvm::GlobalVariable(
      *module, llvm::ArrayType::get(llvm::Type::getInt8Ty(module->getContext()), 0),
      /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, nullptr, name);
  data->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return data;
}

}  // namespace tektite::cpu
