// What kernels are called, in lists, profiles, traces and debuggers.
//
//   const KernelName name = NameOfKernel(fusion, /*number=*/3);
//   name.what     // "conv 1x1 + bias + relu6"
//   name.title    // "block_3_expand: conv 1x1 + bias + relu6"
//   name.symbol   // "k3_contraction_convolution_of_block_3_expand", of its machine code
//   name.shown    // "block_3_expand: conv 1x1 + bias + relu6 [k3_contraction_convolution]"
//
// The layer is that of the fusion's root, and the rest says what the kernel computes: the op that
// most of its work is, and what it does to each result.  Names are no part of a key.  A kernel that
// several layers share has, as machine code, the name of the one that asked for it first; the disk
// cache says of it only what it computes, so that entries do not depend on who asks first.  Steps
// of a program have names of their own.
#ifndef TEKTITE_JIT_COMPILER_KERNEL_NAMES_H_
#define TEKTITE_JIT_COMPILER_KERNEL_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "jit/ir/graph.h"

namespace tektite::compiler {

struct KernelName {
  std::string what, title, symbol, shown;
};

// `number` is the kernel's in its program.
KernelName NameOfKernel(const ir::Node& fusion, size_t number);

// The op that says most about a fusion: its contraction, window, reduction, or else its last op.
absl::string_view HeadOp(const ir::Graph& region);

// The product of a region whose sums have a type of their own, such as bf16 summed in f32; null
// where there is none.
const ir::Node* NarrowProduct(const ir::Graph& region);
// Its left-hand type, or that of its weights where only those are narrow.
ir::DType NarrowTypeOf(const ir::Node& product);

// "block_3_expand" for the node "StatefulPartitionedCall/mobilenet/block_3_expand/convolution": the
// innermost two of its scopes, without the outermost one, which is the model's; a node outside of
// any scope stands for itself.  "dense gradient" for "gradient_tape/model/dense/MatMul".
std::string LayerOf(absl::string_view node);

// "conv 1x1 + bias + relu6".
std::string DescribeFusion(const ir::Node& fusion);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_KERNEL_NAMES_H_
