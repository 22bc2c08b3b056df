#include "runtime_hooks/tensorflow/hook/run/cluster_runner.h"

#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/tensorflow/hook/run/card.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "runtime_hooks/tensorflow/hook/run/finite_tensor.h"
#include "runtime_hooks/tensorflow/hook/run/output_allocator.h"
#include "runtime_hooks/tensorflow/hook/run/variable_updates.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/lib/core/threadpool.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DataType;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// The least that a direct call saves, of some 100 us (direct_calls.h): the comparison cannot see
// it, and times of the smallest clusters differ by less.
constexpr double kDirectCallSparesNs = 40e3;

// The integers that compiled code has for a quantized type.
DataType StorageType(DataType type) {
  switch (type) {
    case tensorflow::DT_QINT8:
      return tensorflow::DT_INT8;
    case tensorflow::DT_QUINT8:
      return tensorflow::DT_UINT8;
    case tensorflow::DT_QINT16:
      return tensorflow::DT_INT16;
    case tensorflow::DT_QUINT16:
      return tensorflow::DT_UINT16;
    case tensorflow::DT_QINT32:
      return tensorflow::DT_INT32;
    default:
      return type;
  }
}

// What a profiler of TensorFlow's shows of a call: "model/train_step", with its arguments' shapes.
std::string TraceName(const std::string& cluster, const InputReader::Call& call) {
  std::string shapes;
  for (const tektite_tensor& arg : call.args) {
    absl::StrAppend(&shapes, shapes.empty() ? "" : ";", "[",
                    absl::StrJoin(absl::MakeConstSpan(arg.dims, arg.rank), ","), "]");
  }
  return tsl::profiler::TraceMeEncode(cluster, {{"shapes", shapes}});
}

}  // namespace

// The data that the compiler's callbacks need during one call.
struct ClusterRunner::HostCall {
  ClusterRunner& runner;
  OpKernelContext* context;
  TensorFlowKernels* kernels;  // may be null
  bool reproducible = false;
  bool is_guarded = false;  // xla_guard.h
  std::optional<bool> is_watched = {};
  tensorflow::thread::ThreadPool* workers = nullptr;
  // Nothing once TensorFlow's kernels run: they must not find variables locked, or tensors referred
  // to that they would update in place.
  std::optional<InputReader::Call> inputs{std::in_place};
  std::optional<VariableUpdates> updates = {};
  // Not set on the context before the compiler says that the run is good: an output cannot be set
  // twice, and TensorFlow's kernels would.
  absl::InlinedVector<Tensor, 4> outputs = {};
  int64_t traced = 0;  // the kernel that a profiler has been told of

  static void Schedule(void* self, void (*fn)(void*), void* arg) {
    static_cast<HostCall*>(self)->workers->Schedule([fn, arg] { fn(arg); });
  }

