#include "backends/cpu/aot/weights_code.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/function_code.h"
#include "backends/cpu/aot/page_code.h"
#include "backends/cpu/aot/team_code.h"
#include "jit/aot/weights_digest.h"
#include "llvm/IR/Intrinsics.h"

namespace tektite::cpu {
namespace {

using Facts = aot::WeightsDigestFacts;

// Of Linux, on x86-64 as on AArch64.
constexpr int kReadOnly = 0, kNonBlocking = 04000, kCloseOnExec = 02000000, kSeekEnd = 2;
constexpr int kProtRead = 1, kMapPrivate = 2;
// tektite_aot_check, in the header.
constexpr uint32_t kCheckAll = 0, kCheckSeal = 1;
// One thread reads BERT's 440 MB in 0.5 of the time: the next page is asked for before it is read.
constexpr uint64_t kFetchBytes = 2048;

constexpr char kOtherWeights[] =
    "the weights are another library's: their seal is not that of those this library was made with";

// Whether the last block is not the seal of the library's weights.
llvm::Value* HasOtherSeal(const aot::Library& library, llvm::Value* data, llvm::IRBuilder<>* b) {
  const auto bytes = static_cast<uint64_t>(library.weights_bytes - Facts::kSealBytes);
  llvm::Value* const seal = b->CreateConstInBoundsGEP1_64(b->getInt8Ty(), data, bytes);
  llvm::Value* other = b->getFalse();
  const uint64_t words[Facts::kLanes] = {Facts::kSeal, library.weights_digest, bytes};
  for (uint64_t w = 0; w < Facts::kLanes; ++w) {
    llvm::Value* const at = b->CreateConstInBoundsGEP1_64(b->getInt64Ty(), seal, w);
    other = b->CreateOr(other,
                        b->CreateICmpNE(b->CreateLoad(b->getInt64Ty(), at), b->getInt64(words[w])));
  }
  return other;
}

class WeightsCode : FunctionCode {
 public:
  WeightsCode(aot::Library* library, llvm::Module* module)
      : FunctionCode(module), library_(*library) {
    job_ = llvm::StructType::get(context_, {ptr_, i64_, i64_, i64_});
    weights_ = llvm::StructType::get(context_, {ptr_, i64_});
    threads_ = MakeThreadCount(&module_, library_.name);
  }

  void Emit() {
    MakeDigest();
    EmitCheck();
    if (library_.weights != aot::WeightsPlace::kFile) return;
    EmitMap();
    EmitUnmap();
  }

 private:
  enum JobField : unsigned { kData, kBytes, kThreads, kDigest };

  llvm::ConstantInt* Word(uint64_t value) { return b_.getInt64(value); }
  // Where the seal begins.
  llvm::Value* SealPlace() {
    return Word(static_cast<uint64_t>(library_.weights_bytes - Facts::kSealBytes));
  }
  llvm::Value* Bytes() { return Word(static_cast<uint64_t>(library_.weights_bytes)); }

