// Watches JITLink's work on one kernel, whose layout becomes an image for the disk.
//
//   ImageCapture capture("k3_softmax", "k3_softmax.17");
//   capture.AddPasses(config);          // from a plugin of the ObjectLinkingLayer
//   ... JITLink links ...
//   capture.entry(), capture.bytes(), capture.TakeFixups()
//
// Why it can be an image: references between a kernel's code, constants and tables are distances,
// and CodeMemory keeps them side by side, so they hold wherever the block stands.  The only
// absolute addresses are in tables: of the kernel's own constants, and of the functions it may
// call, which JITLink lists in a table of its own (GOT) and calls by way of stubs.  These are the
// fixups.
//
// Limits: x86-64.  Code that has variables, or calls anything but CalledFunctions(), is refused.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_IMAGE_CAPTURE_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_IMAGE_CAPTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/codegen/code_image.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"

namespace tektite::cpu {

class ImageCapture {
 public:
  // `function` is the kernel's in its object file, `symbol` its name in the session.
  ImageCapture(absl::string_view function, absl::string_view symbol)
      : function_(function), symbol_(symbol) {}

  // Outlives the link.
  void AddPasses(llvm::orc::SymbolStringPool& names, llvm::jitlink::PassConfiguration& config);

  // Once the link has succeeded: where it put the kernel.
  absl::string_view bytes() const { return {begin_.toPtr<const char*>(), size_}; }
  uint64_t entry() const { return entry_; }
  std::vector<CodeImage::Fixup> TakeFixups() { return std::move(fixups_); }

 private:
  absl::Status Prepare(llvm::orc::SymbolStringPool& names, llvm::jitlink::LinkGraph& graph);
  absl::Status FindFixups(llvm::jitlink::LinkGraph& graph);
  absl::Status AddFixup(const llvm::jitlink::Block& block, const llvm::jitlink::Edge& edge);

  const std::string function_, symbol_;
  llvm::orc::ExecutorAddr begin_;
  size_t size_ = 0;
  uint64_t entry_ = 0;
  std::vector<CodeImage::Fixup> fixups_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_IMAGE_CAPTURE_H_
