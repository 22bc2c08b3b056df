// From a graph to a module: the passes, a kernel for each fusion, the step graph.
//
//   ModuleOptions options;
//   options.passes = &context;                       // flags, target, what it offers for a fusion
//   options.make_kernel = make;                      // a kernel of a fusion, and its key
//   TEKTITE_ASSIGN_OR_RETURN(Module module, MakeModule(*graph, options));
//
// The module follows from the graph and the options alone: there is no cache, clock, device or
// process in it, but for a checkpoint that may end the work early.  So equal arguments give equal
// bytes, whatever else a process has compiled (tests/compiler/module_test.cc).
//
// A fusion that the first back end has no kernel for is taken apart and made op by op.
#ifndef TEKTITE_JIT_COMPILER_MAKE_MODULE_H_
#define TEKTITE_JIT_COMPILER_MAKE_MODULE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/compiler/module.h"
#include "jit/ir/graph.h"
#include "jit/passes/pass.h"
#include "jit/runtime/memory/buffer_assignment.h"

namespace tektite::compiler {

struct ModuleOptions {
  passes::PassContext* passes = nullptr;
  // The kernel of a fusion, and its key in caches.  `primary_only`: by the first back end, or
  // Unimplemented; else by the first that has one.
  std::function<absl::StatusOr<std::shared_ptr<const backend::Kernel>>(
      const ir::Node& fusion, const backend::CompileOptions& options, bool primary_only,
      Fingerprint* key)>
      make_kernel;
  // Of symbols, to lay out memory for.
  std::map<std::string, int64_t> typical_sizes;
  runtime::OutputRoles roles;  // before the passes, which may add checks
  std::string dump_dir;        // kernels' files; empty: none
  bool is_written = false;     // kernels without images are described, too
  std::string* schedules =
      nullptr;  // filled, if not null: what the target answered for each fusion
  int64_t* split_fusions = nullptr;  // counted, if not null
};

// Rewrites `graph`: its fusions are named after their kernels.
absl::StatusOr<Module> MakeModule(ir::Graph& graph, const ModuleOptions& options);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_MAKE_MODULE_H_
