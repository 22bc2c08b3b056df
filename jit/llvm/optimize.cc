#include "jit/llvm/optimize.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LastRunTrackingAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"

namespace tektite::loop {

namespace {

// The analyses that the passes below ask for.  llvm::PassBuilder would register every analysis and
// pass there is, and link them: half of the library's code, read into memory and never run.
struct Analyses {
  explicit Analyses(llvm::TargetMachine& machine) {
    functions.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    functions.registerPass([] { return llvm::AssumptionAnalysis(); });
    functions.registerPass([] { return llvm::BasicAA(); });
    functions.registerPass([] { return llvm::BlockFrequencyAnalysis(); });
    functions.registerPass([] { return llvm::BranchProbabilityAnalysis(); });
    functions.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::LastRunTrackingAnalysis(); });
    functions.registerPass([] { return llvm::LoopAnalysis(); });
    functions.registerPass([] { return llvm::MemorySSAAnalysis(); });
    functions.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
    functions.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
    functions.registerPass([] { return llvm::TargetLibraryAnalysis(); });
    functions.registerPass([&] { return machine.getTargetIRAnalysis(); });
    functions.registerPass([] {
      llvm::AAManager aliases;
      aliases.registerFunctionAnalysis<llvm::BasicAA>();
      return aliases;
    });
    modules.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    modules.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
    loops.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    functions.registerPass([&] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([&] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
    modules.registerPass([&] { return llvm::FunctionAnalysisManagerModuleProxy(functions); });
    loops.registerPass([&] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::ModuleAnalysisManager modules;
};

}  // namespace

void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  Analyses analyses(machine);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loop_passes;
  loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(
      llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, analyses.functions);
  }
}

}  // namespace tektite::loop
