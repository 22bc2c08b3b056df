// Returns the heap's free pages to the system before and after a burst of compiling.
//
// Why: the packing of weights follows a burst, and a process's peak would otherwise hold the
// compiler's free memory beside the packed weights.  Of ResNet50's peak that is some 40 MB.  Before
// a burst the host's free memory remains: making a model and its graph frees 10 to 17 MB that the
// compiler's thread, which has an arena of malloc's to itself, would not use.
//
//   for (...) { ReleaseFreeMemoryAtTimes(); ... compile a kernel ... }
//   ReleaseFreeMemory();
//
// Limits: walks the whole heap, milliseconds where it is large.
#ifndef TEKTITE_JIT_BASE_RELEASE_MEMORY_H_
#define TEKTITE_JIT_BASE_RELEASE_MEMORY_H_

namespace tektite {

void ReleaseFreeMemory();

// Only once in 50 ms of the calling thread's processor time, or less often where the heap is large:
// for places that are passed often, such as between kernels, where what was freed meanwhile is the
// host's and the compiler's own.
void ReleaseFreeMemoryAtTimes();

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_RELEASE_MEMORY_H_
