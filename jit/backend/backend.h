// What a back end provides: machine code (or anything that runs) for one fusion node at a time.
//
// A fused graph (after the passes) holds parameters, constants, and `fusion` nodes, nothing else
// but reshapes that are views.  Each fusion has a kind (attribute `kind`) and a region; the
// region's parameters are the fusion's operands, the region's outputs its results.  The region is
// the meaning: the reference back end interprets it, others emit code for it.  A back end refuses
// what it cannot do with Unimplemented and a reason; the compiler then asks the next back end in
// its list.
//
// A kernel's work is cut into chunks numbered from 0.  Chunks are independent, may run in any order
// and on any thread, and are fixed by the sizes alone, so that results never depend on the number
// of threads.  See jit/reference for the smallest back end, and tests/conformance for what each
// must pass.
#ifndef TEKTITE_JIT_BACKEND_BACKEND_H_
#define TEKTITE_JIT_BACKEND_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/backend/target_info.h"
#include "jit/ir/graph.h"

namespace tektite::backend {

// The arguments of one kernel call.
struct KernelFrame {
  void* const* buffers;  // the fusion's operands in order, then its results; row-major
  const int64_t* sizes;  // values of the region's symbols, as ir::SymbolsOf orders them; null: none
  void* scratch;         // LaunchPlan::scratch_bytes of this worker's own, 64-byte aligned
};

// How a kernel runs on given sizes.
struct LaunchPlan {
  int64_t num_chunks = 1;
  int64_t scratch_bytes = 0;
  double cost_ns = 0;  // estimated for one core, for the decision to stay serial
  bool fits = true;  // false: the kernel cannot count in these sizes, and must not run
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // `sizes` as in KernelFrame; a kernel of static shapes answers the same always.  Depends on the
  // sizes alone; takes well under a microsecond.  Sizes may be anything: what they make the kernel
  // work out (offsets, chunks, scratch) is checked here, once, and Run takes it for granted.
  // Whatever else a kernel derives from the sizes it works out again in Run, so that a frame holds
  // the sizes and nothing behind them.
  virtual LaunchPlan Plan(absl::Span<const int64_t> sizes) const = 0;
  // Runs chunks [begin, end) of Plan(sizes).num_chunks.
  virtual void Run(const KernelFrame& frame, int64_t begin, int64_t end) const = 0;
  // Result `result` may share operand `operand`'s buffer: every element is read by the chunk that
  // writes it, before it is written.
  virtual bool CanRunInPlace(int operand, int result) const { return false; }
  // What Backend::Load makes this kernel from; empty where the back end keeps no images, and for a
  // kernel without code of its own.
  virtual std::string Image() const { return ""; }
};

struct CompileOptions {
  std::string name;      // stable and readable: "k3_row_softmax"
  std::string dump_dir;  // when not empty: loop IR, LLVM IR and assembly go there
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual absl::string_view name() const = 0;
  virtual const TargetInfo& target() const = 0;
  // Thread-safe.  Shapes may be symbolic: the kernel then serves every value of its symbols.
  virtual absl::StatusOr<std::shared_ptr<const Kernel>> Compile(const ir::Node& fusion,
                                                                const CompileOptions& options) = 0;
  // Whether kernels have images and Load takes them.
  virtual bool keeps_images() const { return false; }
  // A kernel for each image, which a kernel of this very build and for the same target gave, maybe
  // in another process.  Those that are loaded together may share memory until the last of them
  // goes.  Thread-safe.  Bytes that cannot be such images are refused, all of them.
  virtual absl::StatusOr<std::vector<std::shared_ptr<const Kernel>>> Load(
      absl::Span<const absl::string_view> images) {
    return absl::UnimplementedError("this back end keeps no images");
  }
  // The panel width (columns) in which this back end wants the right-hand side of a contraction
  // [m, k] x [k, n] packed as [ceil(n / width), k, width], zero-padded; 0: leave it row-major.
  // m may be symbolic, and then the width does not depend on it.
  virtual int64_t RhsPanelWidth(const ir::Node& contraction) const { return 0; }
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_BACKEND_H_
