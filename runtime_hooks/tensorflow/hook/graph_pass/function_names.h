// What people call the functions that graphs are of.
//
//   FunctionName(options)   // "__inference_train_step_12", "serving_default"; "" where it is none
//
// A signature of a SavedModel is a function that TensorFlow calls signature_wrapper, whatever the
// signature's name; Python tells which is which when it loads one (python/tektite/_signatures.py).
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_FUNCTION_NAMES_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_FUNCTION_NAMES_H_

#include <string>

#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tektite::tf_hook {

std::string FunctionName(const tensorflow::GraphOptimizationPassOptions& options);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_FUNCTION_NAMES_H_
