#include "jit/cache/kernel_store.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/ir/symbols.h"

namespace tektite::cache {
namespace {

struct AttrText {
  std::string* out;
  void operator()(bool v) const { absl::StrAppend(out, v ? "true" : "false"); }
  void operator()(int64_t v) const { absl::StrAppend(out, v); }
  void operator()(double v) const { absl::StrAppend(out, absl::Hex(absl::bit_cast<uint64_t>(v))); }
  void operator()(const std::string& v) const { absl::StrAppend(out, v.size(), ":", v); }
  void operator()(const std::vector<int64_t>& v) const {
    absl::StrAppend(out, "[", absl::StrJoin(v, ","), "]");
  }
  void operator()(const ir::Dims& v) const {
    for (const ir::Dim& dim : v) absl::StrAppend(out, dim.ToString(), ",");
  }
  void operator()(ir::DType v) const { absl::StrAppend(out, ir::DTypeName(v)); }
  void operator()(const ir::Literal& v) const { absl::StrAppend(out, v.ToShortString()); }
};

bool IsSettled(const absl::StatusOr<KernelPtr>& kernel) {
  return kernel.ok() || kernel.status().code() == absl::StatusCode::kUnimplemented;
}

}  // namespace

Fingerprint KernelKey(const ir::Node& fusion, const backend::Backend& backend, const Flags& flags) {
  const backend::TargetInfo& target = backend.target();
  std::string text = absl::StrCat(backend.name(), ";", target.cpu, ";", target.features, ";",
                                  target.vector_bytes, ";", flags.CodeKey(), ";");
  for (const auto& [attr, value] : fusion.attrs().values()) {
    absl::StrAppend(&text, ir::AttrName(attr), "=");
    std::visit(AttrText{&text}, value);
    text += ';';
  }
  const std::unique_ptr<ir::Graph> renamed = ir::WithCanonicalSymbols(fusion.region());
  text += ir::PrintCanonical(renamed != nullptr ? *renamed : fusion.region());
  return FingerprintOf(text);
}

absl::StatusOr<KernelPtr> KernelStore::GetOrCompile(
    const Fingerprint& key, const std::function<absl::StatusOr<KernelPtr>()>& compile) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() >= kMostKernels) DropUnused();
    std::shared_ptr<Entry>& slot = entries_[key];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::lock_guard<std::mutex> lock(entry->mutex);
  if (IsSettled(entry->kernel)) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return entry->kernel;
  }
  entry->kernel = compile();
  if (entry->kernel.ok()) compiled_.fetch_add(1, std::memory_order_relaxed);
  return entry->kernel;
}

void KernelStore::DropUnused() {
  for (auto it = entries_.begin(); it != entries_.end();) {
    // Nobody else has the entry, so nobody holds its lock.
    const bool unused = it->second.use_count() == 1 &&
                        (!it->second->kernel.ok() || it->second->kernel->use_count() == 1);
    if (unused) {
      entries_.erase(it++);
    } else {
      ++it;
    }
  }
}

}  // namespace tektite::cache
