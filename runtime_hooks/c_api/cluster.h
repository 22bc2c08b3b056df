// Behind tektite_cluster: a graph, and the code made for each set of argument shapes it met.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto cluster, Cluster::Create(state, "cluster_0", std::move(source)));
//   absl::Status status = cluster->Run(call);
//
// Code is found by the arguments' types and shapes, and by the values that it depends on (axes,
// shapes).  The last --max_executables are kept.  What cannot be compiled is remembered, so that it
// costs one attempt and not one a call.  With --compile=async a call that finds no code is answered
// with Unavailable while a background thread makes it.
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_CLUSTER_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_CLUSTER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "runtime_hooks/c_api/compiler_state.h"
#include "runtime_hooks/c_api/graph_source.h"
#include "runtime_hooks/c_api/tektite.h"

namespace tektite::c_api {

class Cluster : public std::enable_shared_from_this<Cluster> {
 public:
  static std::shared_ptr<Cluster> Create(std::shared_ptr<CompilerState> state,
                                         absl::string_view name,
                                         std::unique_ptr<GraphSource> source);

  const GraphSource& source() const { return *source_; }
  const std::string& name() const { return name_; }
  // Leaves what the cluster was made from in the dump directory, if there is one.
  void Dump(absl::string_view file, absl::string_view bytes) const;

  absl::Status Run(const tektite_call& call);

 private:
  using Key = std::vector<int64_t>;
  // The code for one key, or why there is none; Unavailable until it is settled.
  struct Variant {
    Key key;
    int number = 0;
    std::mutex mutex;  // guards the next three
    std::condition_variable changed;
    bool settled = false;
    absl::StatusOr<std::shared_ptr<runtime::Executable>> executable =
        absl::UnavailableError("not compiled yet");
    uint64_t last_use = 0;  // under the cluster's mutex
  };
  using VariantPtr = std::shared_ptr<Variant>;

  Cluster(std::shared_ptr<CompilerState> state, absl::string_view name,
          std::unique_ptr<GraphSource> source);
  absl::StatusOr<std::shared_ptr<runtime::Executable>> Find(const tektite_call& call);
  // Fills *key; an error for arguments that no code can be made for.
  absl::Status MakeKey(const tektite_call& call, Key* key) const;
  VariantPtr FindOrAdd(const Key& key, bool* added);
  void EvictLeastRecentlyUsed();  // mutex_ is held
  void Forget(const VariantPtr& variant);
  std::vector<ArgInfo> Describe(const tektite_call& call) const;
  void Compile(Variant& variant, const std::vector<ArgInfo>& args);
  absl::StatusOr<std::shared_ptr<runtime::Executable>> MakeExecutable(
      int number, const std::vector<ArgInfo>& args);

  const std::shared_ptr<CompilerState> state_;
  const std::string name_;
  const std::unique_ptr<const GraphSource> source_;
  const std::shared_ptr<runtime::WeightStore> weights_;

  std::mutex mutex_;  // guards what follows, and last_use
  absl::flat_hash_map<Key, VariantPtr> variants_;
  VariantPtr latest_;
  int variants_made_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace tektite::c_api

struct tektite_cluster {
  std::shared_ptr<tektite::c_api::Cluster> cluster;
};

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_CLUSTER_H_
