#include "runtime_hooks/tensorflow/hook/run/cluster_runner.h"

#include <algorithm>
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
#include "tensorflow/core/util/util.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DataType;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// The data that the compiler's callbacks need during one call.
struct HostCall {
  OpKernelContext* context;
  const InputReader::Call* inputs;
  const std::vector<int32_t>& output_spaces;
  tensorflow::thread::ThreadPool* workers;
  VariableUpdates updates;
  bool is_watched;  // xla_guard.h
  // Not set on the context before the compiler says that the run is good: an output cannot be set
  // twice, and the fallback would.
  absl::InlinedVector<Tensor, 4> outputs;
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
    if (dtype != wanted) return nullptr;
    TensorShape shape;
    if (!TensorShape::BuildTensorShape(absl::MakeConstSpan(dims, rank), &shape).ok()) {
      return nullptr;
    }
    Tensor& output = call->outputs[index];
    const bool is_pooled =
        call->output_spaces.empty() && AllocatePooled(context, index, wanted, shape, &output);
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
    if (!call->output_spaces.empty() &&
        call->output_spaces[index] != call->inputs->args[arg].space) {
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
    return call->updates.Begin(absl::MakeSpan(updates, num_updates), call->is_watched) ? 0 : 1;
  }
};

// Of a watched call, before its updates are committed.  Adds up the bytes of the results.
bool HasFiniteResults(const HostCall& call, int64_t* bytes) {
  bool are_finite = true;
  const auto look = [&](const Tensor& tensor) {
    are_finite = are_finite && IsFinite(tensor);
    *bytes += static_cast<int64_t>(tensor.TotalBytes());
  };
  for (const Tensor& output : call.outputs) look(output);
  call.updates.ForEachFresh(look);
  return are_finite;
}

// Arguments that determine the shape class of a call; variables keep their shapes.
constexpr size_t kMostShapeInputs = 16;

// The least that a direct call saves, of some 100 us (direct_calls.h): the contest cannot see it,
// and times of the smallest clusters differ by less.
constexpr double kDirectCallSparesNs = 40e3;

// What a profiler of TensorFlow's shows of a call: "model/train_step", with its arguments' shapes.
std::string TraceName(const std::string& cluster, const InputReader::Call& call) {
  std::string shapes;
  for (const tektite_tensor& arg : call.args) {
    absl::StrAppend(&shapes, shapes.empty() ? "" : ";", "[",
                    absl::StrJoin(absl::MakeConstSpan(arg.dims, arg.rank), ","), "]");
  }
  return tsl::profiler::TraceMeEncode(cluster, {{"shapes", shapes}});
}

// Whether calls after this one are likely to end in the same way, and all their work is lost.
bool IsFailure(tektite_fallback why) {
  switch (why) {
    case TEKTITE_FALLBACK_CHECK_FAILED:
    case TEKTITE_FALLBACK_DEVICE_LOST:
    case TEKTITE_FALLBACK_INTERNAL_ERROR:
    case TEKTITE_FALLBACK_NO_CODE:
    case TEKTITE_FALLBACK_NO_MEMORY:
    case TEKTITE_FALLBACK_OVER_BUDGET:
      return true;
    default:
      return false;
  }
}

// The conditions that a verdict depends on beside the cluster, its shapes, the build and the
// machine.
std::string ContestTopic(OpKernelContext* context, bool on_card) {
  if (on_card) return "against TensorFlow on the card";
  const auto* const pool = context->device()->tensorflow_cpu_worker_threads();
  return absl::StrCat("against TensorFlow", tensorflow::IsMKLEnabled() ? " with oneDNN, " : ", ",
                      pool == nullptr ? 1 : pool->num_threads, " threads");
}

}  // namespace

