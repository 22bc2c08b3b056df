// A compiler for each card on which TensorFlow has placed something.
//
//   tektite_compiler* compiler = CompilerForCard(library, *device);
//   if (compiler == nullptr) ...   // no card, or no code for it: that has been said, once
//
// It has the flags of TEKTITE_FLAGS but for --device.  Compilers are made at the first need and
// never destroyed: kernels may run clusters until the process ends.  Thread-safe.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_CARD_COMPILERS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_CARD_COMPILERS_H_

#include <string>
#include <utility>
#include <vector>

#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "tensorflow/core/framework/device_base.h"

namespace tektite::tf_hook {

// Null where the device is no card, or there is no code for it.
tektite_compiler* CompilerForCard(const CompilerLibrary& library, tensorflow::DeviceBase& device);

// Those that were made: with the cards' names, such as "gpu:0".
std::vector<std::pair<std::string, tektite_compiler*>> CardCompilers();

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_CARD_COMPILERS_H_
