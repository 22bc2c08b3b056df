#include "runtime_hooks/tensorflow/hook/graph_pass/function_names.h"

#include "absl/container/flat_hash_map.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {
namespace {

// A process that loads models without end needs no more names.
constexpr size_t kMostNamedFunctions = 4096;

struct NamedFunctions {
  tensorflow::mutex mu;
  absl::flat_hash_map<std::string, std::string> by_function TF_GUARDED_BY(mu);
};

NamedFunctions& AllNamedFunctions() {
  static auto* const names = new NamedFunctions;  // outlives every thread that compiles
  return *names;
}

}  // namespace

std::string FunctionName(const tensorflow::GraphOptimizationPassOptions& options) {
  if (options.function_def == nullptr) return "";
  const std::string& function = options.function_def->signature().name();
  NamedFunctions& names = AllNamedFunctions();
  const tensorflow::mutex_lock lock(names.mu);
  const auto it = names.by_function.find(function);
  return it == names.by_function.end() ? function : it->second;
}

}  // namespace tektite::tf_hook

// People call `function`, TensorFlow's name of one, `name`.
extern "C" __attribute__((visibility("default"))) void tektite_hook_name_function(
    const char* function, const char* name) {
  tektite::tf_hook::NamedFunctions& names = tektite::tf_hook::AllNamedFunctions();
  const tensorflow::mutex_lock lock(names.mu);
  if (names.by_function.size() < tektite::tf_hook::kMostNamedFunctions) {
    names.by_function[function] = name;
  }
}