ClusterRunner::ClusterRunner(const ClusterAttributes& attributes)
    : input_types_(attributes.input_types),
      output_types_(attributes.output_types),
      cluster_name_(attributes.cluster_name),
      on_card_(attributes.on_card),
      output_spaces_(attributes.output_spaces),
      constant_inputs_(attributes.constant_inputs),
      updated_inputs_(attributes.updated_inputs),
      guard_(attributes.holds_xla_calls && !attributes.on_card) {
  const int num_inputs = static_cast<int>(input_types_.size());
  for (int i = 0; i < num_inputs && shape_inputs_.size() < kMostShapeInputs; ++i) {
    if (input_types_[i] != tensorflow::DT_RESOURCE &&
        std::find(constant_inputs_.begin(), constant_inputs_.end(), i) == constant_inputs_.end()) {
      shape_inputs_.push_back(i);
    }
  }
  reader_ = std::make_unique<InputReader>(
      std::vector<DataType>(input_types_.begin(), input_types_.end()), attributes.variable_types,
      constant_inputs_, attributes.updated_inputs, attributes.input_spaces);
}

ClusterRunner::~ClusterRunner() {
  if (!body_.empty()) PreparedCluster::Leave(body_, std::move(prepared_));
}

void ClusterRunner::PrepareFirst(OpKernelContext* context, const std::string& body, Inputs inputs) {
  prepared_ = PreparedCluster::Obtain(cluster_name_, body, ContestTopic(context, on_card_),
                                      on_card_ ? context->device() : nullptr);
  // The compiler keeps results computed from held inputs, by versions that only we know.
  if (prepared_ != nullptr && !reader_->has_held_inputs() && PreparedCluster::CanLeave(body)) {
    body_ = body;
  }
  constants_.resize(inputs.size());
  for (const int index : constant_inputs_) constants_[index] = *inputs[index];
  is_prepared_.store(prepared_ != nullptr, std::memory_order_release);
}

bool ClusterRunner::BeginTurn(OpKernelContext* context, const InputReader::Call& call,
                              bool has_fallback, tektite_turn* turn) {
  const CompilerLibrary& library = prepared_->library();
  const auto num_shape_inputs = static_cast<int32_t>(shape_inputs_.size());
  if (!has_fallback) {
    return library.contest_begin_if_won(prepared_->contest(), call.args.data(),
                                        shape_inputs_.data(), num_shape_inputs, turn) != 0;
  }
  const bool has_binding = has_binding_.load(std::memory_order_relaxed);
  if (library.contest_begin(prepared_->contest(), call.args.data(), shape_inputs_.data(),
                            num_shape_inputs, has_binding ? kDirectCallSparesNs : 0,
                            turn) != TEKTITE_OK) {
    return false;
  }
  if (on_card_ && turn->is_measured != 0) {
    WaitForStream(context);
    library.contest_restart(prepared_->contest(), turn);
  }
  return true;
}

void ClusterRunner::EndTurn(OpKernelContext* context, const tektite_turn& turn) {
  if (on_card_ && turn.is_measured != 0) WaitForStream(context);
  prepared_->EndTurn(turn);
}

void ClusterRunner::JudgeXla(OpKernelContext* context) {
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
  guard_.Judge(is_finite);
}

