// TektiteCluster: the node that stands in a graph for the nodes that Tektite compiled.
//
// Inputs and outputs are those of the nodes it replaced; variables come as resource handles and are
// read here (held_inputs.h).  The attributes are written by replace_cluster.cc:
//   body             GraphDef bytes with _Arg and _Retval, for the compiler
//   fallback         a function of the same body, for TensorFlow
//   variable_types   for each input the type its variable must have, or DT_RESOURCE for any
//   constant_inputs  the inputs that come from constant nodes
//   updated_inputs   the variables that the body assigns to (variable_updates.h)
// and, where it is all that a function does, by whole_function.cc.
// Stateful, so that nothing folds, merges or prunes it; asynchronous, since the fallback is.
// Limits: CPU devices.

#include <memory>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "runtime_hooks/tensorflow/hook/cluster_runner.h"
#include "runtime_hooks/tensorflow/hook/counters.h"
#include "runtime_hooks/tensorflow/hook/direct_calls.h"
#include "runtime_hooks/tensorflow/hook/fallback.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

REGISTER_OP("TektiteCluster")
    .Input("inputs: Tin")
    .Output("outputs: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .Attr("variable_types: list(type) >= 0")
    .Attr("constant_inputs: list(int) >= 0")
    .Attr("updated_inputs: list(int) >= 0")
    .Attr("cluster_name: string")
    .Attr("body: string")
    .Attr("fallback: func")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::UnknownShape)
    .Doc("Nodes that the Tektite compiler runs as one; made by its graph pass, never by hand.");

class ClusterOp : public tensorflow::AsyncOpKernel {
 public:
  explicit ClusterOp(OpKernelConstruction* construction) : AsyncOpKernel(construction) {
    tensorflow::NameAttrList function;
    OP_REQUIRES_OK(construction, construction->GetAttr("fallback", &function));
    fallback_ = std::make_unique<Fallback>(function.name());
    runner_ = std::make_shared<ClusterRunner>(construction);
    if (!construction->status().ok()) return;
    if (const auto whole = WholeFunction::Of(construction)) {
      OfferToDirectCalls(*whole, construction->device(), runner_);
    }
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    HookCounters().runs.fetch_add(1, std::memory_order_relaxed);
    absl::InlinedVector<const Tensor*, 8> inputs(context->num_inputs());
    for (int i = 0; i < context->num_inputs(); ++i) inputs[i] = &context->input(i);
    runner_->Prepare(context, def().attr().at("body").s(), inputs);
    Contest::Turn turn;
    const char* const refusal =
        runner_->Run(context, inputs, {}, ClusterRunner::Caller::kGraph, &turn);
    if (refusal == nullptr) return done();
    CountFallback(refusal);
    if (!turn.is_measured || turn.side != Contest::Side::kHost) {
      return fallback_->Run(context, std::move(done));
    }
    fallback_->Run(context, [this, context, turn, done = std::move(done)] {
      if (context->status().ok()) runner_->EndHostTurn(turn);
      done();
    });
  }

 private:
  std::unique_ptr<Fallback> fallback_;
  std::shared_ptr<ClusterRunner> runner_;
};

REGISTER_KERNEL_BUILDER(Name("TektiteCluster").Device(tensorflow::DEVICE_CPU), ClusterOp);

}  // namespace
}  // namespace tektite::tf_hook
