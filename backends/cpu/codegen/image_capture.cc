#include "backends/cpu/codegen/image_capture.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/codegen/llvm_error.h"
#include "jit/base/status.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"

namespace tektite::cpu {
namespace {

using llvm::jitlink::Block;
using llvm::jitlink::Edge;
using llvm::jitlink::LinkGraph;
using llvm::jitlink::Section;
using llvm::jitlink::Symbol;
using llvm::orc::ExecutorAddr;
using llvm::orc::MemProt;
namespace x86_64 = llvm::jitlink::x86_64;
LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

absl::string_view NameOf(const Symbol& symbol) {
  if (!symbol.hasName()) return "";
  const llvm::StringRef name = *symbol.getName();
  return {name.data(), name.size()};
}

// Its number in CalledFunctions(); -1: none of them.
int64_t FunctionNumber(const Symbol& symbol) {
  const absl::Span<const CalledFunction> functions = CalledFunctions();
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name == NameOf(symbol)) return static_cast<int64_t>(i);
  }
  return -1;
}

// The entries of JITLink's tables come in an order that differs from run to run.  Addresses, which
// they do not have yet, are what the layout sorts by: so equal kernels have equal images.
llvm::Error OrderTables(LinkGraph& graph) {
  for (const llvm::StringRef name :
       {x86_64::GOTTableManager::getSectionName(), x86_64::PLTTableManager::getSectionName()}) {
    Section* const table = graph.findSectionByName(name);
    if (table == nullptr) continue;
    for (Block* entry : table->blocks()) {
      const Symbol& target = entry->edges().begin()->getTarget();
      entry->setAddress(target.isDefined() ? target.getBlock().getAddress()
                                           : ExecutorAddr(1 + FunctionNumber(target)));
    }
  }
  return llvm::Error::success();
}

}  // namespace

void ImageCapture::AddPasses(llvm::orc::SymbolStringPool& names,
                             llvm::jitlink::PassConfiguration& config) {
  // Before JITLink's own, which look for the function by name and take unwind tables apart.
  config.PrePrunePasses.insert(config.PrePrunePasses.begin(), [this, &names](LinkGraph& graph) {
    return ToLlvm(Prepare(names, graph));
  });
  config.PostPrunePasses.push_back(OrderTables);
  // In place of JITLink's own, which would point calls straight at a function that happens to be
  // near: code that could not be moved.
  config.PreFixupPasses.clear();
  config.PreFixupPasses.emplace_back(
      [this](LinkGraph& graph) { return ToLlvm(FindFixups(graph)); });
}

absl::Status ImageCapture::Prepare(llvm::orc::SymbolStringPool& names, LinkGraph& graph) {
  if (graph.getTargetTriple().getArch() != llvm::Triple::x86_64) {
    return Internal("not an object of this machine");
  }
  // Nothing may be thrown through a kernel.
  if (Section* const unwind = graph.findSectionByName(".eh_frame")) graph.removeSection(*unwind);
  for (const Section& section : graph.sections()) {
    if ((section.getMemProt() & MemProt::Write) == MemProt::None ||
        section.getName().starts_with(".data.rel.ro")) {
      continue;
    }
    for (const Block* block : section.blocks()) {
      if (block->getSize() == 0) continue;
      return Internal("the code has variables (", section.getName().str(), ")");
    }
  }
  for (const Block* block : graph.blocks()) {
    if (block->getAlignment() > kImageAlignment) {
      return Internal("data aligned to ", block->getAlignment(), " bytes");
    }
  }
  for (const Symbol* symbol : graph.external_symbols()) {
    if (FunctionNumber(*symbol) < 0) {
      return Internal("the code calls ", NameOf(*symbol), ", which has no lowering");
    }
  }
  Symbol* kernel = nullptr;
  for (Symbol* symbol : graph.defined_symbols()) {
    if (NameOf(*symbol) == function_) kernel = symbol;
    // The assembler refers to functions beside it without their names, which profilers want.
    if (symbol->isCallable()) symbol->setLive(true);
  }
  if (kernel == nullptr) return Internal("the object does not define it");
  kernel->setName(names.intern(symbol_));
  return absl::OkStatus();
}

absl::Status ImageCapture::FindFixups(LinkGraph& graph) {
  // The first block stands where CodeMemory's mapping begins.
  begin_ = ExecutorAddr(~uint64_t{0});
  ExecutorAddr end;
  for (const Block* block : graph.blocks()) {
    begin_ = std::min(begin_, block->getAddress());
    end = std::max(end, block->getAddress() + block->getSize());
  }
  size_ = end - begin_;
  for (const Symbol* symbol : graph.defined_symbols()) {
    if (NameOf(*symbol) == symbol_) entry_ = symbol->getAddress() - begin_;
  }
  for (const Block* block : graph.blocks()) {
    for (const Edge& edge : block->edges()) {
      TEKTITE_RETURN_IF_ERROR(AddFixup(*block, edge));
    }
  }
  std::sort(fixups_.begin(), fixups_.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return absl::OkStatus();
}

absl::Status ImageCapture::AddFixup(const Block& block, const Edge& edge) {
  const Symbol& target = edge.getTarget();
  switch (edge.getKind()) {
    case Edge::KeepAlive:
      return absl::OkStatus();
    // Distances.
    case x86_64::Delta64:
    case x86_64::Delta32:
    case x86_64::BranchPCRel32:
    case x86_64::BranchPCRel32ToPtrJumpStub:
    case x86_64::BranchPCRel32ToPtrJumpStubBypassable:
    case x86_64::PCRel32GOTLoadRelaxable:
    case x86_64::PCRel32GOTLoadREXRelaxable:
      if (target.isDefined()) return absl::OkStatus();
      return Internal("the distance to ", NameOf(target));
    case x86_64::Pointer64:
      break;
    default:
      return Internal("a reference of kind ", x86_64::getEdgeKindName(edge.getKind()));
  }
  CodeImage::Fixup fixup;
  fixup.offset = block.getAddress() + edge.getOffset() - begin_;
  if (target.isDefined()) {
    fixup.addend = target.getAddress() + edge.getAddend() - begin_;
    if (fixup.addend > size_) return Internal("an address outside of the code");
  } else {
    fixup.function = FunctionNumber(target);
    if (fixup.function < 0 || edge.getAddend() != 0) {
      return Internal("the address of ", NameOf(target));
    }
  }
  fixups_.push_back(fixup);
  return absl::OkStatus();
}

}  // namespace tektite::cpu
