// What libraries made ahead of time call for kernels that are compiled with Tektite: a part of
// libtektite_kernels.a alone (library_archive.h).  `words` are those of KernelOfWords.
//
// A kernel is made of its words in each call: a library keeps nothing.
// Limits: these kernels allocate; where there is no memory left, the program ends.
#include <new>

#include "backends/cpu/library/library_kernel.h"

namespace {

constexpr std::align_val_t kScratchAlignment{64};

struct FreeScratch {
  void operator()(void* memory) const { ::operator delete(memory, kScratchAlignment); }
};

}  // namespace

// Runs chunks [begin, end) of those that sizes decide.
extern "C" void tektite_library_kernel(void* const* buffers, const int64_t* words, void* scratch,
                                       int64_t begin, int64_t end) noexcept {
  tektite::cpu::KernelOfWords(words)->Run({buffers, nullptr, scratch}, begin, end);
}

// Runs all of them here, with scratch of its own: where sizes are known in the call alone.
extern "C" void tektite_library_kernel_whole(void* const* buffers, const int64_t* words) noexcept {
  const tektite::cpu::KernelPtr kernel = tektite::cpu::KernelOfWords(words);
  const tektite::backend::LaunchConfig config = kernel->Configure({});
  const std::unique_ptr<void, FreeScratch> scratch(
      ::operator new(static_cast<size_t>(config.scratch_bytes), kScratchAlignment));
  kernel->Run({buffers, nullptr, scratch.get()}, 0, config.num_chunks);
}
