// The interface of a back end, which makes machine code (or anything that runs) for one fusion node
// at a time.
//
// A fused graph (after the passes) holds parameters, constants, and `fusion` nodes, nothing else
// but reshapes that are views.  Each fusion has a kind (attribute `kind`) and a region; the
// region's parameters are the fusion's operands, the region's outputs its results.  The region is
// the meaning: the reference back end interprets it, every other back end emits code for it.  A
// back end refuses a fusion that it cannot compile with Unimplemented and a reason; the compiler
// then asks the next back end in its list.
//
// Kernels run on streams of the back end's device, on buffers in that device's memory (kernel.h,
// stream.h).  See jit/reference for the smallest back end, and tests/conformance for what each
// must pass.
#ifndef TEKTITE_JIT_BACKEND_BACKEND_H_
#define TEKTITE_JIT_BACKEND_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/backend/kernel.h"
#include "jit/backend/stream.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"
#include "jit/target/target_info.h"

namespace tektite::backend {

struct CompileOptions {
  std::string name;      // stable and readable: "k3_row_softmax"
  std::string dump_dir;  // when not empty: loop IR, LLVM IR and assembly go there
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual absl::string_view name() const = 0;
  virtual const target::TargetInfo& target() const = 0;
  // Where its kernels run; null: on the host.  The same object as long as the back end exists; a
  // caller that keeps the pointer may use it longer.
  virtual std::shared_ptr<Device> device() const { return nullptr; }
  // Thread-safe.  Shapes may be symbolic: the kernel then serves every value of its symbols.
  virtual absl::StatusOr<std::shared_ptr<const Kernel>> Compile(const ir::Node& fusion,
                                                                const CompileOptions& options) = 0;
  // Whether kernels have images and Load takes them.
  virtual bool keeps_images() const { return false; }
  // A kernel for each image, which a kernel of this very build and for the same target returned,
  // possibly in another process.  Those that are loaded together may share memory until the last of
  // them goes.  Thread-safe.  Bytes that cannot be such images are refused, all of them.
  virtual absl::StatusOr<std::vector<std::shared_ptr<const Kernel>>> Load(
      absl::Span<const absl::string_view> images) {
    return absl::UnimplementedError("this back end keeps no images");
  }
  // What it offers for a fusion, in order of preference, up to the first that fits: each an
  // implementation's schedule, or the reason why it does not fit.  Empty: it has one way to make
  // any kernel.  Shapes may be symbolic.  Thread-safe.
  virtual std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                               const target::Facts& facts) const {
    return {};
  }
  // The version of the libraries among them, whose speed depends on it beside the target.
  virtual std::string LibraryVersion() const { return ""; }
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_BACKEND_H_
