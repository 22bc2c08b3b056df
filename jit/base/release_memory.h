// Gives memory back to the system that a burst of compiling has left behind.
//
// Why: what comes next is the packing of weights, and a process's peak would otherwise hold the
// leavings of the compiler beside the packed weights.  Of ResNet50's peak that is some 40 MB.
//
//   { ... compile, drop graphs ... }
//   ReleaseFreeMemory();
//
// Two things are given back:
//   the heap's free pages
//   the pages of this library's code and constant tables.  LLVM is the most of them, and hardly
//   any is needed to run kernels.  They are the file's, so what is needed again is mapped again,
//   out of the page cache, at some 0.1 us a page.
// Limits: walks the whole heap, a millisecond where it is large.  A debugger's breakpoints in this
// library's code are pages of their own, and lost.
#ifndef TEKTITE_JIT_BASE_RELEASE_MEMORY_H_
#define TEKTITE_JIT_BASE_RELEASE_MEMORY_H_

namespace tektite {

void ReleaseFreeMemory();

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_RELEASE_MEMORY_H_
