// TektiteCluster: the node that stands in a graph for the nodes that Tektite compiled.
//
// Inputs and outputs are those of the nodes it replaced; variables come as resource handles and are
// read here (held_inputs.h).  The attributes are written by replace_cluster.cc:
//   body             GraphDef bytes with _Arg and _Retval, for the compiler
//   fallback         a function of the same body, for TensorFlow
//   variable_types   for each input the type its variable must have, or DT_RESOURCE for any
//   constant_inputs  the inputs that come from constant nodes
//   updated_inputs   the variables that the body assigns to (variable_updates.h)
// Stateful, so that nothing folds, merges or prunes it; asynchronous, since the fallback is.
// Limits: CPU devices.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/contest.h"
#include "runtime_hooks/tensorflow/hook/counters.h"
#include "runtime_hooks/tensorflow/hook/fallback.h"
#include "runtime_hooks/tensorflow/hook/held_inputs.h"
#include "runtime_hooks/tensorflow/hook/output_allocator.h"
#include "runtime_hooks/tensorflow/hook/prepared_cluster.h"
#include "runtime_hooks/tensorflow/hook/variable_updates.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/register_types.h"
#include "tensorflow/core/lib/core/threadpool.h"
#include "tensorflow/core/util/util.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DataType;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

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

const char* CodeName(int code) {
  switch (code) {
    case TEKTITE_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case TEKTITE_DEADLINE_EXCEEDED:
      return "OVER_BUDGET";
    case TEKTITE_NOT_FOUND:
      return "NOT_FOUND";
    case TEKTITE_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case TEKTITE_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case TEKTITE_UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case TEKTITE_INTERNAL:
      return "INTERNAL";
    case TEKTITE_UNAVAILABLE:
      return "UNAVAILABLE";
    default:
      return "OTHER";
  }
}

// What the compiler's callbacks need during one call.
struct HostCall {
  OpKernelContext* context;
  const InputReader::Call* inputs;
  tensorflow::thread::ThreadPool* workers;
  VariableUpdates updates;
  // Not set on the context before the compiler says that the run is good: an output cannot be set
  // twice, and the fallback would.
  absl::InlinedVector<Tensor, 4> outputs;

  static void Schedule(void* self, void (*fn)(void*), void* arg) {
    static_cast<HostCall*>(self)->workers->Schedule([fn, arg] { fn(arg); });
  }

  static void* Allocate(void* self, int32_t index, int32_t dtype, int32_t rank,
                        const int64_t* dims) {
    auto* const call = static_cast<HostCall*>(self);
    OpKernelContext* const context = call->context;
    if (index < 0 || index >= context->num_outputs()) return nullptr;
    const DataType wanted = context->expected_output_dtype(index);
    if (dtype != wanted) return nullptr;
    TensorShape shape;
    if (!TensorShape::BuildTensorShape(absl::MakeConstSpan(dims, rank), &shape).ok()) {
      return nullptr;
    }
    Tensor& output = call->outputs[index];
    if (!AllocatePooled(context, index, wanted, shape, &output) &&
        !context->allocate_temp(wanted, shape, &output, context->output_alloc_attr(index)).ok()) {
      return nullptr;
    }
    return output.data();
  }

  static int32_t Forward(void* self, int32_t index, int32_t arg) {
    auto* const call = static_cast<HostCall*>(self);
    const Tensor* const tensor = call->inputs->Shareable(arg);
    if (tensor == nullptr || tensor->dtype() != call->context->expected_output_dtype(index)) {
      return 1;
    }
    call->outputs[index] = *tensor;
    return 0;
  }

  static int32_t BeginUpdates(void* self, tektite_update* updates, int32_t num_updates) {
    auto* const call = static_cast<HostCall*>(self);
    return call->updates.Begin(absl::MakeSpan(updates, num_updates)) ? 0 : 1;
  }
};

// Arguments that the shape class of a call is told by; variables keep their shapes.
constexpr size_t kMostShapeInputs = 16;

class ClusterOp : public tensorflow::AsyncOpKernel {
 public:
  explicit ClusterOp(OpKernelConstruction* construction) : AsyncOpKernel(construction) {
    std::vector<DataType> variable_types;
    std::vector<int> constant_inputs, updated_inputs;
    tensorflow::NameAttrList function;
    OP_REQUIRES_OK(construction, construction->GetAttr("variable_types", &variable_types));
    OP_REQUIRES_OK(construction, construction->GetAttr("constant_inputs", &constant_inputs));
    OP_REQUIRES_OK(construction, construction->GetAttr("updated_inputs", &updated_inputs));
    OP_REQUIRES_OK(construction, construction->GetAttr("fallback", &function));
    OP_REQUIRES_OK(construction, construction->GetAttr("cluster_name", &cluster_name_));
    fallback_ = std::make_unique<Fallback>(function.name());
    for (int i = 0; i < num_inputs() && shape_inputs_.size() < kMostShapeInputs; ++i) {
      if (input_type(i) != tensorflow::DT_RESOURCE &&
          std::find(constant_inputs.begin(), constant_inputs.end(), i) == constant_inputs.end()) {
        shape_inputs_.push_back(i);
      }
    }
    reader_ = std::make_unique<InputReader>(
        std::vector<DataType>(input_types().begin(), input_types().end()),
        std::move(variable_types), constant_inputs, updated_inputs);
  }

