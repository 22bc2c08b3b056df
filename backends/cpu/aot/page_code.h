// Code that makes the pages of a library's weights ready, in the first call and at once.
//
//   EmitPopulate(library, data, &builder);
//
// The system maps a page when it is first read, or a few of its neighbours, too: 5800 faults in
// the first call of BERT-base, whose weights are 340 MB.  Linux's madvise(MADV_POPULATE_READ) maps
// all of them in one call: 4.6 ms of the processor's time instead of 23 (Xeon with AMX,
// Linux 6.18), and 0.25 ms where pages are large (jit/aot/data_object.h).  MADV_HUGEPAGE before it
// has a file that is not in memory yet read in large pages: all 436 MB were, instead of 385.  An
// older system refuses, and faults as ever.
#ifndef TEKTITE_BACKENDS_CPU_AOT_PAGE_CODE_H_
#define TEKTITE_BACKENDS_CPU_AOT_PAGE_CODE_H_

#include "jit/aot/library.h"
#include "llvm/IR/IRBuilder.h"

namespace tektite::cpu {

// Of the parts that every call reads; nothing where they are small.
void EmitPopulate(const aot::Library& library, llvm::Value* data, llvm::IRBuilder<>* b);
// Of `bytes` from `begin` on.
void EmitPopulateRange(llvm::Value* begin, int64_t bytes, llvm::IRBuilder<>* b);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_PAGE_CODE_H_