  static void* Allocate(void* self, int32_t index, int32_t dtype, int32_t rank,
                        const int64_t* dims) {
    auto* const call = static_cast<HostCall*>(self);
    OpKernelContext* const context = call->context;
    if (index < 0 || index >= context->num_outputs()) return nullptr;
    const DataType wanted = context->expected_output_dtype(index);
    if (dtype != StorageType(wanted)) return nullptr;
    TensorShape shape;
    if (!TensorShape::BuildTensorShape(absl::MakeConstSpan(dims, rank), &shape).ok()) {
      return nullptr;
    }
    Tensor& output = call->outputs[index];
    const bool is_pooled = call->runner.output_spaces_.empty() &&
                           AllocatePooled(context, index, wanted, shape, &output);
    if (!is_pooled &&
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
    // From one memory to the other it has to be copied.
    if (!call->runner.output_spaces_.empty() &&
        call->runner.output_spaces_[index] != call->inputs->args[arg].space) {
      return 1;
    }
    call->outputs[index] = *tensor;
    return 0;
  }

  static int32_t IsCancelled(void* self) {
    tensorflow::CancellationManager* const manager =
        static_cast<HostCall*>(self)->context->cancellation_manager();
    return manager != nullptr && manager->IsCancelled() ? 1 : 0;
  }

  static void Trace(void* self, const char* name) {
    auto* const call = static_cast<HostCall*>(self);
    if (name != nullptr) {
      call->traced = tsl::profiler::TraceMe::ActivityStart(name);
    } else {
      tsl::profiler::TraceMe::ActivityEnd(call->traced);
    }
  }

  static int32_t BeginUpdates(void* self, tektite_update* updates, int32_t num_updates) {
    auto* const call = static_cast<HostCall*>(self);
    return call->updates->Begin(absl::MakeSpan(updates, num_updates), call->IsWatched()) ? 0 : 1;
  }

  // Asked when compiled code runs the call: the guard counts those.
  bool IsWatched() {
    if (!is_watched) is_watched = is_guarded && runner.guard_.Watches();
    return *is_watched;
  }

  static int32_t RunHost(void* self, const tektite_status* why) {
    auto* const call = static_cast<HostCall*>(self);
    ClusterRunner& runner = call->runner;
    if (why->fallback == TEKTITE_FALLBACK_MEASURING_HOST &&
        !call->kernels->AreReady(runner.last_run_ns_.load(std::memory_order_relaxed))) {
      return TEKTITE_UNAVAILABLE;
    }
    call->Release();
    call->kernels->Run(OfCompiler(why->fallback), why->message);
    return call->context->status().ok() ? TEKTITE_OK : TEKTITE_INTERNAL;
  }

  void Release() {
    updates.reset();
    inputs.reset();
    outputs.clear();
  }
  bool is_released() const { return !inputs.has_value(); }

  // Of a watched call, before its updates are committed.  Adds up the bytes of the results.
  bool HasFiniteResults(int64_t* bytes) const {
    bool are_finite = true;
    const auto look = [&](const Tensor& tensor) {
      are_finite = are_finite && IsFinite(tensor);
      *bytes += static_cast<int64_t>(tensor.TotalBytes());
    };
    for (const Tensor& output : outputs) look(output);
    updates->ForEachFresh(look);
    return are_finite;
  }
};

ClusterRunner::ClusterRunner(const ClusterAttributes& attributes)
    : input_types_(attributes.input_types),
      output_types_(attributes.output_types),
      cluster_name_(attributes.cluster_name),
      on_card_(attributes.on_card),
      output_spaces_(attributes.output_spaces),
      constant_inputs_(attributes.constant_inputs),
      updated_inputs_(attributes.updated_inputs),
      guard_(attributes.holds_xla_calls && !attributes.on_card) {
  reader_ = std::make_unique<InputReader>(
      std::vector<DataType>(input_types_.begin(), input_types_.end()), attributes.variable_types,
      constant_inputs_, attributes.updated_inputs, attributes.input_spaces);
}

ClusterRunner::~ClusterRunner() {
  if (!body_.empty()) PreparedCluster::Leave(body_, std::move(prepared_));
}

void ClusterRunner::PrepareFirst(OpKernelContext* context, const std::string& body, Inputs inputs) {
  prepared_ = PreparedCluster::Obtain(cluster_name_, body, on_card_ ? context->device() : nullptr);
  // The compiler keeps results computed from held inputs, by versions that only we know.
  if (prepared_ != nullptr && !reader_->has_held_inputs() && PreparedCluster::CanLeave(body)) {
    body_ = body;
  }
  constants_.resize(inputs.size());
  for (const int index : constant_inputs_) constants_[index] = *inputs[index];
  is_prepared_.store(prepared_ != nullptr, std::memory_order_release);
}

void ClusterRunner::ExamineXla(OpKernelContext* context) {
  bool is_finite = true;
  for (int i = 0; i < context->num_outputs(); ++i) {
    const Tensor* const output = context->mutable_output(i);
    is_finite = is_finite && (output == nullptr || IsFinite(*output));
  }
  for (const int input : updated_inputs_) {
    tensorflow::core::RefCountPtr<tensorflow::Var> variable;
    if (!tensorflow::LookupResource(context, tensorflow::HandleFromInput(context, input), &variable)
             .ok()) {
      continue;
    }
    const tensorflow::tf_shared_lock lock(*variable->mu());
    is_finite = is_finite && (!variable->is_initialized || IsFinite(*variable->tensor()));
  }
  guard_.Examine(is_finite);
}

Reason ClusterRunner::Run(OpKernelContext* context, Inputs inputs,
                          absl::Span<tensorflow::Var* const> variables,
                          TensorFlowKernels* kernels) {
  if (prepared_ == nullptr) return Reason::HOST_NO_CLUSTER;
  HostCall host{*this, context, kernels};
  const Reason refusal = reader_->Read(context, inputs, variables, &*host.inputs);
  if (refusal != Reason::NONE) return refusal;
  // Which side wins is up to the clock, and the two may differ in the last bits.
  host.reproducible = prepared_->IsReproducible(kernels == nullptr);
  host.is_guarded = !host.reproducible && prepared_->guards_xla();
  if (host.is_guarded && guard_.LeavesToXla()) return Reason::HOST_UNLIKE_XLA;
  void* const stream = on_card_ ? StreamOf(context) : nullptr;
  if (on_card_ && stream == nullptr) return Reason::HOST_DEVICE;
  const auto* const pool = context->device()->tensorflow_cpu_worker_threads();
  host.workers = pool == nullptr ? nullptr : pool->workers;
  host.updates.emplace(context, &*host.inputs);
  host.outputs.resize(context->num_outputs(), Tensor(tensorflow::DT_INVALID));

  tektite_call call = {};
  call.struct_size = sizeof(call);
  call.args = host.inputs->args.data();
  call.num_args = static_cast<int32_t>(host.inputs->args.size());
  // TensorFlow counts the thread that calls among the pool's: one thread means no helper.
  call.num_threads = host.workers == nullptr ? 0 : pool->num_threads - 1;
  call.context = &host;
  call.schedule = &HostCall::Schedule;
  call.allocate = &HostCall::Allocate;
  call.forward = &HostCall::Forward;
  call.begin_updates = &HostCall::BeginUpdates;
  call.is_cancelled = &HostCall::IsCancelled;
  call.reproducible = host.reproducible ? 1 : 0;
  call.run_host = kernels == nullptr ? nullptr : &HostCall::RunHost;
  call.if_won = 1;
  if (has_binding_.load(std::memory_order_relaxed)) call.host_extra_ns = kDirectCallSparesNs;
  call.among_others = is_alone_ ? 0 : 1;
  call.result_spaces = output_spaces_.empty() ? nullptr : output_spaces_.data();
  call.stream = stream;
  if (tsl::profiler::TraceMe::Active()) call.trace = &HostCall::Trace;
  const tsl::profiler::TraceMe trace([&] { return TraceName(cluster_name_, *host.inputs); });
  tektite_status status;
  const bool is_timed = kernels != nullptr && !kernels->is_ready();
  const int64_t began = is_timed ? Nanoseconds() : 0;
  const int code = prepared_->library().cluster_run(prepared_->cluster(), &call, &status);
  if (host.is_released()) return Reason::NONE;  // by TensorFlow's kernels
  if (code != TEKTITE_OK) return OfCompiler(status.fallback);
  for (const Tensor& output : host.outputs) {
    if (output.dtype() == tensorflow::DT_INVALID) return Reason::HOST_NO_OUTPUT;
  }
  if (host.IsWatched()) {
    int64_t bytes = 0;
    if (!host.HasFiniteResults(&bytes)) {
      guard_.Suspect();
      return Reason::HOST_UNLIKE_XLA;
    }
    guard_.Watched(bytes);
  }
  if (is_timed) last_run_ns_.store(Nanoseconds() - began, std::memory_order_relaxed);
  host.updates->Commit();
  for (int i = 0; i < context->num_outputs(); ++i) {
    context->set_output(i, std::move(host.outputs[i]));
  }
  return Reason::NONE;
}

}  // namespace tektite::tf_hook
