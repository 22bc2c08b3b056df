// The clusters' part of tektite.h.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "clustering/graph_def/data_type.h"
#include "clustering/source/graph_def_source.h"
#include "jit/base/status.h"
#include "jit/compiler/background.h"
#include "jit/serving/cluster.h"
#include "jit/serving/fallback.h"
#include "runtime_hooks/c_api/arguments.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/handles.h"
#include "runtime_hooks/c_api/tektite.h"

using tektite::CatchAll;
using tektite::c_api::CopyString;
using tektite::c_api::Guarded;
using tektite::c_api::KnownFields;
using tektite::c_api::SetStatus;
using tektite::graph_def::DataType;
using tektite::runtime::MemorySpace;
using tektite::serving::Cluster;
using tektite::serving::Fallback;
using tektite::serving::GraphSource;

namespace {

#define TEKTITE_FALLBACK(code, status, sentence)                             \
  static_assert(static_cast<int>(Fallback::code) == TEKTITE_FALLBACK_##code, \
                "tektite_fallback has the codes of fallback_list.inc, in its order");
#include "jit/serving/fallback_list.inc"
#undef TEKTITE_FALLBACK

using MakeSource = absl::StatusOr<std::unique_ptr<GraphSource>> (*)(absl::string_view);

tektite_cluster* CreateCluster(tektite_compiler* compiler, const char* name, const void* data,
                               size_t size, const char* dump_file, MakeSource make,
                               tektite_status* status) {
  return Guarded<tektite_cluster*>(status, nullptr, [&]() -> absl::StatusOr<tektite_cluster*> {
    const absl::string_view bytes = tektite::c_api::View(data, size);
    TEKTITE_ASSIGN_OR_RETURN(auto source, make(bytes));
    auto cluster = Cluster::Create(compiler->state, tektite::c_api::TextOf(name, "cluster"),
                                   std::move(source));
    cluster->Dump(dump_file, bytes);
    return new tektite_cluster{std::move(cluster)};
  });
}

std::optional<MemorySpace> SpaceOf(int32_t space) {
  if (space == TEKTITE_HOST) return MemorySpace::kHost;
  if (space == TEKTITE_DEVICE) return MemorySpace::kDevice;
  return std::nullopt;
}

// A complex tensor is a real one inside, whose last dimension are its two parts.
std::optional<DataType> PartTypeOf(int32_t dtype) {
  return tektite::graph_def::PartType(static_cast<DataType>(dtype));
}

// The host's callbacks, as the runtime wants them.
class AbiHost : public tektite::runtime::CallHost {
 public:
  AbiHost(const tektite_call& call, const GraphSource& source) : call_(call), source_(source) {}

  bool HasDevice() override {
    return call_.stream != nullptr || call_.result_spaces != nullptr ||
           call_.result_space != TEKTITE_HOST;
  }
  MemorySpace ResultSpace(int result) override {
    const bool has_own = call_.result_spaces != nullptr && result < source_.num_results();
    const int32_t space = has_own ? call_.result_spaces[result] : call_.result_space;
    return space == TEKTITE_HOST ? MemorySpace::kHost : MemorySpace::kDevice;
  }
  void* DeviceStream() override { return call_.stream; }
  bool TracesSteps() override { return call_.trace != nullptr; }
  void TraceStep(const char* name) override { call_.trace(call_.context, name); }

