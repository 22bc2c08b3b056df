#include "backends/cpu/aot/cpu_check.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/cpu/aot/function_code.h"
#include "jit/aot/data_object.h"

namespace tektite::cpu {
namespace {

constexpr uint32_t kExtended = 0x80000001;
constexpr int kEax = 0, kEbx = 1, kEcx = 2, kEdx = 3;

// Intel's and AMD's manuals, volume 2 and 3, the pages of CPUID.
constexpr CpuNeed kNeeds[] = {
    {"sse3", 1, 0, kEcx, 0},
    {"pclmul", 1, 0, kEcx, 1},
    {"ssse3", 1, 0, kEcx, 9},
    {"fma", 1, 0, kEcx, 12},
    {"cx16", 1, 0, kEcx, 13},
    {"sse4.1", 1, 0, kEcx, 19},
    {"sse4.2", 1, 0, kEcx, 20},
    {"movbe", 1, 0, kEcx, 22},
    {"popcnt", 1, 0, kEcx, 23},
    {"aes", 1, 0, kEcx, 25},
    {"avx", 1, 0, kEcx, 28},
    {"f16c", 1, 0, kEcx, 29},
    {"bmi", 7, 0, kEbx, 3},
    {"avx2", 7, 0, kEbx, 5},
    {"bmi2", 7, 0, kEbx, 8},
    {"avx512f", 7, 0, kEbx, 16},
    {"avx512dq", 7, 0, kEbx, 17},
    {"adx", 7, 0, kEbx, 19},
    {"avx512ifma", 7, 0, kEbx, 21},
    {"avx512cd", 7, 0, kEbx, 28},
    {"sha", 7, 0, kEbx, 29},
    {"avx512bw", 7, 0, kEbx, 30},
    {"avx512vl", 7, 0, kEbx, 31},
    {"avx512vbmi", 7, 0, kEcx, 1},
    {"avx512vbmi2", 7, 0, kEcx, 6},
    {"gfni", 7, 0, kEcx, 8},
    {"vaes", 7, 0, kEcx, 9},
    {"vpclmulqdq", 7, 0, kEcx, 10},
    {"avx512vnni", 7, 0, kEcx, 11},
    {"avx512bitalg", 7, 0, kEcx, 12},
    {"avx512vpopcntdq", 7, 0, kEcx, 14},
    {"avx512vp2intersect", 7, 0, kEdx, 8},
    {"amx-bf16", 7, 0, kEdx, 22},
    {"avx512fp16", 7, 0, kEdx, 23},
    {"amx-tile", 7, 0, kEdx, 24},
    {"amx-int8", 7, 0, kEdx, 25},
    {"avxvnni", 7, 1, kEax, 4},
    {"avx512bf16", 7, 1, kEax, 5},
    {"avxifma", 7, 1, kEax, 23},
    {"avxvnniint8", 7, 1, kEdx, 4},
    {"avxneconvert", 7, 1, kEdx, 5},
    {"avxvnniint16", 7, 1, kEdx, 10},
    {"lzcnt", kExtended, 0, kEcx, 5},
    {"sse4a", kExtended, 0, kEcx, 6},
    {"xop", kExtended, 0, kEcx, 11},
    {"fma4", kExtended, 0, kEcx, 16},
    {"tbm", kExtended, 0, kEcx, 21},
};

// The levels of the x86-64 psABI.
constexpr absl::string_view kLevel3[] = {"sse3",   "ssse3", "cx16",  "sse4.1", "sse4.2",
                                         "popcnt", "avx",   "avx2",  "bmi",    "bmi2",
                                         "f16c",   "fma",   "lzcnt", "movbe"};
constexpr absl::string_view kLevel4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

bool IsOfTiles(const CpuNeed& need) { return absl::StartsWith(need.feature, "amx"); }

bool HasFeature(const std::vector<absl::string_view>& list, absl::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The parts of XCR0 that the system must have set.
uint32_t SavedRegisters(const std::vector<CpuNeed>& needs) {
  constexpr uint32_t kVectors = 0x6, kAvx512 = 0xe0, kTiles = 0x60000;
  uint32_t bits = 0;
  for (const CpuNeed& need : needs) {
    if (absl::StartsWith(need.feature, "avx")) bits |= kVectors;
    if (absl::StartsWith(need.feature, "avx512")) bits |= kAvx512;
    if (IsOfTiles(need)) bits |= kTiles;
  }
  return bits;
}

class CpuCheckMaker : FunctionCode {
 public:
  CpuCheckMaker(llvm::Module* module, const std::string& library, const std::string& prefix)
      : FunctionCode(module), library_(library), name_(prefix + ".cpu") {}

  llvm::Function* Make(const std::vector<CpuNeed>& needs) {
    Begin(b_.getInt1Ty(), {}, name_);
    no_ = Block("no");
    words_ = b_.CreateAlloca(i32_, b_.getInt64(4));
    std::map<std::pair<uint32_t, uint32_t>, std::vector<CpuNeed>> leaves;
    for (const CpuNeed& need : needs) leaves[{need.leaf, need.subleaf}].push_back(need);
    for (const auto& [place, bits] : leaves) {
      const auto& [leaf, subleaf] = place;
      // The last leaf that there is, and of leaf 7 the last part.
      Unless(b_.CreateICmpUGE(Word(leaf & 0x80000000, 0, kEax), b_.getInt32(leaf)));
      if (subleaf > 0) {
        Unless(b_.CreateICmpUGE(Word(leaf, 0, kEax), b_.getInt32(subleaf)));
      }
      for (int word : {kEax, kEbx, kEcx, kEdx}) {
        uint32_t mask = 0;
        for (const CpuNeed& need : bits) {
          if (need.word == word) mask |= uint32_t{1} << need.bit;
        }
        Require(mask == 0 ? nullptr : Word(leaf, subleaf, word), mask);
      }
    }
    if (const uint32_t saved = SavedRegisters(needs); saved != 0) {
      constexpr uint32_t kXgetbv = uint32_t{1} << 27;
      Require(Word(1, 0, kEcx), kXgetbv);
      Require(Answer("__xgetbv"), saved);
    }
    if (std::any_of(needs.begin(), needs.end(), IsOfTiles)) {
      Unless(b_.CreateICmpEQ(Answer("__ask_for_tiles"), b_.getInt32(0)));
    }
    b_.CreateRet(b_.getTrue());
    b_.SetInsertPoint(no_);
    b_.CreateRet(b_.getFalse());
    return function_;
  }

 private:
  void Unless(llvm::Value* holds) {
    llvm::BasicBlock* const next = Block("next");
    b_.CreateCondBr(holds, next, no_);
    b_.SetInsertPoint(next);
  }
  void Require(llvm::Value* word, uint32_t mask) {
    if (mask == 0) return;
    Unless(b_.CreateICmpEQ(b_.CreateAnd(word, b_.getInt32(mask)), b_.getInt32(mask)));
  }
  llvm::Value* Word(uint32_t leaf, uint32_t subleaf, int word) {
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {i32_, i32_, ptr_}, false);
    b_.CreateCall(HiddenFunction(&module_, library_ + "__cpuid", type),
                  {b_.getInt32(leaf), b_.getInt32(subleaf), words_});
    return b_.CreateLoad(i32_, At(words_, word * int64_t{sizeof(uint32_t)}));
  }
  llvm::Value* Answer(const char* name) {
    return b_.CreateCall(
        HiddenFunction(&module_, library_ + name, llvm::FunctionType::get(i32_, {}, false)));
  }

  const std::string library_, name_;
  llvm::BasicBlock* no_ = nullptr;
  llvm::Value* words_ = nullptr;  // eax, ebx, ecx, edx
};

}  // namespace

std::vector<CpuNeed> NeedsOf(const NamedTarget& named, bool uses_tiles) {
  if (named.is_aarch64) return {};
  const target::TargetInfo& target = named.info;
  std::vector<absl::string_view> features;
  for (absl::string_view feature : absl::StrSplit(target.features, ',', absl::SkipEmpty())) {
    if (feature[0] == '+') features.push_back(feature.substr(1));
  }
  if (absl::StartsWith(target.cpu, "x86-64")) {
    features.insert(features.end(), std::begin(kLevel3), std::end(kLevel3));
    if (target.vector_bytes == 64) {
      features.insert(features.end(), std::begin(kLevel4), std::end(kLevel4));
    }
  }
  std::vector<CpuNeed> needs;
  for (const CpuNeed& need : kNeeds) {
    if (IsOfTiles(need) && !uses_tiles) continue;
    if (HasFeature(features, need.feature)) needs.push_back(need);
  }
  return needs;
}

llvm::Function* MakeCpuCheck(llvm::Module* module, const std::string& library,
                             const std::string& prefix, const std::vector<CpuNeed>& needs) {
  return CpuCheckMaker(module, library, prefix).Make(needs);
}

std::vector<std::pair<std::string, std::string>> CpuCheckObjects(const std::string& library) {
  // void(uint32_t leaf, uint32_t subleaf, uint32_t words[4])
  static constexpr char kCpuid[] =
      "\x53"              // push rbx
      "\x49\x89\xd0"      // mov r8, rdx
      "\x89\xf8"          // mov eax, edi
      "\x89\xf1"          // mov ecx, esi
      "\x0f\xa2"          // cpuid
      "\x41\x89\x00"      // mov [r8], eax
      "\x41\x89\x58\x04"  // mov [r8 + 4], ebx
      "\x41\x89\x48\x08"  // mov [r8 + 8], ecx
      "\x41\x89\x50\x0c"  // mov [r8 + 12], edx
      "\x5b"              // pop rbx
      "\xc3";             // ret
  // uint32_t(): the lower half of XCR0
  static constexpr char kXgetbv[] =
      "\x31\xc9"      // xor ecx, ecx
      "\x0f\x01\xd0"  // xgetbv
      "\xc3";         // ret
  // int32_t(): arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of Linux.  What has been granted
  // is granted again.
  static constexpr char kAskForTiles[] =
      "\xb8\x9e\x00\x00\x00"  // mov eax, 158
      "\xbf\x23\x10\x00\x00"  // mov edi, 0x1023
      "\xbe\x12\x00\x00\x00"  // mov esi, 18
      "\x0f\x05"              // syscall
      "\xc3";                 // ret
  std::vector<std::pair<std::string, std::string>> objects;
  const auto add = [&](const char* name, absl::string_view code) {
    const aot::DataSymbol symbol{library + name, aot::ElfMachine::kX86_64, /*is_function=*/true};
    objects.emplace_back(symbol.name, aot::WriteDataObject(symbol, code));
  };
  add("__cpuid", {kCpuid, sizeof(kCpuid) - 1});
  add("__xgetbv", {kXgetbv, sizeof(kXgetbv) - 1});
  add("__ask_for_tiles", {kAskForTiles, sizeof(kAskForTiles) - 1});
  return objects;
}

}  // namespace tektite::cpu
