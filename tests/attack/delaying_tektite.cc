// Stands in for libtektite.so and waits before and after each call of the C interface.
//
// Why: what goes wrong between two calls of the interface takes a thread that is stopped just
// there.  With hundreds of threads and a wait of up to a millisecond on either side of every call,
// each such gap is met in seconds.
//
//   TEKTITE_LIBRARY=libdelaying_tektite.so DELAYING_TEKTITE_LIBRARY=.../libtektite.so python ...
//
// DELAYING_TEKTITE_US is the longest wait, 1000 by default.  One call in four only yields, one in
// four does not wait at all.
// Limits: what the hook looks up (compiler_library.cc) and no more; never installed.
#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "runtime_hooks/c_api/tektite.h"

namespace {

void* Real(const char* name) {
  static void* const library = [] {
    const char* const path = std::getenv("DELAYING_TEKTITE_LIBRARY");
    void* const opened = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      std::fprintf(stderr, "delaying_tektite: DELAYING_TEKTITE_LIBRARY: %s\n", dlerror());
      std::_Exit(1);
    }
    return opened;
  }();
  return dlsym(library, name);
}

// A thread's own sequence, different for each.
uint32_t Random() {
  static std::atomic<uint32_t> threads{0};
  thread_local uint64_t state = 0x9E3779B97F4A7C15ull * (threads.fetch_add(1) + 1);
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<uint32_t>(state >> 33);
}

void Wait() {
  static const uint32_t longest = [] {
    const char* const text = std::getenv("DELAYING_TEKTITE_US");
    return static_cast<uint32_t>(text == nullptr ? 1000 : std::atoi(text));
  }();
  const uint32_t kind = Random() % 4;
  if (kind == 0) sched_yield();
  if (kind >= 2) std::this_thread::sleep_for(std::chrono::microseconds(Random() % (longest + 1)));
}

struct WaitOnBothSides {
  WaitOnBothSides() { Wait(); }
  ~WaitOnBothSides() { Wait(); }
};

}  // namespace

// FORWARD(result type, name, (parameters), (arguments))
#define FORWARD(type, name, parameters, arguments)                           \
  extern "C" __attribute__((visibility("default"))) type name parameters {   \
    static const auto real = reinterpret_cast<decltype(&name)>(Real(#name)); \
    const WaitOnBothSides wait;                                              \
    return real arguments;                                                   \
  }

FORWARD(int32_t, tektite_abi_version, (void), ())
FORWARD(void, tektite_string_free, (char* text), (text))
FORWARD(tektite_compiler*, tektite_compiler_create,
        (const tektite_options* options, tektite_status* status), (options, status))
FORWARD(int64_t, tektite_flag,
        (const tektite_compiler* compiler, const char* name, int64_t otherwise),
        (compiler, name, otherwise))
FORWARD(char*, tektite_stats_json, (tektite_compiler * compiler), (compiler))
FORWARD(tektite_marking*, tektite_mark,
        (tektite_compiler * compiler, const void* graph_def, size_t size,
         const tektite_mark_options* options, tektite_status* status),
        (compiler, graph_def, size, options, status))
FORWARD(void, tektite_marking_destroy, (tektite_marking * marking), (marking))
FORWARD(int32_t, tektite_op_assigns, (const char* op), (op))
FORWARD(tektite_cluster*, tektite_cluster_create,
        (tektite_compiler * compiler, const char* name, const void* graph_def, size_t size,
         tektite_status* status),
        (compiler, name, graph_def, size, status))
FORWARD(void, tektite_cluster_destroy, (tektite_cluster * cluster), (cluster))
FORWARD(int32_t, tektite_cluster_run,
        (tektite_cluster * cluster, const tektite_call* call, tektite_status* status),
        (cluster, call, status))
FORWARD(int32_t, tektite_cluster_has_won, (tektite_cluster * cluster), (cluster))
FORWARD(const char*, tektite_fallback_code, (int32_t fallback), (fallback))
FORWARD(int32_t, tektite_run_in_background, (void (*fn)(void*), void* arg), (fn, arg))
FORWARD(void, tektite_wait_until_compiled, (void), ())
FORWARD(void, tektite_stop_background, (void), ())
