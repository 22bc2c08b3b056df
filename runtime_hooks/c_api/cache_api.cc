// The disk cache's part of tektite.h: its entries, whether they are whole, why a run missed, packs.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/base/flags.h"
#include "jit/base/json.h"
#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/cache/inspect.h"
#include "jit/cache/location.h"
#include "jit/cache/pack_signature.h"
#include "jit/compiler/program.h"
#include "jit/compiler/tuner.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "runtime_hooks/c_api/cache_text.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

using tektite::Flags;
using tektite::c_api::GuardedText;
using tektite::cache::Inspector;
using tektite::cache::ListedEntry;
using tektite::cache::LoggedRun;

Flags ParseFlags(const char* text) {
  std::vector<std::string> errors;
  Flags flags = Flags::Parse(text == nullptr ? "" : text, &errors);
  for (const std::string& error : errors) tektite::WarnOnce(error);
  return flags;
}

absl::StatusOr<Inspector> OpenCache(const char* flags) {
  return Inspector::Open(tektite::cache::CacheDirectory(ParseFlags(flags)));
}

absl::StatusOr<std::string> Verify(const char* flags, bool remove, bool json, int64_t* bad_count) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
  std::vector<ListedEntry> bad;
  int64_t good = 0, removed = 0;
  for (ListedEntry& entry : inspector.List()) {
    if (entry.good) {
      ++good;
      continue;
    }
    removed += remove && inspector.Remove(entry.key);
    bad.push_back(std::move(entry));
  }
  *bad_count = static_cast<int64_t>(bad.size());
  return tektite::c_api::VerifyText(bad, good, removed, json);
}

// What the back end that made a kernel says of its code, and what the tuner measured.
std::string CodeOf(const ListedEntry& entry) {
  if (entry.image.empty()) return "";
  if (entry.header.kind == tektite::cache::EntryKind::kTuning) {
    tektite::compiler::Tuner::Result result;
    if (!tektite::compiler::Tuner::Decode(entry.image, &result)) return "";
    std::string text = absl::StrCat(result.chosen, "; us:");
    for (const auto& [way, us] : result.microseconds) absl::StrAppend(&text, " ", way, " ", us);
    return text;
  }
  const std::string& cpu = entry.parts[static_cast<size_t>(tektite::cache::KeyPart::kCpu)];
  return tektite::c_api::DescribeImage(cpu.substr(0, cpu.find(':')), entry.image);
}

absl::StatusOr<LoggedRun> LastRun(const std::string& path) {
  std::vector<LoggedRun> runs = tektite::cache::ReadRuns(path, 1);
  if (runs.empty()) return absl::NotFoundError(absl::StrCat("no run is recorded in '", path, "'"));
  return std::move(runs.front());
}

absl::StatusOr<std::string> Why(const char* flags, bool json) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
  TEKTITE_ASSIGN_OR_RETURN(const LoggedRun run, LastRun(inspector.path()));
  return tektite::c_api::WhyText(run, inspector.Why(run), json);
}

absl::StatusOr<std::string> Diff(const char* flags, const char* a, const char* b, bool json,
                                 int64_t* differences) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
  TEKTITE_ASSIGN_OR_RETURN(const ListedEntry first, inspector.Find(a));
  TEKTITE_ASSIGN_OR_RETURN(const ListedEntry second, inspector.Find(b));
  for (const ListedEntry* entry : {&first, &second}) {
    if (!entry->good) {
      return tektite::InvalidArgument("entry ", entry->key, " is ", entry->fault);
    }
  }
  return tektite::c_api::DiffText(first, second, json, differences);
}

absl::StatusOr<std::string> Remove(const char* flags, const char* keys, bool json) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
  int64_t removed = 0;
  if (keys == nullptr) {
    removed = inspector.RemoveAll();
  } else {
    // All are looked up before any goes.
    std::vector<std::string> found;
    for (absl::string_view key : absl::StrSplit(keys, ',', absl::SkipEmpty())) {
      TEKTITE_ASSIGN_OR_RETURN(ListedEntry entry, inspector.Find(key));
      found.push_back(std::move(entry.key));
    }
    for (const std::string& key : found) removed += inspector.Remove(key);
  }
  if (json) return tektite::JsonObject().Add("removed", removed).Text();
  return absl::StrCat(removed, " entries removed\n");
}

// A program brings the code of its kernels along, so their own entries would repeat it.
std::vector<std::string> KernelsOf(const tektite::cache::Entry& entry) {
  std::vector<std::string> keys;
  tektite::compiler::Program program;
  if (entry.header.kind != tektite::cache::EntryKind::kPlan ||
      !tektite::compiler::ReadProgram(std::string(entry.payload), &program)) {
    return keys;
  }
  for (const tektite::compiler::ProgramKernel& kernel : program.kernels) {
    if (!kernel.image.empty()) keys.push_back(kernel.key.Hex());
  }
  return keys;
}

