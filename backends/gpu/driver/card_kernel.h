// A kernel that a card's streams launch, and its image for the disk cache.
//
//   KernelImage image = ...;                                  // facts, cubin, PTX
//   TEKTITE_ASSIGN_OR_RETURN(auto kernel, CardKernel::Create(card, std::move(image)));
//   stream.Launch(*kernel, kernel->Configure(sizes), buffers, sizes);
//
// An image holds all that a launch needs beside the code, what the assembler says of registers and
// spills, and how many blocks a multiprocessor holds; DescribeImage shows it to people.
//
// A kernel of several launches (emit/phases.h) is a chain: the first launch's kernel owns those
// that follow, and a stream launches all of them.
//
// The image of what a library computes (library_call.h) holds its description instead of code.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_CARD_KERNEL_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_CARD_KERNEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/driver/card.h"
#include "backends/gpu/driver/library_call.h"
#include "backends/gpu/driver/loaded_code.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/libraries.h"
#include "jit/backend/kernel.h"
#include "jit/ir/dim_program.h"

namespace tektite::gpu {

// A tensor map of a launch (jit/llvm/loop_ir.h): sizes and strides, in elements, are places in the
// table of what a launch needs.
struct TensorImage {
  int buffer = 0;
  ir::DType dtype = ir::DType::kF16;
  std::array<int, 3> sizes = {};
  std::array<int, 2> strides = {};
  std::array<int, 3> box = {};
};

struct KernelImage {
  std::string name;       // of the function in the code
  ir::DimProgram sizes;   // the table that the code reads
  ir::DimProgram launch;  // what a launch needs, at these places of its table:
  int blocks = 0, scratch_bytes = 0;
  int moved_bytes = 0;  // of the whole chain; of those that follow 0 is there
  int num_buffers = 0;
  int threads = 0;               // of a block
  int dynamic_shared_bytes = 0;  // that a launch asks for (jit/llvm/lower.h)
  std::vector<TensorImage> tensors;
  std::vector<std::pair<int, int>> in_place;
  int resident_blocks = 0;  // of a multiprocessor; 0: not asked yet
  DeviceCode code;
  std::string library, call;      // LibraryCall's; then there is no code
  std::vector<KernelImage> then;  // launched after it, on the same buffers and scratch

  // `codes`: of each launch.
  static KernelImage Of(const ir::Graph& region, const EmittedKernel& emitted,
                        absl::Span<const DeviceCode> codes);
  static KernelImage Of(const std::string& name, const LibraryCall& call);
  std::string Write() const;
  // InvalidArgument for bytes that are no image.
  static absl::StatusOr<KernelImage> Read(absl::string_view bytes);

 private:
  // `may_have_more`: it is the first of its chain.
  static absl::StatusOr<KernelImage> ReadLaunch(absl::string_view bytes, bool may_have_more);
};

// "40 registers, 0 bytes spilled, ..." of an image; empty for bytes that are none.
std::string DescribeImage(absl::string_view bytes);

class CardKernel final : public backend::Kernel {
 public:
  static absl::StatusOr<std::shared_ptr<const CardKernel>> Create(std::shared_ptr<Card> card,
                                                                  KernelImage image,
                                                                  const Libraries& libraries = {});
  static std::shared_ptr<const CardKernel> Of(std::shared_ptr<Card> card, const std::string& name,
                                              std::shared_ptr<const LibraryCall> call);
  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override;
  bool CanRunInPlace(int operand, int result) const override;
  std::string Image() const override;

  const std::string& name() const { return image_.name; }
  // Null for a library's.
  const std::shared_ptr<const LoadedCode>& code() const { return code_; }
  // Null for a kernel of ours.
  const std::shared_ptr<const LibraryCall>& call() const { return call_; }
  const Card& card() const { return *card_; }
  int threads() const { return image_.threads; }
  int dynamic_shared_bytes() const { return image_.dynamic_shared_bytes; }
  // Tells kernels of a process apart, also those that are gone.
  uint64_t number() const { return number_; }
  int num_buffers() const { return image_.num_buffers; }
  const std::vector<std::shared_ptr<const CardKernel>>& then() const { return then_; }
  // What a launch passes (docs/design/gpu.md).
  int frame_words() const;
  // Fills a frame, and says how many blocks read it.  The driver encodes tensor maps anew in each
  // call: that takes it some hundred nanoseconds, without a word to the card.
  absl::StatusOr<int64_t> FillFrame(absl::Span<void* const> buffers, const void* scratch,
                                    absl::Span<const int64_t> sizes, uint64_t* words) const;

 private:
  CardKernel(std::shared_ptr<Card> card, KernelImage image);
  // Where in a frame tensor maps begin.
  int tensors_at() const;
  absl::Status EncodeTensor(const TensorImage& tensor, void* buffer,
                            absl::Span<const int64_t> table, CuTensorMap* map) const;

  const std::shared_ptr<Card> card_;
  const uint64_t number_;
  KernelImage image_;  // without those that follow
  std::shared_ptr<const LoadedCode> code_;
  std::shared_ptr<const LibraryCall> call_;
  std::vector<std::shared_ptr<const CardKernel>> then_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_CARD_KERNEL_H_
