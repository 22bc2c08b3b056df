#include "runtime_hooks/tensorflow/hook/switches.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "absl/strings/match.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/public/session_options.h"

namespace tektite::tf_hook {
namespace {

enum class Switch { kOff, kUnset, kScoped, kOn };

Switch ReadSwitch() {
  const char* value = std::getenv("TEKTITE");
  const std::string_view text = value == nullptr ? "" : value;
  if (text == "0") return Switch::kOff;
  if (text == "1") return Switch::kOn;
  if (text == "scoped") return Switch::kScoped;
  return Switch::kUnset;  // the loader has said its line about any other value
}

bool SessionAsksForJit(const tensorflow::SessionOptions* options) {
  if (options == nullptr) return false;
  const auto level = options->config.graph_options().optimizer_options().global_jit_level();
  return level == tensorflow::OptimizerOptions::ON_1 || level == tensorflow::OptimizerOptions::ON_2;
}

bool IsTrue(const tensorflow::AttrValue* value) { return value != nullptr && value->b(); }

// Every eager op is a function of its own, named so by TensorFlow.  There is nothing to fuse in
// one, and a program has thousands of different ones.
bool IsEagerOp(const tensorflow::FunctionDef* function) {
  return function != nullptr && absl::StartsWith(function->signature().name(), "__wrapped__");
}

// The body of tf.function(jit_compile=True) belongs to XLA, by the user's word.
bool BelongsToXla(const tensorflow::FunctionDef* function) {
  if (function == nullptr) return false;
  const auto it = function->attr().find("_XlaMustCompile");
  return it != function->attr().end() && it->second.b();
}

bool HasAnnotatedNode(const tensorflow::Graph& graph) {
  for (const tensorflow::Node* node : graph.op_nodes()) {
    if (IsTrue(node->attrs().Find("_XlaCompile"))) return true;
  }
  return false;
}

// tektite.enable() was called.
std::atomic<bool> enabled{false};

}  // namespace

Extent ExtentFor(const tensorflow::GraphOptimizationPassOptions& options) {
  static const Switch environment = ReadSwitch();
  if (environment == Switch::kOff || IsEagerOp(options.function_def) ||
      BelongsToXla(options.function_def)) {
    return Extent::kNothing;
  }
  if (environment == Switch::kOn || enabled.load(std::memory_order_relaxed)) {
    return Extent::kEverything;
  }
  if (environment == Switch::kUnset && SessionAsksForJit(options.session_options)) {
    return Extent::kEverything;
  }
  return HasAnnotatedNode(**options.graph) ? Extent::kAnnotated : Extent::kNothing;
}

}  // namespace tektite::tf_hook

// Compiles every graph from now on, whatever TEKTITE was when the hook was loaded.
extern "C" __attribute__((visibility("default"))) void tektite_hook_enable() {
  tektite::tf_hook::enabled.store(true, std::memory_order_relaxed);
}
