// The clusters' part of tektite.h.
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "jit/base/status.h"
#include "jit/compiler/background.h"
#include "runtime_hooks/c_api/cluster.h"
#include "runtime_hooks/c_api/deferred_compiles.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/tektite.h"

using tektite::c_api::CatchAll;
using tektite::c_api::Cluster;
using tektite::c_api::CopyString;
using tektite::c_api::GraphSource;
using tektite::c_api::Guarded;
using tektite::c_api::SetStatus;

namespace {

using MakeSource = absl::StatusOr<std::unique_ptr<GraphSource>> (*)(absl::string_view);

tektite_cluster* CreateCluster(tektite_compiler* compiler, const char* name, const void* data,
                               size_t size, const char* dump_file, MakeSource make,
                               tektite_status* status) {
  return Guarded<tektite_cluster*>(status, nullptr, [&]() -> absl::StatusOr<tektite_cluster*> {
    const absl::string_view bytes(static_cast<const char*>(data), size);
    TEKTITE_ASSIGN_OR_RETURN(auto source, make(bytes));
    auto cluster =
        Cluster::Create(compiler->state, name == nullptr ? "cluster" : name, std::move(source));
    cluster->Dump(dump_file, bytes);
    return new tektite_cluster{std::move(cluster)};
  });
}

// The size of the struct in the first header of this ABI version.
constexpr size_t kLeastCallBytes = offsetof(tektite_call, reproducible);

absl::Status Run(tektite_cluster* cluster, const tektite_call* call) {
  if (call->struct_size < kLeastCallBytes) {
    return tektite::InvalidArgument("tektite_call: struct_size is too small");
  }
  if (call->allocate == nullptr) return tektite::InvalidArgument("tektite_call: no allocate");
  if (call->num_args < 0 || (call->num_args > 0 && call->args == nullptr)) {
    return tektite::InvalidArgument("tektite_call: ", call->num_args, " arguments, and no args");
  }
  if (call->struct_size >= sizeof(tektite_call)) return cluster->cluster->Run(*call);
  tektite_call whole = {};
  std::memcpy(&whole, call, call->struct_size);
  return cluster->cluster->Run(whole);
}

}  // namespace

extern "C" {

tektite_cluster* tektite_cluster_create(tektite_compiler* compiler, const char* name,
                                        const void* graph_def, size_t size,
                                        tektite_status* status) {
  return CreateCluster(compiler, name, graph_def, size, "graph.pb", &tektite::c_api::GraphDefSource,
                       status);
}

tektite_cluster* tektite_cluster_create_from_ir(tektite_compiler* compiler, const char* name,
                                                const char* text, size_t size,
                                                tektite_status* status) {
  return CreateCluster(compiler, name, text, size, "graph.tir", &tektite::c_api::IrSource, status);
}

void tektite_cluster_destroy(tektite_cluster* cluster) { delete cluster; }

uint64_t tektite_cluster_generation(const tektite_cluster* cluster) {
  return cluster->cluster->generation();
}

char* tektite_cluster_recall(tektite_cluster* cluster, const char* topic) {
  return Guarded<char*>(nullptr, nullptr, [&]() -> absl::StatusOr<char*> {
    const std::optional<std::string> text = cluster->cluster->Recall(topic);
    return text ? CopyString(*text) : nullptr;
  });
}

void tektite_cluster_keep(tektite_cluster* cluster, const char* topic, const char* summary,
                          const char* text) {
  CatchAll([&] {
    cluster->cluster->Keep(topic, summary, text);
    return absl::OkStatus();
  }).IgnoreError();
}

int32_t tektite_run_in_background(void (*fn)(void*), void* arg) {
  return tektite::compiler::Background::Get().Submit([fn, arg] { fn(arg); }) ? 1 : 0;
}

void tektite_wait_until_compiled(void) {
  tektite::c_api::DeferredCompiles::Get().StartAll();
  tektite::compiler::Background::Get().WaitUntilIdle();
}

int32_t tektite_cluster_num_args(const tektite_cluster* cluster) {
  return cluster->cluster->source().num_args();
}

int32_t tektite_cluster_num_results(const tektite_cluster* cluster) {
  return cluster->cluster->source().num_results();
}

int32_t tektite_cluster_run(tektite_cluster* cluster, const tektite_call* call,
                            tektite_status* status) {
  const absl::Status outcome = CatchAll([&] { return Run(cluster, call); });
  SetStatus(outcome, status);
  return static_cast<int32_t>(outcome.code());
}

}  // extern "C"
