#include "runtime_hooks/tensorflow/hook/direct_calls.h"

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/counters.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/platform/denormal.h"
#include "tensorflow/core/platform/mutex.h"
#include "tensorflow/core/platform/setround.h"
#include "tensorflow/core/public/version.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DeviceBase;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Var;

REGISTER_OP("TektiteBind")
    .Input("inputs: Tin")
    .Output("plan: int64")
    .Attr("Tin: list(type) >= 0")
    .Attr("function: string")
    .Attr("num_args: int >= 0")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::UnknownShape)
    .Doc("Which cluster a function is, for TektiteCall; made by Tektite's Python half.");

REGISTER_OP("TektiteDevice")
    .Output("addresses: int64")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::UnknownShape)
    .Doc("The device it runs on and its resources, for tektite._fast_calls of the same process.");

REGISTER_OP("TektiteCall")
    .Input("binding: int64")
    .Input("args: Tin")
    .Output("outputs: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::UnknownShape)
    .Doc("Runs the cluster that TektiteBind found; made by Tektite's Python half.");

constexpr int kCaptured = -1;

// What a call needs beside its arguments.  Never changed once it is in the table.
struct Binding {
  std::weak_ptr<ClusterRunner> runner;
  std::vector<int> arg_of;       // for each input of the cluster: the call's argument, or kCaptured
  std::vector<Tensor> captured;  // where that is so
  std::vector<Var*> variables;   // those that captured handles keep alive; else null
  // For calls without the op's own context.
  DeviceBase* device = nullptr;
  tensorflow::ResourceMgr* resources = nullptr;
  std::unique_ptr<OpKernel> kernel;
  std::vector<tensorflow::AllocatorAttributes> output_attributes;
};

struct Offer {
  WholeFunction function;
  const DeviceBase* device;
  std::weak_ptr<ClusterRunner> runner;
};

struct Tables {
  tensorflow::mutex mu;
  absl::flat_hash_map<std::string, Offer> offers TF_GUARDED_BY(mu);  // by function name
  absl::flat_hash_map<int64_t, std::weak_ptr<const Binding>> bindings TF_GUARDED_BY(mu);
  int64_t last_id TF_GUARDED_BY(mu) = 0;
  size_t sweep_at TF_GUARDED_BY(mu) = 64;
};

Tables& AllTables() {
  static auto* const tables = new Tables;  // kernels may go after static objects have
  return *tables;
}

// What has gone is looked for now and then, in time proportional to what was added meanwhile.
void Sweep(Tables& tables) TF_EXCLUSIVE_LOCKS_REQUIRED(tables.mu) {
  if (tables.offers.size() + tables.bindings.size() < tables.sweep_at) return;
  absl::erase_if(tables.offers, [](const auto& entry) { return entry.second.runner.expired(); });
  absl::erase_if(tables.bindings, [](const auto& entry) { return entry.second.expired(); });
  tables.sweep_at = 64 + 2 * (tables.offers.size() + tables.bindings.size());
}

bool IsEnabled() {
  const CompilerLibrary* const library = CompilerLibrary::Get();
  return library != nullptr && library->flag(library->compiler, "direct_calls", 0) != 0;
}

// Null where the handle does not keep its variable alive.
Var* VariableBehind(const Tensor& handles) {
  if (handles.dtype() != tensorflow::DT_RESOURCE || handles.NumElements() != 1) return nullptr;
  const auto& handle = handles.flat<tensorflow::ResourceHandle>()(0);
  if (!handle.IsRefCounting()) return nullptr;
  const absl::StatusOr<Var*> variable = handle.GetResource<Var>();
  return variable.ok() ? *variable : nullptr;
}

// A kernel of TektiteCall that answers for the calls of a binding; null if it cannot be made.
std::unique_ptr<OpKernel> MakeCallKernel(const BindRequest& request,
                                         const tensorflow::DataTypeVector& output_types) {
  tensorflow::DataTypeVector arg_types;
  tensorflow::NodeDef node;
  node.set_name("tektite_direct_call");
  node.set_op("TektiteCall");
  node.add_input("binding:0");
  for (int i = 0; i < request.num_args; ++i) {
    arg_types.push_back(request.inputs[i]->dtype());
    node.add_input(absl::StrCat("arg", i, ":0"));
  }
  tensorflow::AddNodeAttr("Tin", arg_types, &node);
  tensorflow::AddNodeAttr("Tout", output_types, &node);
  absl::Status status;
  std::unique_ptr<OpKernel> kernel = tensorflow::CreateOpKernel(
      tensorflow::DeviceType(tensorflow::DEVICE_CPU), request.device,
      request.device->GetAllocator({}), node, TF_GRAPH_DEF_VERSION, &status);
  return status.ok() ? std::move(kernel) : nullptr;
}

std::shared_ptr<const Binding> FindBinding(int64_t id) {
  Tables& tables = AllTables();
  tensorflow::tf_shared_lock lock(tables.mu);
  const auto found = tables.bindings.find(id);
  return found == tables.bindings.end() ? nullptr : found->second.lock();
}

// Sets the outputs of `context` and returns null, or says why not.
template <typename Args>
const char* RunBinding(OpKernelContext* context, const Binding* binding, int num_args,
                       const Args& arg_at) {
  const std::shared_ptr<ClusterRunner> runner =
      binding == nullptr ? nullptr : binding->runner.lock();
  if (runner == nullptr ||
      context->num_outputs() != static_cast<int>(runner->output_types().size())) {
    return "NO_BINDING";
  }
  for (int i = 0; i < context->num_outputs(); ++i) {
    if (context->expected_output_dtype(i) != runner->output_types()[i]) return "NO_BINDING";
  }
  absl::InlinedVector<const Tensor*, 8> inputs(binding->arg_of.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int arg = binding->arg_of[i];
    if (arg >= num_args) return "NO_BINDING";
    inputs[i] = arg == kCaptured ? &binding->captured[i] : &arg_at(arg);
    if (inputs[i]->dtype() != runner->input_types()[i]) return "NO_BINDING";
  }
  Contest::Turn turn;
  const char* const refusal =
      runner->Run(context, inputs, binding->variables, /*fallback=*/nullptr, &turn);
  if (refusal == nullptr) {
    HookCounters().runs.fetch_add(1, std::memory_order_relaxed);
    HookCounters().direct_runs.fetch_add(1, std::memory_order_relaxed);
  }
  return refusal;
}

class BindOp : public OpKernel {
 public:
  explicit BindOp(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("function", &function_));
    OP_REQUIRES_OK(construction, construction->GetAttr("num_args", &num_args_));
  }

  void Compute(OpKernelContext* context) override {
    std::vector<const Tensor*> inputs;
    for (int i = 0; i < context->num_inputs(); ++i) inputs.push_back(&context->input(i));
    OP_REQUIRES(context, num_args_ <= context->num_inputs(),
                absl::InvalidArgumentError("tektite: more arguments than inputs"));
    const std::vector<int64_t> plan =
        Bind({function_, num_args_, context->device(), context->resource_manager(), inputs});
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(
                       0, tensorflow::TensorShape({static_cast<int64_t>(plan.size())}), &output));
    std::copy(plan.begin(), plan.end(), output->flat<int64_t>().data());
  }

 private:
  std::string function_;
  int num_args_ = 0;
};

class DeviceOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, tensorflow::TensorShape({2}), &output));
    output->flat<int64_t>()(0) = reinterpret_cast<int64_t>(context->device());
    output->flat<int64_t>()(1) = reinterpret_cast<int64_t>(context->resource_manager());
  }
};

class CallOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    if (const char* const refusal = Run(context); refusal != nullptr) {
      context->SetStatus(absl::UnavailableError(absl::StrCat("tektite: ", refusal)));
    }
  }

 private:
  static const char* Run(OpKernelContext* context) {
    const Tensor& id = context->input(0);
    if (id.NumElements() != 1) return "NO_BINDING";
    const std::shared_ptr<const Binding> binding = FindBinding(id.flat<int64_t>()(0));
    return RunBinding(context, binding.get(), context->num_inputs() - 1,
                      [&](int i) -> const Tensor& { return context->input(1 + i); });
  }
};

REGISTER_KERNEL_BUILDER(Name("TektiteBind").Device(tensorflow::DEVICE_CPU), BindOp);
REGISTER_KERNEL_BUILDER(Name("TektiteDevice").Device(tensorflow::DEVICE_CPU), DeviceOp);
REGISTER_KERNEL_BUILDER(Name("TektiteCall").Device(tensorflow::DEVICE_CPU), CallOp);

}  // namespace

