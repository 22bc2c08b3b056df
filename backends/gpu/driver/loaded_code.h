// A kernel's machine code on a card.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto code, LoadedCode::Load(&card, "k0_loop_add", cubin, ptx, block));
//   driver.LaunchKernel(code->function(), ...);
//
// Where the driver does not take a cubin, since it is older than what assembled it, it assembles
// the PTX instead.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_LOADED_CODE_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_LOADED_CODE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backends/gpu/driver/driver_types.h"

namespace tektite::gpu {

class Card;

class LoadedCode {
 public:
  // What a launch asks for.
  struct Block {
    int threads;
    int dynamic_shared_bytes;  // beside what the code declares
  };
  // `cubin` may be empty.  The card must outlive the code.
  static absl::StatusOr<std::shared_ptr<const LoadedCode>> Load(Card* card, const std::string& name,
                                                                const std::string& cubin,
                                                                const std::string& ptx,
                                                                const Block& block);
  ~LoadedCode();

  CuFunction function() const { return function_; }
  // By the driver's account.
  int registers() const { return registers_; }
  // Blocks that a multiprocessor holds at once.
  int resident_blocks() const { return resident_blocks_; }

 private:
  explicit LoadedCode(Card* card) : card_(*card) {}
  absl::Status LoadModule(const std::string& name, const std::string& cubin,
                          const std::string& ptx);

  Card& card_;
  CuModule module_ = nullptr;
  CuFunction function_ = nullptr;
  int registers_ = 0, resident_blocks_ = 0;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_LOADED_CODE_H_
