// TektiteCluster: the node that stands in a graph for the nodes that Tektite compiled.
//
// Inputs and outputs are those of the nodes it replaced; variables come as resource handles and are
// read here (held_inputs.h).  The attributes are written by replace_cluster.cc:
//   maker            the mark of this process (cluster_attributes.h)
//   body             GraphDef bytes with _Arg and _Retval, for the compiler
//   fallback         a function of the same body, for TensorFlow
//   variable_types   for each input the type its variable must have, or DT_RESOURCE for any
//   constant_inputs  the inputs that come from constant nodes
//   updated_inputs   the variables that the body assigns to (variable_updates.h)
//   _tektite_shown_as  the name of a node that it replaced, which messages and profiles show
//   _tektite_kept_loops  where it replaced loops that were kept (marked_fallback.h)
//   _tektite_remade  where it is in the fallback of a cluster that could not be compiled
//   _tektite_xla_calls  where it replaced calls of functions with jit_compile=True (xla_guard.h)
// and, where it is all that a function does, by whole_function.cc.
// Stateful, so that nothing folds, merges or prunes it.  Not asynchronous, though the fallback is:
// the successors of an asynchronous op in a graph go through the pool, 0.8 us more in each turn of
// a loop on one thread.  The op exists from the first graph on that such a node is put into: a
// process that compiles nothing refuses a graph that holds one as it does any unknown op.
//
// On a card of a CUDA build the kernel tells TensorFlow's own stream, and returns before the card
// has run it, as TensorFlow's kernels do.  TensorFlow decides for a whole list of inputs or outputs
// where it lies, so there are two of each: `host_inputs` and `host_outputs` follow the others, and
// are empty on a CPU.
#include "runtime_hooks/tensorflow/hook/run/cluster_op.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/container/inlined_vector.h"
#include "runtime_hooks/tensorflow/hook/direct_calls/direct_calls.h"
#include "runtime_hooks/tensorflow/hook/fallback/fallback.h"
#include "runtime_hooks/tensorflow/hook/fallback/marked_fallback.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_attributes.h"
#include "runtime_hooks/tensorflow/hook/run/cluster_runner.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

// The node that the executor names in an error that passes through, and in profiles: one of the
// user's.  Without the attributes that are long, or mean nothing to a user.
tensorflow::NodeDef ShownDef(const OpKernelConstruction& construction) {
  const tensorflow::NodeDef& def = construction.def();
  tensorflow::NodeDef shown;
  shown.set_name(def.name());
  shown.set_op(def.op());
  shown.set_device(def.device());
  *shown.mutable_input() = def.input();
  for (const char* types : {"Tin", "Tin_host", "Tout", "Tout_host"}) {
    const auto found = def.attr().find(types);
    if (found != def.attr().end()) (*shown.mutable_attr())[types] = found->second;
  }
  const auto name = def.attr().find("_tektite_shown_as");
  if (name != def.attr().end() && !name->second.s().empty()) shown.set_name(name->second.s());
  return shown;
}

class ClusterOp : public tensorflow::OpKernel {
 public:
  explicit ClusterOp(OpKernelConstruction* construction)
      : OpKernel(construction, ShownDef(*construction), /*is_deferred=*/false) {
    absl::StatusOr<ClusterAttributes> attributes = ClusterAttributes::Read(construction);
    OP_REQUIRES_OK(construction, attributes.status());
    OP_REQUIRES_OK(construction, construction->GetAttr("body", &body_));
    has_kept_loops_ = construction->def().attr().contains("_tektite_kept_loops");
    is_remade_ = construction->def().attr().contains("_tektite_remade");
    constant_inputs_ = attributes->constant_inputs;
    fallback_ =
        std::make_unique<Fallback>(attributes->fallback, attributes->updated_inputs.empty());
    runner_ = std::make_shared<ClusterRunner>(*attributes);
    if (attributes->whole_function && !attributes->on_card) {
      runner_->SetAlone();
      OfferToDirectCalls(*attributes->whole_function, construction->device(), runner_);
    }
  }