bool IsOffered(const std::string& function) {
  Tables& tables = AllTables();
  tensorflow::tf_shared_lock lock(tables.mu);
  return tables.offers.contains(function);
}

bool HasWon(const std::string& function) {
  Tables& tables = AllTables();
  tensorflow::tf_shared_lock lock(tables.mu);
  const auto offer = tables.offers.find(function);
  if (offer == tables.offers.end()) return false;
  const std::shared_ptr<ClusterRunner> runner = offer->second.runner.lock();
  return runner != nullptr && runner->HasWon();
}

std::vector<int64_t> Bind(const BindRequest& request) {
  const std::vector<int64_t> none = {0};
  if (!IsEnabled()) return none;
  Tables& tables = AllTables();
  tensorflow::mutex_lock lock(tables.mu);
  const auto offer = tables.offers.find(request.function);
  if (offer == tables.offers.end() || offer->second.device != request.device) return none;
  const std::shared_ptr<ClusterRunner> runner = offer->second.runner.lock();
  if (runner == nullptr || !runner->is_prepared()) return none;
  auto binding = std::make_shared<Binding>();
  binding->runner = runner;
  for (size_t i = 0; i < runner->input_types().size(); ++i) {
    const int arg = offer->second.function.args[i];
    if (arg >= static_cast<int>(request.inputs.size())) return none;
    const bool is_captured = arg < 0 || arg >= request.num_args;
    binding->arg_of.push_back(is_captured ? kCaptured : arg);
    binding->captured.push_back(!is_captured ? Tensor()
                                : arg < 0    ? runner->constants()[i]
                                             : *request.inputs[arg]);
    binding->variables.push_back(is_captured ? VariableBehind(binding->captured.back()) : nullptr);
  }
  binding->device = request.device;
  binding->resources = request.resources;
  binding->kernel = MakeCallKernel(request, runner->output_types());
  if (binding->kernel == nullptr) return none;
  binding->output_attributes.resize(runner->output_types().size());
  std::vector<int64_t> plan = {++tables.last_id};
  const std::vector<int>& results = offer->second.function.results;
  plan.insert(plan.end(), results.begin(), results.end());
  Sweep(tables);
  tables.bindings[plan.front()] = binding;
  runner->SetBinding(std::move(binding));
  return plan;
}

const char* CallDirectly(int64_t id, absl::Span<const Tensor* const> args,
                         absl::Span<Tensor> outputs) {
  const std::shared_ptr<const Binding> binding = FindBinding(id);
  if (binding == nullptr || outputs.size() != binding->output_attributes.size()) {
    return "NO_BINDING";
  }
  // As TensorFlow has it around kernels.
  const tensorflow::port::ScopedFlushDenormal flush;
  const tensorflow::port::ScopedSetRound round(FE_TONEAREST);
  OpKernelContext::Params params;
  params.device = binding->device;
  params.op_kernel = binding->kernel.get();
  params.resource_manager = binding->resources;
  params.output_attr_array = binding->output_attributes.data();
  OpKernelContext context(&params, static_cast<int>(outputs.size()));
  const char* const refusal = RunBinding(&context, binding.get(), static_cast<int>(args.size()),
                                         [&](int i) -> const Tensor& { return *args[i]; });
  if (refusal != nullptr) return refusal;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::unique_ptr<Tensor> output(context.release_output(static_cast<int>(i)).tensor);
    outputs[i] = std::move(*output);
  }
  return nullptr;
}

void OfferToDirectCalls(const WholeFunction& function, const DeviceBase* device,
                        const std::shared_ptr<ClusterRunner>& runner) {
  Tables& tables = AllTables();
  tensorflow::mutex_lock lock(tables.mu);
  Sweep(tables);
  tables.offers[function.name] = {function, device, runner};
}

}  // namespace tektite::tf_hook
