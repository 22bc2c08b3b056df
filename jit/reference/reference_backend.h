// The smallest back end: a kernel that interprets its fusion's region, whatever its kind.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<backend::Backend> b, ReferenceBackend::Create(flags));
//   TEKTITE_ASSIGN_OR_RETURN(std::shared_ptr<const backend::Kernel> k, b->Compile(*fusion, {}));
//   k->Run(frame, 0, k->Configure(sizes).num_chunks);
//
// Copy this folder to begin a new back end: keep Compile's refusals, replace Run.  It is slow (one
// chunk, every element through a switch) and right by definition.
#ifndef TEKTITE_JIT_REFERENCE_REFERENCE_BACKEND_H_
#define TEKTITE_JIT_REFERENCE_REFERENCE_BACKEND_H_

#include <memory>

#include "jit/backend/backend.h"
#include "jit/base/flags.h"

namespace tektite::reference {

class ReferenceBackend : public backend::Backend {
 public:
  static absl::StatusOr<std::unique_ptr<backend::Backend>> Create(const Flags& flags);

  absl::string_view name() const override { return "reference"; }
  const target::TargetInfo& target() const override { return target_; }
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override;

 private:
  target::TargetInfo target_;
};

}  // namespace tektite::reference

#endif  // TEKTITE_JIT_REFERENCE_REFERENCE_BACKEND_H_
