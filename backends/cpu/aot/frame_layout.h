// Where a call of a library keeps what its threads share: offsets in the frame, which is the
// beginning of the call's arena.
//
//   FrameLayout frame(library);
//   frame.kernel(step).slots          // the addresses of its buffers
//   frame.bytes()
//
// All offsets are the same in every call.  Behind the frame's header (team_code.h) stand, for each
// step that runs a kernel, the addresses of its buffers, and where its sizes are open, the table
// that it reads and its number of chunks; then the addresses of buffers that loops, choices and
// copies use, the program's table, and values of sizes that kernels read as tensors.  What threads
// count and offer each other comes last: it must be zeros where there are several.
#ifndef TEKTITE_BACKENDS_CPU_AOT_FRAME_LAYOUT_H_
#define TEKTITE_BACKENDS_CPU_AOT_FRAME_LAYOUT_H_

#include <cstdint>
#include <map>
#include <vector>

#include "jit/aot/library.h"

namespace tektite::cpu {

struct KernelPlace {
  const aot::ObjectKernel* kernel = nullptr;
  bool is_static = true;          // then nothing but slots lies in the frame
  int64_t chunks = 0, claim = 0;  // chunks, and those of one claim (team_code.h)
  int64_t table = 0;
  int64_t slots = -1;  // of a step of no region
  int loops = 0;       // that it is inside of
};

class FrameLayout {
 public:
  explicit FrameLayout(const aot::Library& library);

  const std::map<int, KernelPlace>& kernels() const { return kernels_; }
  const KernelPlace& kernel(int step) const { return kernels_.at(step); }
  // The address of a buffer that a loop, a choice or a copy uses.
  const std::map<int, int64_t>& pointers() const { return pointers_; }
  // The graph's table; -1: no step reads it there.
  int64_t table() const { return table_; }
  const std::vector<int64_t>& size_values() const { return size_values_; }
  int64_t counters() const { return counters_; }  // by position of a step
  int64_t jobs() const { return jobs_; }
  int64_t bytes() const { return bytes_; }

 private:
  void Add(const aot::Library& library, int step, bool is_in_unit, int loops);
  int64_t Reserve(int64_t bytes, int64_t alignment = 8);

  std::map<int, KernelPlace> kernels_;
  std::map<int, int64_t> pointers_;
  std::vector<int64_t> size_values_;
  int64_t table_ = -1, counters_ = 0, jobs_ = 0;
  int64_t bytes_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_FRAME_LAYOUT_H_
