#include "backends/cpu/aot/library_object.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/aot/function_code.h"
#include "backends/cpu/emit/chunking.h"
#include "backends/cpu/library/library_kernels.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"

namespace tektite::cpu {
namespace {

// Of an element of the first operand, where a kernel's own estimate needs sizes: a sort's.
constexpr int64_t kElementNs = 12;

class LibraryObject : public aot::ObjectKernel {
 public:
  LibraryObject(std::string symbol, std::string object, backend::LaunchFacts facts,
                std::shared_ptr<const backend::HostKernel> ready)
      : symbol_(std::move(symbol)),
        object_(std::move(object)),
        facts_(std::move(facts)),
        ready_(std::move(ready)) {}

  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    return ready_->Configure(sizes);
  }
  const std::string& symbol() const override { return symbol_; }
  absl::string_view object() const override { return object_; }
  const backend::LaunchFacts& facts() const override { return facts_; }
  bool needs_kernels() const override { return true; }
  absl::StatusOr<std::shared_ptr<const backend::HostKernel>> Link() const override {
    return ready_;
  }

 private:
  const std::string symbol_, object_;
  const backend::LaunchFacts facts_;
  const std::shared_ptr<const backend::HostKernel> ready_;
};

// Adds what does not fit 64 bits where the line is longer than it may be.
void RefuseLongerLines(const std::vector<LongestLine>& lines, ir::DimProgram* program) {
  for (const LongestLine& line : lines) {
    // Of 2^b - 1 and less above `most`: (length + 2^b - 1 - most) * 2^(63 - b) wraps from 2^63 on.
    int bits = 0;
    while ((int64_t{1} << bits) <= line.most) ++bits;
    const int64_t missing = (int64_t{1} << bits) - 1 - line.most;
    program->Add((line.length + missing) * (int64_t{1} << (63 - bits)));
  }
}

backend::LaunchFacts FactsOf(const ir::Node& fusion, const std::vector<ir::Dim>& words,
                             const backend::HostKernel& ready) {
  backend::LaunchFacts facts;
  const std::vector<std::string> symbols = ir::SymbolsOf(fusion.region());
  facts.sizes = ir::DimProgram(symbols);
  facts.launch = ir::DimProgram(symbols);
  ir::Dim chunks = 1, scratch = 0, cost;
  if (symbols.empty()) {
    const backend::LaunchConfig config = ready.Configure({});
    chunks = config.num_chunks;
    scratch = config.scratch_bytes;
    cost = static_cast<int64_t>(std::min(config.cost_ns * backend::LaunchFacts::kCostPerNs, 1e15));
  } else {
    cost = fusion.operand(0).shape().NumElements() *
           static_cast<int64_t>(kElementNs * backend::LaunchFacts::kCostPerNs);
    for (const ir::Dim& word : words) facts.sizes.Add(word);
    RefuseLongerLines(LongestLinesOf(fusion), &facts.sizes);
  }
  facts.num_chunks = facts.launch.Add(chunks);
  facts.scratch_bytes = facts.launch.Add(scratch);
  facts.cost = facts.launch.Add(cost);
  return facts;
}

// A call of tektite_library_kernel, or of tektite_library_kernel_whole (library_entry.cc).
void EmitCall(const std::string& symbol, const std::vector<ir::Dim>& words,
              backend::LaunchFacts* facts, llvm::Module* module) {
  llvm::IRBuilder<> b(module->getContext());
  llvm::Type *ptr = b.getPtrTy(), *i64 = b.getInt64Ty();
  llvm::FunctionType* const type =
      llvm::FunctionType::get(b.getVoidTy(), {ptr, ptr, ptr, i64, i64}, false);
  llvm::Function* const function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, *module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  b.SetInsertPoint(llvm::BasicBlock::Create(module->getContext(), "entry", function));
  const bool is_static = facts->sizes.num_symbols() == 0;
  llvm::Value* const count = b.getInt64(words.size());
  llvm::Value* const values = b.CreateAlloca(i64, count);
  for (size_t i = 0; i < words.size(); ++i) {
    llvm::Value* value = nullptr;
    if (words[i].is_constant()) {
      value = b.getInt64(static_cast<uint64_t>(words[i].value()));
    } else {
      const auto place = static_cast<uint64_t>(facts->sizes.Add(words[i]));
      value = b.CreateLoad(i64, b.CreateConstInBoundsGEP1_64(i64, function->getArg(1), place));
    }
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(i64, values, i));
  }
  const auto entry = [&](const char* name, const std::vector<llvm::Type*>& types) {
    return HiddenFunction(module, name, llvm::FunctionType::get(b.getVoidTy(), types, false));
  };
  if (is_static) {
    b.CreateCall(entry("tektite_library_kernel", {ptr, ptr, ptr, i64, i64}),
                 {function->getArg(0), values, function->getArg(2), function->getArg(3),
                  function->getArg(4)});
  } else {
    b.CreateCall(entry("tektite_library_kernel_whole", {ptr, ptr}), {function->getArg(0), values});
  }
  b.CreateRetVoid();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const aot::ObjectKernel>> MakeLibraryObject(
    const ir::Node& fusion, const std::string& symbol,
    std::shared_ptr<const backend::HostKernel> ready, ObjectEmitter* emitter) {
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<ir::Dim> words, LibraryWords(fusion));
  backend::LaunchFacts facts = FactsOf(fusion, words, *ready);
  TEKTITE_ASSIGN_OR_RETURN(std::string object,
                           emitter->EmitModule(symbol, [&](llvm::Module& module) {
                             EmitCall(symbol, words, &facts, &module);
                             return absl::OkStatus();
                           }));
  return std::make_shared<const LibraryObject>(symbol, std::move(object), std::move(facts),
                                               std::move(ready));
}

}  // namespace tektite::cpu
