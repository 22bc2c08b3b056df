// Returns free memory to the system before and after a burst of compiling.
//
// Why: the packing of weights follows a burst, and a process's peak would otherwise hold the
// compiler's free memory beside the packed weights.  Of ResNet50's peak that is some 40 MB.  Before
// a burst the host's free memory remains: making a model and its graph frees 10 to 17 MB that the
// compiler's thread, which has an arena of malloc's to itself, would not use.
//
//   for (...) { ReleaseFreeMemoryAtTimes(); ... compile a kernel ... }
//   ReleaseFreeMemory();
//
// Two things are given back:
//   the heap's free pages
//   the pages of this library's code and constant tables, and of the libraries it brings along.
//   LLVM is the most of them, and hardly any is needed to run kernels.  They are the file's, so
//   a page that is needed again is mapped again, out of the page cache, at some 0.1 us.
// Limits: walks the whole heap, milliseconds where it is large.  A debugger's breakpoints in this
// library's code are pages of their own, and lost unless KeepLibraryPages has been called.
#ifndef TEKTITE_JIT_BASE_RELEASE_MEMORY_H_
#define TEKTITE_JIT_BASE_RELEASE_MEMORY_H_

namespace tektite {

void ReleaseFreeMemory();

// Only once in 50 ms of the calling thread's processor time, or less often where the heap is large:
// for places that are passed often, such as between kernels, where what was freed meanwhile is the
// host's and the compiler's own.  The library's pages only once in a second of it.
void ReleaseFreeMemoryAtTimes();

// From now on only the heap's pages are given back.
void KeepLibraryPages();

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_RELEASE_MEMORY_H_