  // Returns the code where the condition holds, after `before`.
  void Fail(llvm::Value* condition, aot::ErrorKind kind, std::string sentence,
            const std::function<void()>& before = {}) {
    auto *fail = Block("fail"), *next = Block("next");
    b_.CreateCondBr(condition, fail, next);
    b_.SetInsertPoint(fail);
    if (before) before();
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(library_.Error(kind, std::move(sentence)))));
    b_.SetInsertPoint(next);
  }
  llvm::Value* Libc(const char* name, llvm::Type* result, const std::vector<llvm::Type*>& types,
                    const std::vector<llvm::Value*>& arguments, bool is_variadic = false) {
    return b_.CreateCall(
        module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, is_variadic)),
        arguments);
  }

  // ---- the digest (jit/aot/weights_digest.h) ----
  llvm::Value* Mix(llvm::Value* lane, llvm::Value* word) {
    llvm::Value* const product = b_.CreateMul(b_.CreateXor(lane, word), Word(Facts::kMultiplier));
    return b_.CreateIntrinsic(llvm::Intrinsic::fshl, {i64_}, {product, product, Word(32)});
  }

  // void(ptr job, i32 index): adds the digests of chunks index, index + threads, ...
  llvm::Function* MakeChunks() {
    llvm::Function* const body =
        Begin(b_.getVoidTy(), {ptr_, i32_}, library_.name + ".digest_chunks");
    llvm::Value* const job = body->getArg(0);
    const auto field = [&](JobField f) { return b_.CreateStructGEP(job_, job, f); };
    llvm::Value* const data = b_.CreateLoad(ptr_, field(kData));
    llvm::Value* const bytes = b_.CreateLoad(i64_, field(kBytes));
    llvm::Value* const threads = b_.CreateLoad(i64_, field(kThreads));
    llvm::Value* const first = b_.CreateZExt(body->getArg(1), i64_);
    llvm::BasicBlock* const entry = b_.GetInsertBlock();
    auto *next = Block("next"), *chunk = Block("chunk"), *block = Block("block"),
         *fold = Block("fold"), *done = Block("done");
    b_.CreateBr(next);

    b_.SetInsertPoint(next);
    llvm::PHINode* const number = b_.CreatePHI(i64_, 2);
    llvm::PHINode* const sum = b_.CreatePHI(i64_, 2);
    number->addIncoming(first, entry);
    sum->addIncoming(Word(0), entry);
    llvm::Value* const begin = b_.CreateMul(number, Word(Facts::kChunkBytes));
    b_.CreateCondBr(b_.CreateICmpULT(begin, bytes), chunk, done);

    b_.SetInsertPoint(chunk);
    llvm::Value* const end = b_.CreateBinaryIntrinsic(
        llvm::Intrinsic::umin, b_.CreateAdd(begin, Word(Facts::kChunkBytes)), bytes);
    std::vector<llvm::Value*> seeds;
    for (uint64_t l = 0; l < Facts::kLanes; ++l) {
      llvm::Value* const at = b_.CreateAdd(b_.CreateMul(number, Word(Facts::kLanes)), Word(l + 1));
      seeds.push_back(b_.CreateMul(at, Word(Facts::kSeed)));
    }
    b_.CreateBr(block);

    b_.SetInsertPoint(block);
    llvm::PHINode* const at = b_.CreatePHI(i64_, 2);
    at->addIncoming(begin, chunk);
    std::vector<llvm::PHINode*> lanes;
    for (llvm::Value* seed : seeds) {
      lanes.push_back(b_.CreatePHI(i64_, 2));
      lanes.back()->addIncoming(seed, chunk);
    }
    llvm::Value* const words = At(data, at);
    b_.CreateIntrinsic(
        llvm::Intrinsic::prefetch, {ptr_},
        {b_.CreateConstGEP1_64(b_.getInt8Ty(), words, kFetchBytes), b_.getInt32(/*read=*/0),
         b_.getInt32(/*locality=*/3), b_.getInt32(/*data=*/1)});
    std::vector<llvm::Value*> mixed;
    for (uint64_t l = 0; l < Facts::kLanes; ++l) {
      mixed.push_back(
          Mix(lanes[l], b_.CreateLoad(i64_, b_.CreateConstInBoundsGEP1_64(i64_, words, l))));
      lanes[l]->addIncoming(mixed.back(), block);
    }
    llvm::Value* const after = b_.CreateAdd(at, Word(Facts::kBlockBytes));
    at->addIncoming(after, block);
    b_.CreateCondBr(b_.CreateICmpULT(after, end), block, fold);

    b_.SetInsertPoint(fold);
    llvm::Value* digest = Word(0);
    for (llvm::Value* lane : mixed) digest = Mix(digest, lane);
    sum->addIncoming(b_.CreateAdd(sum, digest), fold);
    number->addIncoming(b_.CreateAdd(number, threads), fold);
    b_.CreateBr(next);

    b_.SetInsertPoint(done);
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, field(kDigest), sum, llvm::Align(8),
                       llvm::AtomicOrdering::Release);
    b_.CreateRetVoid();
    return body;
  }

  // i64(ptr data, ptr threads)
  void MakeDigest() {
    llvm::Function* const chunks = MakeChunks();
    digest_ = Begin(i64_, {ptr_, ptr_}, library_.name + ".digest");
    llvm::Value* const offered = digest_->getArg(1);
    llvm::Value* const job = b_.CreateAlloca(job_);
    llvm::Value* const threads = b_.CreateCall(threads_, {offered});
    const auto field = [&](JobField f) { return b_.CreateStructGEP(job_, job, f); };
    b_.CreateStore(digest_->getArg(0), field(kData));
    b_.CreateStore(SealPlace(), field(kBytes));
    b_.CreateStore(threads, field(kThreads));
    b_.CreateStore(Word(0), field(kDigest));
    RunOnThreads(&b_, chunks, job, threads, offered);
    llvm::LoadInst* const digest = b_.CreateAlignedLoad(i64_, field(kDigest), llvm::Align(8));
    digest->setAtomic(llvm::AtomicOrdering::Acquire);
    b_.CreateRet(digest);
  }

  llvm::Value* IsOther(llvm::Value* data, llvm::Value* threads) {
    return b_.CreateICmpNE(b_.CreateCall(digest_, {data, threads}), Word(library_.weights_digest));
  }

  // ---- int32_t NAME_check_weights(const tektite_aot_weights*, const tektite_aot_threads*) ----
  void EmitCheck() {
    llvm::Function* const check =
        Begin(i32_, {ptr_, ptr_}, library_.name + "_check_weights", /*is_public=*/true);
    llvm::Value* const data = LoadWeights(library_, check->getArg(0), &b_,
                                          [&](llvm::Value* condition, std::string sentence) {
                                            Fail(condition, aot::kBadWeights, std::move(sentence));
                                          });
    EmitPopulateRange(data, library_.weights_bytes, &b_);
    Fail(IsOther(data, check->getArg(1)), aot::kBadWeights, kDamaged);
    b_.CreateRet(b_.getInt32(0));
  }

  // ---- int32_t NAME_map_weights(const char* path, tektite_aot_check,
  //                               const tektite_aot_threads*, tektite_aot_weights*) ----
  void EmitMap() {
    llvm::Function* const map =
        Begin(i32_, {ptr_, i32_, ptr_, ptr_}, library_.name + "_map_weights", /*is_public=*/true);
    llvm::Value *path = map->getArg(0), *check = map->getArg(1), *threads = map->getArg(2),
                *weights = map->getArg(3);
    Fail(b_.CreateIsNull(path), aot::kBadArgument, "'path' is null");
    Fail(b_.CreateICmpUGT(check, b_.getInt32(kCheckSeal)), aot::kBadArgument,
         "'check' is no tektite_aot_check");
    Fail(b_.CreateIsNull(weights), aot::kBadArgument, "'weights' is null");
    // What is no file, a pipe for example, must not make the caller wait.
    llvm::Value* const file =
        Libc("open", i32_, {ptr_, i32_},
             {path, b_.getInt32(kReadOnly | kNonBlocking | kCloseOnExec)}, /*is_variadic=*/true);
    Fail(b_.CreateICmpSLT(file, b_.getInt32(0)), aot::kBadWeights,
         "the file of weights cannot be opened");
    const auto close = [&] { Libc("close", i32_, {i32_}, {file}); };
    llvm::Value* const size =
        Libc("lseek", i64_, {i32_, i64_, i32_}, {file, Word(0), b_.getInt32(kSeekEnd)});
    Fail(b_.CreateICmpNE(size, Bytes()), aot::kBadWeights,
         "the file of weights has another length than this library's: it is not whole, or another "
         "library's",
         close);
    llvm::Value* const data =
        Libc("mmap", ptr_, {ptr_, i64_, i32_, i32_, i32_, i64_},
             {llvm::ConstantPointerNull::get(b_.getPtrTy()), Bytes(), b_.getInt32(kProtRead),
              b_.getInt32(kMapPrivate), file, Word(0)});
    close();
    Fail(b_.CreateICmpEQ(b_.CreatePtrToInt(data, i64_), Word(~uint64_t{0})), aot::kBadWeights,
         "the file of weights cannot be mapped");
    EmitPopulateRange(data, library_.weights_bytes, &b_);
    const auto unmap = [&] { Libc("munmap", i32_, {ptr_, i64_}, {data, Bytes()}); };
    Fail(HasOtherSeal(library_, data, &b_), aot::kBadWeights, kOtherWeights, unmap);
    auto *all = Block("all"), *mapped = Block("mapped");
    b_.CreateCondBr(b_.CreateICmpEQ(check, b_.getInt32(kCheckAll)), all, mapped);
    b_.SetInsertPoint(all);
    Fail(IsOther(data, threads), aot::kBadWeights, kDamaged, unmap);
    b_.CreateBr(mapped);
    b_.SetInsertPoint(mapped);
    b_.CreateStore(data, b_.CreateStructGEP(weights_, weights, 0));
    b_.CreateStore(Bytes(), b_.CreateStructGEP(weights_, weights, 1));
    b_.CreateRet(b_.getInt32(0));
  }

  // ---- void NAME_unmap_weights(tektite_aot_weights*) ----
  void EmitUnmap() {
    llvm::Function* const unmap =
        Begin(b_.getVoidTy(), {ptr_}, library_.name + "_unmap_weights", /*is_public=*/true);
    auto *given = Block("given"), *mapped = Block("mapped"), *done = Block("done");
    llvm::Value* const weights = unmap->getArg(0);
    b_.CreateCondBr(b_.CreateIsNull(weights), done, given);
    b_.SetInsertPoint(given);
    llvm::Value* const field = b_.CreateStructGEP(weights_, weights, 0);
    llvm::Value* const data = b_.CreateLoad(ptr_, field);
    b_.CreateCondBr(b_.CreateIsNull(data), done, mapped);
    b_.SetInsertPoint(mapped);
    Libc("munmap", i32_, {ptr_, i64_}, {data, Bytes()});
    b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), field);
    b_.CreateStore(Word(0), b_.CreateStructGEP(weights_, weights, 1));
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

  static constexpr char kDamaged[] = "the weights are damaged: their digest is not this library's";

  aot::Library& library_;
  llvm::StructType *job_, *weights_;
  llvm::Function *threads_, *digest_ = nullptr;
};

}  // namespace