  void Compute(OpKernelContext* context) override {
    HookCounters().runs.fetch_add(1, std::memory_order_relaxed);
    absl::InlinedVector<const Tensor*, 8> inputs(context->num_inputs());
    for (int i = 0; i < context->num_inputs(); ++i) inputs[i] = &context->input(i);
    runner_->Prepare(context, body_, inputs);
    Kernels kernels(*this, context);
    const Reason refusal = runner_->Run(context, inputs, {}, &kernels);
    if (refusal == Reason::NONE) return;
    kernels.Run(refusal, "");
    if (refusal == Reason::HOST_UNLIKE_XLA && context->status().ok()) runner_->ExamineXla(context);
  }

 private:
  class Kernels : public TensorFlowKernels {
   public:
    Kernels(ClusterOp& op, OpKernelContext* context) : op_(op), context_(context) {}

    bool AreReady(int64_t compiled_ns) override {
      return op_.fallback_->PrepareInBackground(context_, op_.runner_->kept_fallback(),
                                                compiled_ns);
    }
    bool is_ready() const override { return op_.fallback_->is_prepared(); }
    void Run(Reason why, const char* message) override {
      CountFallback(why);
      // TensorFlow's kernels have nothing to do then, either.
      OP_REQUIRES(context_, why != OfCompiler(TEKTITE_FALLBACK_CANCELLED),
                  absl::CancelledError("Operation was cancelled"));
      if (op_.IsToBeRemade(why)) {
        op_.fallback_->MarkInBackground(context_,
                                        {op_.body_, op_.constant_inputs_, message, op_.is_remade_});
      }
      op_.fallback_->Run(context_, op_.runner_->kept_fallback());
    }

   private:
    ClusterOp& op_;
    OpKernelContext* const context_;
  };

  // Whether later calls will most likely have the same answer, and another cluster another one.
  bool IsToBeRemade(Reason refusal) const {
    const bool has_no_code = refusal == OfCompiler(TEKTITE_FALLBACK_NO_CODE);
    if (has_no_code && runner_->HasGivenWay()) return true;
    const bool is_slower = refusal == OfCompiler(TEKTITE_FALLBACK_SLOWER_THAN_HOST);
    return has_kept_loops_ && (has_no_code || is_slower);
  }

  std::string body_;
  bool has_kept_loops_ = false;
  bool is_remade_ = false;
  std::vector<int> constant_inputs_;
  std::unique_ptr<Fallback> fallback_;
  std::shared_ptr<ClusterRunner> runner_;
};

void RegisterKernel(tensorflow::KernelDefBuilder& builder) {
  // The registrar does its work when it is made.
  const tensorflow::kernel_factory::OpKernelRegistrar registrar(
      builder.Build(), "ClusterOp",
      [](OpKernelConstruction* construction) -> tensorflow::OpKernel* {
        return new ClusterOp(construction);
      });
}

void RegisterOnce() {
  tensorflow::OpDefBuilder op("TektiteCluster");
  op.Input("inputs: Tin")
      .Input("host_inputs: Tin_host")
      .Output("outputs: Tout")
      .Output("host_outputs: Tout_host")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tin_host: list(type) >= 0 = []")
      .Attr("Tout: list(type) >= 0")
      .Attr("Tout_host: list(type) >= 0 = []")
      .Attr("maker: string")
      .Attr("variable_types: list(type) >= 0")
      .Attr("constant_inputs: list(int) >= 0")
      .Attr("updated_inputs: list(int) >= 0")
      .Attr("cluster_name: string")
      .Attr("body: string")
      .Attr("fallback: func")
      .SetIsStateful()
      .SetShapeFn(tensorflow::shape_inference::UnknownShape)
      .Doc("Nodes that the Tektite compiler runs as one; made by its graph pass, never by hand.");
  tensorflow::OpRegistry::Global()->Register(
      [op](tensorflow::OpRegistrationData* data) { return op.Finalize(data); });
  RegisterKernel(tensorflow::KernelDefBuilder("TektiteCluster").Device(tensorflow::DEVICE_CPU));
}

}  // namespace

void RegisterClusterOp() {
  static absl::once_flag once;
  absl::call_once(once, RegisterOnce);
}

void RegisterClusterOpForCards() {
  static absl::once_flag once;
  absl::call_once(once, [] {
    RegisterKernel(tensorflow::KernelDefBuilder("TektiteCluster")
                       .Device(tensorflow::DEVICE_GPU)
                       .HostMemory("host_inputs")
                       .HostMemory("host_outputs"));
  });
}

}  // namespace tektite::tf_hook