tektite_fallback ClusterRunner::Run(OpKernelContext* context, Inputs inputs,
                                    absl::Span<tensorflow::Var* const> variables,
                                    Fallback* fallback, tektite_turn* turn, std::string* message) {
  if (prepared_ == nullptr) return TEKTITE_FALLBACK_HOST_NO_CLUSTER;
  if (giving_way_.Skips()) return TEKTITE_FALLBACK_HOST_GAVE_WAY;
  InputReader::Call read;
  const tektite_fallback refusal = reader_->Read(context, inputs, variables, &read);
  if (refusal != TEKTITE_FALLBACK_NONE) return refusal;
  // Which side wins is up to the clock, and the two may differ in the last bits.
  const bool reproducible = prepared_->IsReproducible(fallback == nullptr);
  const bool is_guarded = !reproducible && prepared_->guards_xla();
  if (is_guarded && guard_.LeavesToXla()) return TEKTITE_FALLBACK_HOST_UNLIKE_XLA;
  tektite_contest* const contest = reproducible ? nullptr : prepared_->contest();
  if (contest != nullptr) {
    if (!BeginTurn(context, read, fallback != nullptr, turn)) return TEKTITE_FALLBACK_CONTEST_OPEN;
    // No request waits for kernels that only a comparison needs.
    if (turn->is_host != 0 && turn->is_measured != 0 &&
        !fallback->PrepareInBackground(context, kept_fallback(),
                                       last_run_ns_.load(std::memory_order_relaxed))) {
      prepared_->library().contest_postpone(turn);
    }
    if (turn->is_host != 0) {
      return turn->is_demoted != 0 ? TEKTITE_FALLBACK_SLOWER_THAN_HOST
                                   : TEKTITE_FALLBACK_MEASURING_HOST;
    }
  }
  const auto* const pool = context->device()->tensorflow_cpu_worker_threads();
  HostCall host{context,
                &read,
                output_spaces_,
                pool == nullptr ? nullptr : pool->workers,
                {context, &read},
                is_guarded && guard_.Watches(),
                {}};
  host.outputs.resize(context->num_outputs(), Tensor(tensorflow::DT_INVALID));

  void* const stream = on_card_ ? StreamOf(context) : nullptr;
  if (on_card_ && stream == nullptr) return TEKTITE_FALLBACK_HOST_DEVICE;
  tektite_call call = {};
  call.struct_size = sizeof(call);
  call.args = read.args.data();
  call.num_args = static_cast<int32_t>(read.args.size());
  // TensorFlow counts the thread that calls among the pool's: one thread means no helper.
  call.num_threads = host.workers == nullptr ? 0 : pool->num_threads - 1;
  call.context = &host;
  call.schedule = &HostCall::Schedule;
  call.allocate = &HostCall::Allocate;
  call.forward = &HostCall::Forward;
  call.begin_updates = &HostCall::BeginUpdates;
  call.is_cancelled = &HostCall::IsCancelled;
  call.artifact = &turn->artifact;
  call.reproducible = reproducible ? 1 : 0;
  const int64_t host_ns = prepared_->host_ns();
  call.host_ns = &host_ns;
  call.among_others = is_alone_ ? 0 : 1;
  call.result_spaces = output_spaces_.empty() ? nullptr : output_spaces_.data();
  call.stream = stream;
  if (tsl::profiler::TraceMe::Active()) call.trace = &HostCall::Trace;
  const tsl::profiler::TraceMe trace([&] { return TraceName(cluster_name_, read); });
  tektite_status status;
  const bool is_timed = contest != nullptr && fallback != nullptr && !fallback->is_prepared();
  const int64_t began = is_timed ? Nanoseconds() : 0;
  const int code = prepared_->library().cluster_run(prepared_->cluster(), &call, &status);
  if (code != TEKTITE_OK) {
    const auto why = static_cast<tektite_fallback>(prepared_->library().fallback_of(code));
    // A direct call that failed is made again in the ordinary way.  Calls to be reproducible do not
    // depend on those before them.
    if (IsFailure(why) && fallback != nullptr && !reproducible) giving_way_.Failed();
    if (why == TEKTITE_FALLBACK_NO_CODE && message != nullptr) *message = status.message;
    return why;
  }
  giving_way_.Succeeded();
  for (const Tensor& output : host.outputs) {
    if (output.dtype() == tensorflow::DT_INVALID) return TEKTITE_FALLBACK_HOST_NO_OUTPUT;
  }
  if (host.is_watched) {
    int64_t bytes = 0;
    if (!HasFiniteResults(host, &bytes)) {
      guard_.Suspect();
      return TEKTITE_FALLBACK_HOST_UNLIKE_XLA;
    }
    guard_.Watched(bytes);
  }
  if (is_timed) last_run_ns_.store(Nanoseconds() - began, std::memory_order_relaxed);
  host.updates.Commit();
  for (int i = 0; i < context->num_outputs(); ++i) {
    context->set_output(i, std::move(host.outputs[i]));
  }
  if (contest != nullptr) {
    EndTurn(context, *turn);
  } else if (!has_run_.load(std::memory_order_relaxed)) {
    has_run_.store(true, std::memory_order_relaxed);
  }
  return TEKTITE_FALLBACK_NONE;
}

}  // namespace tektite::tf_hook
