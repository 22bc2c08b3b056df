#include "runtime_hooks/tensorflow/hook/direct_calls/direct_calls.h"

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/framework/node_properties.h"
#include "tensorflow/core/framework/op_def.pb.h"
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

constexpr int kCaptured = -1;

// The data that a call needs beside its arguments.  Never changed once it is in the table.
struct Binding {
  std::weak_ptr<ClusterRunner> runner;
  std::vector<int> arg_of;       // for each input of the cluster: the call's argument, or kCaptured
  std::vector<Tensor> captured;  // where that is so
  std::vector<Var*> variables;   // those that captured handles keep alive; else null
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

// Removes entries whose runner has gone, each time their number has doubled.
void Sweep(Tables& tables) TF_EXCLUSIVE_LOCKS_REQUIRED(tables.mu) {
  if (tables.offers.size() + tables.bindings.size() < tables.sweep_at) return;
  absl::erase_if(tables.offers, [](const auto& entry) { return entry.second.runner.expired(); });
  absl::erase_if(tables.bindings, [](const auto& entry) { return entry.second.expired(); });
  tables.sweep_at = 64 + 2 * (tables.offers.size() + tables.bindings.size());
}

// Null where the handle does not keep its variable alive.
Var* VariableBehind(const Tensor& handles) {
  if (handles.dtype() != tensorflow::DT_RESOURCE || handles.NumElements() != 1) return nullptr;
  const auto& handle = handles.flat<tensorflow::ResourceHandle>()(0);
  if (!handle.IsRefCounting()) return nullptr;
  const absl::StatusOr<Var*> variable = handle.GetResource<Var>();
  return variable.ok() ? *variable : nullptr;
}

// Stands in the contexts of direct calls for the kernel that TensorFlow would have made.
class DirectCall : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    context->SetStatus(absl::InternalError("direct calls have no node"));
  }
};

// Its op, which no graph can name: TensorFlow's registry does not have it.
const tensorflow::OpDef& DirectCallOp() {
  static const auto* const op = [] {
    auto* const made = new tensorflow::OpDef;
    made->set_name("TektiteDirectCall");
    made->set_is_stateful(true);
    return made;
  }();
  return *op;
}

// Null if it cannot be made.
std::unique_ptr<OpKernel> MakeKernel(DeviceBase* device,
                                     const tensorflow::DataTypeVector& output_types) {
  tensorflow::NodeDef node;
  node.set_name("tektite_direct_call");
  node.set_op(DirectCallOp().name());
  const tensorflow::DataTypeVector no_inputs;
  const auto properties = std::make_shared<const tensorflow::NodeProperties>(
      &DirectCallOp(), std::move(node), no_inputs, output_types);
  const tensorflow::MemoryTypeVector output_memory(output_types.size(), tensorflow::HOST_MEMORY);
  absl::Status status;
  OpKernelConstruction construction(tensorflow::DeviceType(tensorflow::DEVICE_CPU), device,
                                    device->GetAllocator({}), /*flib=*/nullptr,
                                    /*resource_mgr=*/nullptr, properties,
                                    /*input_memory_types=*/{}, output_memory, TF_GRAPH_DEF_VERSION,
                                    &status);
  auto kernel = std::make_unique<DirectCall>(&construction);
  return status.ok() ? std::move(kernel) : nullptr;
}

std::optional<Offer> FindOffer(const std::string& function) {
  Tables& tables = AllTables();
  tensorflow::tf_shared_lock lock(tables.mu);
  const auto found = tables.offers.find(function);
  if (found == tables.offers.end()) return std::nullopt;
  return found->second;
}

int64_t AddBinding(const std::shared_ptr<const Binding>& binding) {
  Tables& tables = AllTables();
  tensorflow::mutex_lock lock(tables.mu);
  Sweep(tables);
  tables.bindings[++tables.last_id] = binding;
  return tables.last_id;
}

std::shared_ptr<const Binding> FindBinding(int64_t id) {
  Tables& tables = AllTables();
  tensorflow::tf_shared_lock lock(tables.mu);
  const auto found = tables.bindings.find(id);
  return found == tables.bindings.end() ? nullptr : found->second.lock();
}