void EmitWeightsCode(aot::Library* library, llvm::Module* module) {
  if (library->weights != aot::WeightsPlace::kInside) WeightsCode(library, module).Emit();
}

llvm::Value* LoadWeights(const aot::Library& library, llvm::Value* weights, llvm::IRBuilder<>* b,
                         const std::function<void(llvm::Value*, std::string)>& fail) {
  fail(b->CreateIsNull(weights), "'weights' is null");
  llvm::StructType* const type =
      llvm::StructType::get(b->getContext(), {b->getPtrTy(), b->getInt64Ty()});
  llvm::Value* const data = b->CreateLoad(b->getPtrTy(), b->CreateStructGEP(type, weights, 0));
  llvm::Value* const bytes = b->CreateLoad(b->getInt64Ty(), b->CreateStructGEP(type, weights, 1));
  fail(b->CreateIsNull(data), "the weights are null");
  llvm::Value* const low = b->CreateAnd(b->CreatePtrToInt(data, b->getInt64Ty()), b->getInt64(63));
  fail(b->CreateICmpNE(low, b->getInt64(0)), "the weights do not begin at a multiple of 64 bytes");
  fail(b->CreateICmpSLT(bytes, b->getInt64(static_cast<uint64_t>(library.weights_bytes))),
       absl::StrCat("the weights are shorter than the ", library.weights_bytes,
                    " bytes of this library's"));
  fail(HasOtherSeal(library, data, b), kOtherWeights);
  return data;
}

}  // namespace tektite::cpu