  tektite::runtime::HostPool Pool() override {
    tektite::runtime::HostPool pool{call_.num_threads, call_.context, call_.schedule};
    pool.is_shared = call_.among_others != 0;
    return pool;
  }
  void* Allocate(int result, const tektite::runtime::TensorType& type) override {
    auto dtype = static_cast<int32_t>(tektite::graph_def::DataTypeOf(type.dtype));
    auto rank = static_cast<int32_t>(type.dims.size());
    if (source_.IsComplexResult(result)) {
      dtype = type.dtype == tektite::ir::DType::kF64 ? kComplex128 : kComplex64;
      --rank;
    }
    return call_.allocate(call_.context, result, dtype, rank, type.dims.data());
  }
  bool Forward(int result, int argument) override {
    const bool is_complex = PartTypeOf(call_.args[argument].dtype).has_value();
    if (call_.forward == nullptr || is_complex != source_.IsComplexResult(result)) return false;
    return call_.forward(call_.context, result, argument) == 0;
  }
  bool IsCancelled() override {
    return call_.is_cancelled != nullptr && call_.is_cancelled(call_.context) != 0;
  }
  bool BeginUpdates(absl::Span<Update> updates) override {
    if (call_.begin_updates == nullptr) return false;
    absl::InlinedVector<tektite_update, 16> asked;
    for (const Update& update : updates) {
      asked.push_back({update.argument, update.in_place ? 1 : 0, nullptr});
    }
    if (call_.begin_updates(call_.context, asked.data(), static_cast<int32_t>(asked.size())) != 0) {
      return false;
    }
    for (size_t i = 0; i < updates.size(); ++i) updates[i].memory = asked[i].memory;
    return true;
  }

 private:
  static constexpr auto kComplex64 = static_cast<int32_t>(DataType::kComplex64);
  static constexpr auto kComplex128 = static_cast<int32_t>(DataType::kComplex128);

  const tektite_call& call_;
  const GraphSource& source_;
};

class AbiKernels : public tektite::serving::HostKernels {
 public:
  explicit AbiKernels(const tektite_call& call) : call_(call) {}

  absl::Status Run(Fallback why, const absl::Status& refusal) override {
    tektite_status status;
    SetStatus(refusal, &status);
    status.fallback = static_cast<int32_t>(why);
    const int32_t code = call_.run_host(call_.context, &status);
    if (code == TEKTITE_OK) return absl::OkStatus();
    return absl::Status(static_cast<absl::StatusCode>(code), "the host's kernels failed");
  }

 private:
  const tektite_call& call_;
};

// The size of the struct in the first header of this ABI version.
constexpr size_t kLeastCallBytes = offsetof(tektite_call, reproducible);

absl::Status CheckCall(const tektite_call& call) {
  if (call.allocate == nullptr) return tektite::InvalidArgument("tektite_call: no allocate");
  if (call.num_args < 0 || (call.num_args > 0 && call.args == nullptr)) {
    return tektite::InvalidArgument("tektite_call: ", call.num_args, " arguments, and no args");
  }
  if (!SpaceOf(call.result_space)) {
    return tektite::InvalidArgument("tektite_call: no result_space ", call.result_space);
  }
  return absl::OkStatus();
}

using Args = absl::InlinedVector<tektite::serving::Tensor, 16>;

absl::Status ReadArgs(const tektite_call& call, int num_results, Args* args,
                      std::vector<std::vector<int64_t>>* complex_dims) {
  const int num_spaces = call.result_spaces == nullptr ? 0 : num_results;
  for (int i = 0; i < num_spaces; ++i) {
    if (SpaceOf(call.result_spaces[i])) continue;
    return tektite::InvalidArgument("result ", i, ": no space ", call.result_spaces[i]);
  }
  args->resize(call.num_args);
  for (int i = 0; i < call.num_args; ++i) {
    const tektite_tensor& tensor = call.args[i];
    const std::optional<DataType> part = PartTypeOf(tensor.dtype);
    const std::optional<tektite::ir::DType> dtype =
        tektite::graph_def::DTypeOf(part.value_or(static_cast<DataType>(tensor.dtype)));
    if (!dtype) return tektite::Unimplemented("argument ", i, ": element type ", tensor.dtype);
    if (tensor.rank < 0) {
      return tektite::InvalidArgument("argument ", i, ": bad rank ", tensor.rank);
    }
    const std::optional<MemorySpace> space = SpaceOf(tensor.space);
    if (!space) return tektite::InvalidArgument("argument ", i, ": no space ", tensor.space);
    (*args)[i] = {tensor.data, absl::MakeConstSpan(tensor.dims, tensor.rank), *dtype,
                  tensor.version, *space};
    if (!part) continue;
    std::vector<int64_t>& dims =
        complex_dims->emplace_back((*args)[i].dims.begin(), (*args)[i].dims.end());
    dims.push_back(2);
    (*args)[i].dims = dims;
  }
  return absl::OkStatus();
}

absl::Status Run(Cluster& cluster, const tektite_call& call, Fallback* why) {
  AbiHost host(call, cluster.source());
  AbiKernels kernels(call);
  tektite::serving::Call translated;
  translated.host = &host;
  translated.host_kernels = call.run_host == nullptr ? nullptr : &kernels;
  translated.if_won = call.if_won != 0;
  translated.host_extra_ns = call.host_extra_ns;
  translated.reproducible = call.reproducible != 0;
  Args args;
  std::vector<std::vector<int64_t>> complex_dims;
  absl::Status read = ReadArgs(call, cluster.source().num_results(), &args, &complex_dims);
  if (!read.ok()) return cluster.Refuse(std::move(read), translated, why);
  translated.args = args;
  return cluster.Run(translated, why);
}

absl::Status Run(tektite_cluster* cluster, const tektite_call* call, Fallback* why) {
  if (call->struct_size < kLeastCallBytes) {
    return tektite::InvalidArgument("tektite_call: struct_size is too small");
  }
  tektite_call whole = {};
  if (call->struct_size < sizeof(tektite_call)) {
    whole = KnownFields(*call);
    call = &whole;
  }
  TEKTITE_RETURN_IF_ERROR(CheckCall(*call));
  return Run(*cluster->cluster, *call, why);
}

}  // namespace