// Sets the outputs of `context`, which has the binding's kernel, and returns Reason::NONE,
// or says why not.
Reason RunBinding(OpKernelContext* context, const Binding& binding,
                  absl::Span<const Tensor* const> args) {
  const std::shared_ptr<ClusterRunner> runner = binding.runner.lock();
  if (runner == nullptr) return Reason::HOST_NO_BINDING;
  absl::InlinedVector<const Tensor*, 8> inputs(binding.arg_of.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int arg = binding.arg_of[i];
    if (arg >= static_cast<int>(args.size())) return Reason::HOST_NO_BINDING;
    inputs[i] = arg == kCaptured ? &binding.captured[i] : args[arg];
    if (inputs[i]->dtype() != runner->input_types()[i]) return Reason::HOST_NO_BINDING;
  }
  const Reason refusal = runner->Run(context, inputs, binding.variables, /*kernels=*/nullptr);
  if (refusal == Reason::NONE) {
    HookCounters().runs.fetch_add(1, std::memory_order_relaxed);
    HookCounters().direct_runs.fetch_add(1, std::memory_order_relaxed);
  }
  return refusal;
}

}  // namespace

bool IsOffered(const std::string& function) {
  Tables& tables = AllTables();
  tensorflow::tf_shared_lock lock(tables.mu);
  return tables.offers.contains(function);
}

bool HasGivenWay(const std::string& function) {
  const std::optional<Offer> offer = FindOffer(function);
  const std::shared_ptr<ClusterRunner> runner = offer ? offer->runner.lock() : nullptr;
  return runner != nullptr && runner->HasGivenWay();
}

bool HasWon(const std::string& function) {
  const std::optional<Offer> offer = FindOffer(function);
  const std::shared_ptr<ClusterRunner> runner = offer ? offer->runner.lock() : nullptr;
  return runner != nullptr && runner->HasWon();
}

std::vector<int64_t> Bind(const BindRequest& request) {
  const std::vector<int64_t> none = {0};
  // TensorFlow's code runs without the lock.
  const std::optional<Offer> offer = FindOffer(request.function);
  if (!offer || offer->device != request.device) return none;
  const std::shared_ptr<ClusterRunner> runner = offer->runner.lock();
  if (runner == nullptr || !runner->is_prepared()) return none;
  auto binding = std::make_shared<Binding>();
  binding->runner = runner;
  for (size_t i = 0; i < runner->input_types().size(); ++i) {
    const int arg = offer->function.args[i];
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
  binding->kernel = MakeKernel(request.device, runner->output_types());
  if (binding->kernel == nullptr) return none;
  binding->output_attributes.resize(runner->output_types().size());
  std::vector<int64_t> plan = {AddBinding(binding)};
  const std::vector<int>& results = offer->function.results;
  plan.insert(plan.end(), results.begin(), results.end());
  runner->SetBinding(std::move(binding));
  return plan;
}

Reason CallDirectly(int64_t id, absl::Span<const Tensor* const> args, absl::Span<Tensor> outputs) {
  const std::shared_ptr<const Binding> binding = FindBinding(id);
  if (binding == nullptr || outputs.size() != binding->output_attributes.size()) {
    return Reason::HOST_NO_BINDING;
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
  const Reason refusal = RunBinding(&context, *binding, args);
  if (refusal != Reason::NONE) return refusal;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::unique_ptr<Tensor> output(context.release_output(static_cast<int>(i)).tensor);
    outputs[i] = std::move(*output);
  }
  return Reason::NONE;
}

void OfferToDirectCalls(const WholeFunction& function, const DeviceBase* device,
                        const std::shared_ptr<ClusterRunner>& runner) {
  Tables& tables = AllTables();
  tensorflow::mutex_lock lock(tables.mu);
  Sweep(tables);
  tables.offers[function.name] = {function, device, runner};
}

}  // namespace tektite::tf_hook

// Whether compiled code is hardly tried any more for the function of that name.
extern "C" __attribute__((visibility("default"))) int tektite_hook_has_given_way(
    const char* function) {
  return tektite::tf_hook::HasGivenWay(function) ? 1 : 0;
}
