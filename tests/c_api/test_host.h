// A host for tests of the C interface: results in vectors, and a pool of plain threads.
#ifndef TEKTITE_TESTS_C_API_TEST_HOST_H_
#define TEKTITE_TESTS_C_API_TEST_HOST_H_

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime_hooks/c_api/tektite.h"

namespace tektite {

struct Free {
  void operator()(tektite_compiler* c) const { tektite_compiler_destroy(c); }
  void operator()(tektite_cluster* c) const { tektite_cluster_destroy(c); }
  void operator()(tektite_marking* m) const { tektite_marking_destroy(m); }
  void operator()(char* text) const { tektite_string_free(text); }
};
using CompilerPtr = std::unique_ptr<tektite_compiler, Free>;
using ClusterPtr = std::unique_ptr<tektite_cluster, Free>;
using MarkingPtr = std::unique_ptr<tektite_marking, Free>;
using TextPtr = std::unique_ptr<char, Free>;

inline CompilerPtr MakeCompiler(const char* flags = "", const char* backend = "reference",
                                tektite_status* status = nullptr) {
  tektite_options options = {};
  options.struct_size = sizeof(options);
  // Code of earlier tests would change the counts.
  const std::string all_flags = std::string("--compile=sync --cache_dir=off ") + flags;
  options.flags = all_flags.c_str();
  options.backend = backend;
  return CompilerPtr(tektite_compiler_create(&options, status));
}

inline ClusterPtr MakeCluster(tektite_compiler* compiler, const std::string& ir,
                              tektite_status* status = nullptr) {
  return ClusterPtr(
      tektite_cluster_create_from_ir(compiler, "cluster", ir.data(), ir.size(), status));
}

// A float argument.
struct Arg {
  std::vector<int64_t> dims;
  std::vector<float> values;
  uint64_t version = 0;
  int32_t dtype = 1;
};

struct Call {
  std::vector<std::vector<float>> results;
  std::vector<std::vector<int64_t>> dims;
  std::vector<int> forwarded;
  std::string message;
  bool refuse_memory = false;
  int threads = 0;
  std::function<int32_t(const tektite_status&)> run_host;  // none: the host has no kernels
  bool if_won = false;
  int32_t fallback = TEKTITE_FALLBACK_NONE;
  int32_t space = TEKTITE_HOST, result_space = TEKTITE_HOST;
  const int32_t* result_spaces = nullptr;
  void* stream = nullptr;

  // Returns the code.
  int Run(tektite_cluster* cluster, const std::vector<Arg>& args) {
    if (cluster == nullptr) {
      message = "no cluster: its text was refused";
      return TEKTITE_INVALID_ARGUMENT;
    }
    const int count = tektite_cluster_num_results(cluster);
    results.assign(count, {});
    dims.assign(count, {});
    forwarded.assign(count, -1);
    std::vector<tektite_tensor> tensors;
    for (const Arg& arg : args) {
      tektite_tensor t = {};
      t.data = arg.values.data();
      t.dims = arg.dims.data();
      t.rank = static_cast<int32_t>(arg.dims.size());
      t.dtype = arg.dtype;
      t.version = arg.version;
      t.space = space;
      tensors.push_back(t);
    }
    tektite_call call = {};
    call.struct_size = sizeof(call);
    call.args = tensors.data();
    call.num_args = static_cast<int32_t>(tensors.size());
    call.num_threads = threads;
    call.context = this;
    call.schedule = [](void*, void (*fn)(void*), void* arg) { std::thread(fn, arg).detach(); };
    call.allocate = &Call::Allocate;
    if (run_host) {
      call.run_host = [](void* self, const tektite_status* why) {
        return static_cast<Call*>(self)->run_host(*why);
      };
    }
    call.if_won = if_won ? 1 : 0;
    call.result_space = result_space;
    call.result_spaces = result_spaces;
    call.stream = stream;
    call.forward = [](void* self, int32_t index, int32_t arg) {
      static_cast<Call*>(self)->forwarded[index] = arg;
      return 0;
    };
    tektite_status status = {};
    const int code = tektite_cluster_run(cluster, &call, &status);
    message = status.message;
    fallback = status.fallback;
    return code;
  }

 private:
  static void* Allocate(void* self, int32_t index, int32_t, int32_t rank, const int64_t* dims) {
    auto* call = static_cast<Call*>(self);
    if (call->refuse_memory) return nullptr;
    int64_t elements = 1;
    for (int i = 0; i < rank; ++i) elements *= dims[i];
    call->dims[index].assign(dims, dims + rank);
    call->results[index].resize(elements);
    return call->results[index].data();
  }
};

// Keeps the only thread that compiles in the background from anything else until End, so that what
// a call submits is not there for the next one, however late that comes.
class BusyBackground {
 public:
  BusyBackground() {
    tektite_run_in_background(
        [](void* self) { static_cast<BusyBackground*>(self)->end_.get_future().wait(); }, this);
  }
  ~BusyBackground() {
    if (!ended_) End();
    tektite_wait_until_compiled();
  }
  void End() {
    ended_ = true;
    end_.set_value();
  }

 private:
  bool ended_ = false;
  std::promise<void> end_;
};

}  // namespace tektite

#endif  // TEKTITE_TESTS_C_API_TEST_HOST_H_
