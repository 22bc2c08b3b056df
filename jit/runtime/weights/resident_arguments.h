// Arguments that keep their content from call to call, kept in a device's memory: weights that
// kernels read as they are.
//
//   ResidentArguments resident(budget);
//   const auto use = resident.For(/*parameter=*/2, /*version=*/7, /*bytes=*/4096);
//   if (use.block == nullptr) ...                 // stage it (staged_arguments.h)
//   if (use.must_copy) ...                        // to use.block, on this call's stream; then:
//   resident.Publish(2, 7, use.block);            // later calls find it
//
// An argument is kept from the second call on that passes the same version: what changes with every
// call costs nothing.  A new version frees the old one's memory.  All is counted against the
// budget of weights (weights.h), and what does not fit is staged in every call.  Thread-safe.
#ifndef TEKTITE_JIT_RUNTIME_WEIGHTS_RESIDENT_ARGUMENTS_H_
#define TEKTITE_JIT_RUNTIME_WEIGHTS_RESIDENT_ARGUMENTS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace tektite::runtime {

class MemoryBudget;
class WeightBlock;

class ResidentArguments {
 public:
  explicit ResidentArguments(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}

  struct Use {
    std::shared_ptr<const WeightBlock> block;  // null: it is not kept
    bool must_copy = false;
  };
  // `version` is not 0.
  Use For(int parameter, uint64_t version, int64_t bytes);
  // The block holds the version's content.
  void Publish(int parameter, uint64_t version, std::shared_ptr<const WeightBlock> block);

 private:
  struct Known {
    uint64_t version = 0;  // of the last call
    std::shared_ptr<const WeightBlock> block;
  };
  const std::shared_ptr<MemoryBudget> budget_;
  std::mutex mutex_;
  absl::flat_hash_map<int, Known> known_;  // by parameter
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_WEIGHTS_RESIDENT_ARGUMENTS_H_