  ~ClusterOp() override {
    // The compiler keeps what it made of held inputs' versions.
    if (prepared_ != nullptr && !reader_->has_held_inputs()) {
      PreparedCluster::Leave(Body(), std::move(prepared_));
    }
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    HookCounters().runs.fetch_add(1, std::memory_order_relaxed);
    // At the first run, not at construction: many kernels are made that never run.
    absl::call_once(once_, [&] {
      prepared_ = PreparedCluster::Obtain(cluster_name_, Body(), ContestTopic(context));
    });
    Contest::Turn turn;
    const char* const refusal = RunCompiled(context, &turn);
    if (refusal == nullptr) return done();
    CountFallback(refusal);
    if (!turn.is_measured || turn.side != Contest::Side::kHost) {
      return fallback_->Run(context, std::move(done));
    }
    fallback_->Run(context, [this, context, turn, done = std::move(done)] {
      if (context->status().ok()) prepared_->EndTurn(turn);
      done();
    });
  }

 private:
  const std::string& Body() const { return def().attr().at("body").s(); }

  // What a verdict depends on beside the cluster, its shapes, the build and the machine.
  static std::string ContestTopic(OpKernelContext* context) {
    const auto* const pool = context->device()->tensorflow_cpu_worker_threads();
    return absl::StrCat("against TensorFlow", tensorflow::IsMKLEnabled() ? " with oneDNN, " : ", ",
                        pool == nullptr ? 1 : pool->num_threads, " threads");
  }

  Contest::Turn BeginTurn(const InputReader::Call& inputs) {
    uint64_t shape_class = 0;
    double work = 0;
    for (const int index : shape_inputs_) {
      const tektite_tensor& arg = inputs.args[index];
      double elements = 1;
      for (int d = 0; d < arg.rank; ++d) {
        shape_class = AddToShapeClass(shape_class, arg.dims[d]);
        elements *= static_cast<double>(arg.dims[d]);
      }
      work += elements;
    }
    return prepared_->contest()->Begin(
        shape_class, work, prepared_->library().cluster_generation(prepared_->cluster()));
  }

  // Null when the outputs are set, otherwise why they are not.
  const char* RunCompiled(OpKernelContext* context, Contest::Turn* turn) {
    if (prepared_ == nullptr) return "HOST_NO_CLUSTER";
    InputReader::Call inputs;
    if (const char* refusal = reader_->Read(context, &inputs); refusal != nullptr) return refusal;
    Contest* const contest = prepared_->contest();
    if (contest != nullptr) {
      *turn = BeginTurn(inputs);
      if (turn->side == Contest::Side::kHost) {
        return turn->is_demoted ? "SLOWER_THAN_HOST" : "MEASURING_HOST";
      }
    }
    const auto* const pool = context->device()->tensorflow_cpu_worker_threads();
    HostCall host{
        context, &inputs, pool == nullptr ? nullptr : pool->workers, {context, &inputs}, {}};
    host.outputs.resize(context->num_outputs());

    tektite_call call = {};
    call.struct_size = sizeof(call);
    call.args = inputs.args.data();
    call.num_args = static_cast<int32_t>(inputs.args.size());
    // TensorFlow counts the thread that calls among the pool's: one thread means no helper.
    call.num_threads = host.workers == nullptr ? 0 : pool->num_threads - 1;
    call.context = &host;
    call.schedule = &HostCall::Schedule;
    call.allocate = &HostCall::Allocate;
    call.forward = &HostCall::Forward;
    call.begin_updates = &HostCall::BeginUpdates;
    call.artifact = &turn->artifact;
    tektite_status status;
    const int code = prepared_->library().cluster_run(prepared_->cluster(), &call, &status);
    if (code != TEKTITE_OK) return CodeName(code);
    host.updates.Commit();
    for (int i = 0; i < context->num_outputs(); ++i) {
      context->set_output(i, std::move(host.outputs[i]));
    }
    if (contest != nullptr) prepared_->EndTurn(*turn);
    return nullptr;
  }

  std::string cluster_name_;
  std::unique_ptr<Fallback> fallback_;
  std::unique_ptr<InputReader> reader_;
  std::vector<int> shape_inputs_;  // whose shapes tell one class of calls from another
  absl::once_flag once_;
  std::unique_ptr<PreparedCluster> prepared_;
};

REGISTER_KERNEL_BUILDER(Name("TektiteCluster").Device(tensorflow::DEVICE_CPU), ClusterOp);

}  // namespace
}  // namespace tektite::tf_hook
