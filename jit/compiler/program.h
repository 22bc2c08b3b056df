// A compiled graph in a form that a later process loads without compiling: the disk cache's plan.
//
//   std::string bytes = WriteProgram(program, steps);
//   Program program;
//   if (!ReadProgram(std::move(bytes), &program)) ...            // not what WriteProgram made
//
// A program holds the images of its kernels, so that it is one file to read and one digest to
// check.  Beside them stand their own cache keys: a kernel that another program brought along is
// not loaded again.  One that back ends keep no image of (a library's, the interpreter's) stands
// there as the text of its fusion and is made anew, which is cheap for those.
//
// That nothing can be compiled is kept in the same form, so that no later process tries again.
#ifndef TEKTITE_JIT_COMPILER_PROGRAM_H_
#define TEKTITE_JIT_COMPILER_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "jit/base/hash.h"
#include "jit/ir/graph.h"
#include "jit/runtime/memory/buffer_plan.h"
#include "jit/runtime/step_graph.h"

namespace tektite::compiler {

struct ProgramKernel {
  std::string name;
  Fingerprint key;
  absl::string_view image;  // as backend::Kernel::Image returns it
  std::string fusion;       // a graph of one fusion, for a kernel without an image; else empty
};

struct Program {
  Fingerprint key;                           // its own, where it comes from the disk cache
  std::shared_ptr<const std::string> bytes;  // what the images borrow from; null: the caller's
  std::string note;                          // the caller's, unread
  std::string refusal;  // why there is no program: then all that follows is empty
  runtime::OutputRoles roles;
  std::vector<ProgramKernel> kernels;
  static constexpr int kNoKernel = -1;  // of a loop, a choice, a copy
  std::vector<int> kernel_of_step;
  runtime::StepGraph steps;  // as ReadStepGraph leaves it
};

std::string WriteProgram(const Program& program, const runtime::StepGraph& steps);
// In a program's place: that there is none, and why, which is not empty.
std::string WriteRefusal(absl::string_view note, absl::string_view reason);
// Reads both.
bool ReadProgram(std::string bytes, Program* program);

// A graph of which `fusion` is all there is.
std::string FusionText(const ir::Node& fusion);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_PROGRAM_H_
