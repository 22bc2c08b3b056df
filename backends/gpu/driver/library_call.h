// A kernel that a vendor's library launches on a card: a product of cuBLASLt, a convolution of
// cuDNN.
//
//   std::shared_ptr<const LibraryCall> call = ...;             // prepared once
//   call->Tell(buffers, workspace, stream);                    // also while the stream is recorded
//   TEKTITE_ASSIGN_OR_RETURN(call, libraries.Make("cudnn", call->description()));    // of an image
//
// What a library launches reads no frame: it is told its addresses.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_CALL_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_CALL_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/gpu/driver/driver_types.h"
#include "jit/base/rounding.h"

namespace tektite::gpu {

class LibraryCall {
 public:
  // Operands and workspaces begin at such addresses; results at multiples of backend::kAlignment.
  static constexpr int64_t kOperandAlignment = 16;  // TargetInfo::operand_alignment
  static constexpr int64_t kWorkspaceAlignment = 256;

  virtual ~LibraryCall() = default;
  // Of the list in libraries.h.
  virtual absl::string_view library() const = 0;
  // What it computes, in bytes, from which Libraries::Make makes it again.
  virtual std::string description() const = 0;
  // The fusion's operands, and its result.
  virtual int num_buffers() const = 0;
  // Of a launch's scratch; 0: none.
  virtual int64_t workspace_bytes() const = 0;
  // Of all that it reads and writes.
  virtual int64_t moved_bytes() const = 0;
  // `addresses`: of the buffers, in the card's memory.  The card's context is current.
  virtual absl::Status Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                            CuStream stream) const = 0;

  // Whether a stream that is being recorded may be told it: true until that has failed.
  bool is_recordable() const { return is_recordable_.load(std::memory_order_relaxed); }
  void DoNotRecord() const { is_recordable_.store(false, std::memory_order_relaxed); }

 protected:
  // Of the launch's scratch, with room to begin at such an address.
  static int64_t WithRoomToAlign(int64_t bytes) {
    return bytes == 0 ? 0 : bytes + kWorkspaceAlignment;
  }
  static void* Aligned(CuAddress workspace) {
    return reinterpret_cast<void*>(RoundUp(static_cast<int64_t>(workspace), kWorkspaceAlignment));
  }

 private:
  mutable std::atomic<bool> is_recordable_{true};
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_CALL_H_
