// A cluster as the compiler has it, with what it found out about it, and TensorFlow's kernels for
// it; kept when its op goes.
//
// Why: tf.data instantiates its functions anew with each iterator, so with each epoch.  An op that
// began from nothing would look all its code up again and try it against TensorFlow's kernels
// again, for which the fallback function has to be instantiated: that alone made a pipeline of 32
// small elements take 1.15 times as long.
//
//   std::unique_ptr<PreparedCluster> cluster = PreparedCluster::Obtain(name, body, card);
//   if (cluster == nullptr) { ... there is no compiler, or it cannot read the body ... }
//   PreparedCluster::Leave(body, std::move(cluster));   // to the next that obtains this body
//
// A cluster that is left has no owner until it is obtained.  Leave only one that keeps nothing of
// its callers: versions of variables and constants mean something to one InputReader alone.
// Thread-safe.  Limits: the last 32 that were left are kept, with bodies of up to 64 KB.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_PREPARED_CLUSTER_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_PREPARED_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/fallback/fallback_preparation.h"
#include "tensorflow/core/framework/device_base.h"

namespace tektite::tf_hook {

int64_t Nanoseconds();  // of a clock that only goes forward

class PreparedCluster {
 public:
  // `card`: the device on whose card it runs; null: on the host.
  static std::unique_ptr<PreparedCluster> Obtain(const std::string& name, const std::string& body,
                                                 tensorflow::DeviceBase* card);
  static bool CanLeave(const std::string& body) { return body.size() <= kMostBodyBytes; }
  // If CanLeave(body).
  static void Leave(const std::string& body, std::unique_ptr<PreparedCluster> cluster);

  ~PreparedCluster();
  PreparedCluster(const PreparedCluster&) = delete;
  PreparedCluster& operator=(const PreparedCluster&) = delete;

  const CompilerLibrary& library() const { return library_; }
  tektite_cluster* cluster() const { return cluster_; }
  // Whether compiled code runs from the first call to the last, waiting for missing code: by the
  // flag, or since TensorFlow has been asked for deterministic ops, which may happen at any time.
  // TensorFlow's answer takes 70 ns, 2 % of the smallest direct call; these go by what it was when
  // it was asked last, and python/tektite/_direct.py has it asked when the switch is turned.
  bool IsReproducible(bool is_direct) const;
  // Whether calls of functions with jit_compile=True are watched (xla_guard.h).
  bool guards_xla() const { return guards_xla_; }
  KeptFallback* kept_fallback() { return &kept_fallback_; }
  // As tektite_cluster_has_won.
  int Standing() const { return library_.cluster_has_won(cluster_); }

 private:
  static constexpr size_t kMostBodyBytes = 64 << 10;

  PreparedCluster(const CompilerLibrary& library, tektite_compiler* compiler,
                  tektite_cluster* cluster);

  const CompilerLibrary& library_;
  tektite_compiler* const compiler_;
  tektite_cluster* const cluster_;
  const bool guards_xla_;
  const bool has_reproducible_flag_;
  KeptFallback kept_fallback_;
};

// Asks TensorFlow whether it has been told to be deterministic, for the direct calls to come.
void NoteDeterminism();

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_PREPARED_CLUSTER_H_