extern "C" {

tektite_cluster* tektite_cluster_create(tektite_compiler* compiler, const char* name,
                                        const void* graph_def, size_t size,
                                        tektite_status* status) {
  return CreateCluster(compiler, name, graph_def, size, "graph.pb",
                       &tektite::clustering::GraphDefSource, status);
}

tektite_cluster* tektite_cluster_create_from_ir(tektite_compiler* compiler, const char* name,
                                                const char* text, size_t size,
                                                tektite_status* status) {
  return CreateCluster(compiler, name, text, size, "graph.tir", &tektite::serving::IrSource,
                       status);
}

void tektite_cluster_destroy(tektite_cluster* cluster) { delete cluster; }

int32_t tektite_run_in_background(void (*fn)(void*), void* arg) {
  return Guarded<int32_t>(nullptr, 0, [&]() -> absl::StatusOr<int32_t> {
    return tektite::compiler::Background::Get().Submit([fn, arg] { fn(arg); }) ? 1 : 0;
  });
}

void tektite_wait_until_compiled(void) {
  CatchAll([] {
    Cluster::StartAllThatWait();
    tektite::compiler::Background::Get().WaitUntilIdle();
    return absl::OkStatus();
  }).IgnoreError();
}

void tektite_stop_background(void) { tektite::compiler::Background::Get().Stop(); }

int32_t tektite_cluster_num_args(const tektite_cluster* cluster) {
  return cluster->cluster->source().num_args();
}

int32_t tektite_cluster_num_results(const tektite_cluster* cluster) {
  return cluster->cluster->source().num_results();
}

int32_t tektite_cluster_run(tektite_cluster* cluster, const tektite_call* call,
                            tektite_status* status) {
  Fallback why = Fallback::NONE;
  const absl::Status outcome = CatchAll([&] { return Run(cluster, call, &why); });
  SetStatus(outcome, status);
  if (status != nullptr) status->fallback = static_cast<int32_t>(why);
  return static_cast<int32_t>(outcome.code());
}

int32_t tektite_cluster_has_won(tektite_cluster* cluster) {
  int standing = 0;
  CatchAll([&] {
    standing = cluster->cluster->Standing();
    return absl::OkStatus();
  }).IgnoreError();
  return standing;
}

const char* tektite_fallback_code(int32_t fallback) {
  return tektite::serving::FallbackCode(static_cast<Fallback>(fallback));
}

}  // extern "C"
