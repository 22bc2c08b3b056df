// A compiled graph as the plan of a library: what its calling program does, and the data that it
// reads.
//
//   TEKTITE_ASSIGN_OR_RETURN(Library library, MakeLibrary(steps, roles, names));
//   library.arguments[0].name                 // "x", an identifier of C
//   library.data.bytes                        // of packed weights and constants
//
// A back end's code writer (code_writer.h) makes machine code of it, WriteHeader what a C compiler
// reads.  Work on constants alone is done here, once, as the runtime does it in its first call:
// the library holds the results.
//
// Limits: Unimplemented, with the step's name, for a step whose kernel is no object (sort, top-k,
// Fourier transforms, solvers), and for sizes that are elements of an argument.
#ifndef TEKTITE_JIT_AOT_LIBRARY_H_
#define TEKTITE_JIT_AOT_LIBRARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/aot/data_image.h"
#include "jit/aot/object_kernel.h"
#include "jit/runtime/memory/buffer_assignment.h"
#include "jit/runtime/step_graph.h"

namespace tektite::aot {

// The names of the graph's tensors, for people, in order; missing ones are made up.
struct Names {
  std::string library;  // an identifier of C, the prefix of all names
  std::string variant;  // behind it in names that are not the caller's: ".v3"
  std::vector<std::string> arguments, results;
};

struct Tensor {
  std::string name;      // an identifier of C
  std::string original;  // as the graph calls it
  ir::Shape shape;
  int bytes_place = 0;    // in the size program's table
  bool is_state = false;  // an argument that the call changes
};

// The first byte of a code that a library's functions return; the rest is the number of a sentence.
enum ErrorKind : int {
  kBadArgument = 1,
  kBadSizes = 2,
  kBadArena = 3,
  kCheckFailed = 4,
  kWrongCpu = 5,
  kBadWeights = 6,
};

// Where the data of a library lie.
enum class WeightsPlace { kInside, kFile, kCaller };
// "inside" (or nothing), "file", "caller".
absl::StatusOr<WeightsPlace> PlaceOf(absl::string_view word);

struct Library {
  std::string name;
  std::string prefix;              // of names that are not the caller's
  std::vector<std::string> sizes;  // identifiers of the graph's symbols
  std::vector<Tensor> arguments, results;
  runtime::StepGraph graph;
  runtime::BufferAssignment plan;
  std::vector<bool> runs;  // by step: in calls
  DataImage data;
  WeightsPlace weights = WeightsPlace::kInside;
  int64_t weights_bytes = 0;    // of all variants; the code writer says
  uint64_t weights_digest = 0;  // in their seal, where they lie outside; the code writer says
  bool needs_kernels = false;   // of libtektite_kernels.a; the code writer says

  // Sentences by number; 0 is that there is no error.
  std::vector<std::string> sentences = {"no error"};
  // A code of this kind that has the sentence.
  int Error(ErrorKind kind, std::string sentence);

  // Of a step that runs a kernel.
  const ObjectKernel& KernelOf(int step) const {
    return static_cast<const ObjectKernel&>(*graph.steps[step].kernel);
  }
  // Calls of the kernel of `step` need no operand `o`: its panels are there.
  bool IsReplaced(int step, size_t o) const;
};

// `before`: another variant of the same library, whose data and sentences this one adds to; null:
// none.
absl::StatusOr<Library> MakeLibrary(const runtime::StepGraph& graph,
                                    const runtime::OutputRoles& roles, const Names& names,
                                    Library* before = nullptr);

// `text` as an identifier: other characters become underscores.
std::string Identifier(const std::string& text);
bool IsIdentifier(const std::string& text);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_LIBRARY_H_
