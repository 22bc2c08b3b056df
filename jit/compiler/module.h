// A compiled graph: its kernels, the step graph, the roles of its outputs, checks of sizes, and
// what is done to weights, in one form that another process loads without compiling.
//
//   std::string bytes = WriteModule(module);
//   Module loaded;
//   if (!ReadModule(std::move(bytes), &loaded)) ...              // not what WriteModule made
//
// MakeModule (make_module.h) makes one of a graph, a target and options.  The disk cache and packs
// hold its bytes, the runtime runs its step graph, and libraries ahead of time are written from it.
//
// A module holds the images of its kernels, so that it is one file to read and one digest to check.
// Beside them stand their own cache keys: a kernel that another module brought along is not loaded
// again.  One that back ends keep no image of (a library's, the interpreter's) stands there as the
// text of its fusion and is made anew, which is cheap for those.
//
// That nothing can be compiled is kept in the same form, so that no later process tries again.
// Limits: bytes are for the build and the kind of machine that wrote them, which their keys say.
#ifndef TEKTITE_JIT_COMPILER_MODULE_H_
#define TEKTITE_JIT_COMPILER_MODULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "jit/backend/kernel.h"
#include "jit/base/hash.h"
#include "jit/ir/graph.h"
#include "jit/runtime/memory/buffer_assignment.h"
#include "jit/runtime/step_graph.h"

namespace tektite::compiler {

struct ModuleKernel {
  std::string name;
  Fingerprint key;
  std::shared_ptr<const backend::Kernel> kernel;  // null: not loaded yet
  absl::string_view image;  // as backend::Kernel::Image returns it, where it is not loaded yet
  std::string fusion;       // a graph of one fusion, for a kernel without an image; else empty
};

struct Module {
  Fingerprint key;                           // its own, where it comes from the disk cache
  std::shared_ptr<const std::string> bytes;  // what the images borrow from; null: the caller's
  std::string note;                          // the caller's, unread
  std::string refusal;                       // why there is no code: then all that follows is empty
  runtime::OutputRoles roles;
  std::vector<ModuleKernel> kernels;
  // Products whose operands passes made smaller, for counters.
  uint32_t bf16_products = 0, byte_products = 0;
  static constexpr int kNoKernel = -1;  // of a loop, a choice, a copy
  std::vector<int> kernel_of_step;
  runtime::StepGraph steps;  // as ReadStepGraph leaves it, where kernels are not loaded yet
};

std::string WriteModule(const Module& module);
// In a module's place: that there is none, and why, which is not empty.
std::string WriteRefusal(absl::string_view note, absl::string_view reason);
// Reads both.
bool ReadModule(std::string bytes, Module* module);

// A graph of which `fusion` is all there is.
std::string FusionText(const ir::Node& fusion);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_MODULE_H_
