// A kernel as relocatable code: what a library made ahead of time is put together from.
//
//   const auto* kernel = dynamic_cast<const aot::ObjectKernel*>(step.kernel.get());
//   if (kernel == nullptr) ...                       // compiled with Tektite: not in a library
//   kernel->symbol(), kernel->object(), kernel->facts().sizes
//
// The function has the signature
//   void symbol(void* const* buffers, const int64_t* table, void* scratch, int64_t begin,
//               int64_t end)
// and runs chunks [begin, end); `table` is what facts().sizes leaves for the values of the kernel's
// symbols.  It calls nothing but memcpy, memmove and memset.
#ifndef TEKTITE_JIT_AOT_OBJECT_KERNEL_H_
#define TEKTITE_JIT_AOT_OBJECT_KERNEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/backend/kernel.h"
#include "jit/backend/launch_facts.h"

namespace tektite::aot {

class ObjectKernel : public backend::Kernel {
 public:
  virtual const std::string& symbol() const = 0;
  // An ELF object in which `symbol` is the function.
  virtual absl::string_view object() const = 0;
  virtual const backend::LaunchFacts& facts() const = 0;
  // An operand that the kernel does not read where its last operand, panels of the same weights,
  // has another address; -1: none.
  virtual int operand_replaced_by_panels() const { return -1; }
  // It reads some rows of the operand, which other operands choose, and not all of it.
  virtual bool IsLookedUp(int operand) const { return false; }
  // Its code calls the archive of kernels that are compiled with Tektite.
  virtual bool needs_kernels() const { return false; }
  // Its code uses the CPU's matrix tiles, which the process must ask the system for.
  virtual bool uses_tiles() const { return false; }
  // The same kernel in this process; Unimplemented where this machine lacks what it needs.
  virtual absl::StatusOr<std::shared_ptr<const backend::HostKernel>> Link() const = 0;
};

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_OBJECT_KERNEL_H_
