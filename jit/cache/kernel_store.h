// Kernels in memory, by key: identical kernels are compiled once per process.
//
//   TEKTITE_ASSIGN_OR_RETURN(
//       auto kernel, store.GetOrCompile(key, [&] { return backend.Compile(...); }));
//
// Why: a model of twelve equal layers has the kernels of one, and each costs milliseconds.  A
// thread that asks for a kernel another one is compiling waits for it.  A refusal (Unimplemented)
// is kept like a kernel; other errors are not. Limits: at most kMostKernels; beyond that, those
// that no executable uses are dropped.
#ifndef TEKTITE_JIT_CACHE_KERNEL_STORE_H_
#define TEKTITE_JIT_CACHE_KERNEL_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/base/hash.h"

namespace tektite::cache {

using KernelPtr = std::shared_ptr<const backend::Kernel>;

class KernelStore {
 public:
  absl::StatusOr<KernelPtr> GetOrCompile(const Fingerprint& key,
                                         const std::function<absl::StatusOr<KernelPtr>()>& compile);

  // Whether GetOrCompile would find it.
  bool Has(const Fingerprint& key);

  int64_t hits() const { return hits_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMostKernels = 8192;
  struct Entry {
    std::mutex mutex;  // held while compiling
    absl::StatusOr<KernelPtr> kernel = absl::UnknownError("not compiled");
  };
  void DropUnused();  // mutex_ is held

  std::mutex mutex_;  // guards entries_
  absl::flat_hash_map<Fingerprint, std::shared_ptr<Entry>> entries_;
  std::atomic<int64_t> hits_{0};
};

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_KERNEL_STORE_H_