absl::StatusOr<std::string> Pack(const char* flags, const char* directory, bool all, bool json) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
  std::vector<std::string> keys;
  if (all) {
    for (const ListedEntry& entry : inspector.List()) keys.push_back(entry.key);
  } else {
    TEKTITE_ASSIGN_OR_RETURN(LoggedRun run, LastRun(inspector.path()));
    keys = std::move(run.used);
  }
  const std::string destination = absl::StrCat(directory, "/", tektite::cache::kPackFolder);
  TEKTITE_ASSIGN_OR_RETURN(const Inspector::Packed packed,
                           inspector.Pack(keys, destination, KernelsOf));
  const auto missing = static_cast<int64_t>(keys.size()) - packed.entries - packed.held;
  if (json) {
    return tektite::JsonObject()
        .Add("packed", packed.entries)
        .Add("held", packed.held)
        .Add("missing", missing)
        .Add("directory", absl::string_view(destination))
        .Text();
  }
  return absl::StrCat(packed.entries, " entries in ", destination,
                      packed.held == 0 ? "" : absl::StrCat(", which hold ", packed.held, " others"),
                      missing == 0 ? "" : absl::StrCat("; ", missing, " are not in the cache"),
                      "\n");
}

}  // namespace

extern "C" {

char* tektite_cache_list(const char* flags, int32_t format, tektite_status* status) {
  return GuardedText(status, [&]() -> absl::StatusOr<std::string> {
    TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
    return tektite::c_api::ListText(inspector.List(), format == TEKTITE_JSON);
  });
}

char* tektite_cache_show(const char* flags, const char* key, int32_t format,
                         tektite_status* status) {
  return GuardedText(status, [&]() -> absl::StatusOr<std::string> {
    TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
    TEKTITE_ASSIGN_OR_RETURN(const ListedEntry entry, inspector.Find(key));
    return tektite::c_api::ShowText(entry, CodeOf(entry), format == TEKTITE_JSON);
  });
}

char* tektite_cache_why(const char* flags, int32_t format, tektite_status* status) {
  return GuardedText(status, [&] { return Why(flags, format == TEKTITE_JSON); });
}

char* tektite_cache_verify(const char* flags, int32_t remove, int32_t format, int64_t* bad,
                           tektite_status* status) {
  return GuardedText(status,
                     [&] { return Verify(flags, remove != 0, format == TEKTITE_JSON, bad); });
}

char* tektite_cache_gc(const char* flags, int64_t max_bytes, int32_t format,
                       tektite_status* status) {
  return GuardedText(status, [&]() -> absl::StatusOr<std::string> {
    TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, OpenCache(flags));
    const int64_t bound = max_bytes >= 0 ? max_bytes : ParseFlags(flags).cache_mb << 20;
    return tektite::c_api::CollectText(inspector.Collect(bound), format == TEKTITE_JSON);
  });
}

char* tektite_cache_diff(const char* flags, const char* a, const char* b, int32_t format,
                         int64_t* differences, tektite_status* status) {
  return GuardedText(status,
                     [&] { return Diff(flags, a, b, format == TEKTITE_JSON, differences); });
}

char* tektite_cache_remove(const char* flags, const char* keys, int32_t format,
                           tektite_status* status) {
  return GuardedText(status, [&] { return Remove(flags, keys, format == TEKTITE_JSON); });
}

char* tektite_cache_pack(const char* flags, const char* directory, int32_t all, int32_t format,
                         tektite_status* status) {
  return GuardedText(status,
                     [&] { return Pack(flags, directory, all != 0, format == TEKTITE_JSON); });
}

char* tektite_cache_make_key(const char* path, tektite_status* status) {
  return GuardedText(status, [&]() -> absl::StatusOr<std::string> {
    TEKTITE_RETURN_IF_ERROR(tektite::cache::MakeSigningKey(path));
    return absl::StrCat(path, ": the secret key; ", path, ".pub: for --pack_key\n");
  });
}

char* tektite_cache_sign(const char* directory, const char* secret_key, tektite_status* status) {
  return GuardedText(status, [&]() -> absl::StatusOr<std::string> {
    using tektite::cache::Directory;
    TEKTITE_ASSIGN_OR_RETURN(
        const auto pack, Directory::Open(absl::StrCat(directory, "/", tektite::cache::kPackFolder),
                                         Directory::Use::kReadIfThere));
    TEKTITE_RETURN_IF_ERROR(tektite::cache::SignPack(*pack, secret_key));
    return absl::StrCat("signed with ", secret_key, "\n");
  });
}

}  // extern "C"
