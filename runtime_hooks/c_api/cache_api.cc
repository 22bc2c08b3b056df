// The disk cache's part of tektite.h: its entries, whether they are whole, why a run missed, packs.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/base/flags.h"
#include "jit/base/json.h"
#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/cache/inspect.h"
#include "jit/cache/inspect_text.h"
#include "jit/cache/location.h"
#include "jit/cache/pack_signature.h"
#include "jit/compiler/module.h"
#include "jit/compiler/tuner.h"
#include "runtime_hooks/c_api/arguments.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

using tektite::c_api::GuardedText;
using tektite::c_api::ParseFlags;
using tektite::cache::Inspector;
using tektite::cache::ListedEntry;
using tektite::cache::LoggedRun;

struct Question {
  const char* flags;
  std::vector<std::string> words;  // without the first
  bool json = false;
  int64_t count = 0;

  std::string Word(size_t i) const { return i < words.size() ? words[i] : ""; }
  absl::StatusOr<Inspector> Open() const {
    return Inspector::Open(tektite::cache::CacheDirectory(ParseFlags(flags)));
  }
};

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

// A module brings the code of its kernels along, so their own entries would repeat it.
std::vector<std::string> KernelsOf(const tektite::cache::Entry& entry) {
  std::vector<std::string> keys;
  tektite::compiler::Module module;
  if (entry.header.kind != tektite::cache::EntryKind::kModule ||
      !tektite::compiler::ReadModule(std::string(entry.payload), &module)) {
    return keys;
  }
  for (const tektite::compiler::ModuleKernel& kernel : module.kernels) {
    if (!kernel.image.empty()) keys.push_back(kernel.key.Hex());
  }
  return keys;
}

absl::StatusOr<std::string> List(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  return tektite::cache::ListText(inspector.List(), question.json);
}

absl::StatusOr<std::string> Show(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  TEKTITE_ASSIGN_OR_RETURN(const ListedEntry entry, inspector.Find(question.Word(0)));
  return tektite::cache::ShowText(entry, CodeOf(entry), question.json);
}

absl::StatusOr<std::string> Why(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  TEKTITE_ASSIGN_OR_RETURN(const LoggedRun run, LastRun(inspector.path()));
  return tektite::cache::WhyText(run, inspector.Why(run), question.json);
}

absl::StatusOr<std::string> Verify(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  std::vector<ListedEntry> bad;
  int64_t good = 0, removed = 0;
  for (ListedEntry& entry : inspector.List()) {
    if (entry.good) {
      ++good;
      continue;
    }
    removed += !question.words.empty() && inspector.Remove(entry.key);
    bad.push_back(std::move(entry));
  }
  question.count = static_cast<int64_t>(bad.size());
  return tektite::cache::VerifyText(bad, good, removed, question.json);
}

absl::StatusOr<std::string> Collect(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  int64_t bound = ParseFlags(question.flags).cache_mb << 20;
  if (!question.words.empty() && !absl::SimpleAtoi(question.Word(0), &bound)) {
    return tektite::InvalidArgument("no number of bytes: ", question.Word(0));
  }
  return tektite::cache::CollectText(inspector.Collect(bound), question.json);
}

absl::StatusOr<std::string> Diff(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  TEKTITE_ASSIGN_OR_RETURN(const ListedEntry first, inspector.Find(question.Word(0)));
  TEKTITE_ASSIGN_OR_RETURN(const ListedEntry second, inspector.Find(question.Word(1)));
  for (const ListedEntry* entry : {&first, &second}) {
    if (!entry->good) {
      return tektite::InvalidArgument("entry ", entry->key, " is ", entry->fault);
    }
  }
  return tektite::cache::DiffText(first, second, question.json, &question.count);
}

absl::StatusOr<std::string> Remove(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  int64_t removed = question.words.empty() ? inspector.RemoveAll() : 0;
  // All are looked up before any goes.
  std::vector<std::string> found;
  for (const std::string& key : question.words) {
    TEKTITE_ASSIGN_OR_RETURN(ListedEntry entry, inspector.Find(key));
    found.push_back(std::move(entry.key));
  }
  for (const std::string& key : found) removed += inspector.Remove(key);
  if (question.json) return tektite::JsonObject().Add("removed", removed).Text();
  return absl::StrCat(removed, " entries removed\n");
}

absl::StatusOr<std::string> Pack(Question& question) {
  TEKTITE_ASSIGN_OR_RETURN(const Inspector inspector, question.Open());
  std::vector<std::string> keys;
  if (question.words.size() > 1) {
    for (const ListedEntry& entry : inspector.List()) keys.push_back(entry.key);
  } else {
    TEKTITE_ASSIGN_OR_RETURN(LoggedRun run, LastRun(inspector.path()));
    keys = std::move(run.used);
  }
  const std::string destination = absl::StrCat(question.Word(0), "/", tektite::cache::kPackFolder);
  TEKTITE_ASSIGN_OR_RETURN(const Inspector::Packed packed,
                           inspector.Pack(keys, destination, KernelsOf));
  const auto missing = static_cast<int64_t>(keys.size()) - packed.entries - packed.held;
  if (question.json) {
    return tektite::JsonObject()
        .Add("packed", packed.entries)
        .Add("held", packed.held)
        .Add("missing", missing)
        .Add("directory", destination)
        .Text();
  }
  return absl::StrCat(packed.entries, " entries in ", destination,
                      packed.held == 0 ? "" : absl::StrCat(", which hold ", packed.held, " others"),
                      missing == 0 ? "" : absl::StrCat("; ", missing, " are not in the cache"),
                      "\n");
}

absl::StatusOr<std::string> Sign(Question& question) {
  using tektite::cache::Directory;
  TEKTITE_ASSIGN_OR_RETURN(
      const auto pack,
      Directory::Open(absl::StrCat(question.Word(0), "/", tektite::cache::kPackFolder),
                      Directory::Use::kReadIfThere));
  TEKTITE_RETURN_IF_ERROR(tektite::cache::SignPack(*pack, question.Word(1)));
  return absl::StrCat("signed with ", question.Word(1), "\n");
}

absl::StatusOr<std::string> MakeKey(Question& question) {
  const std::string path = question.Word(0);
  TEKTITE_RETURN_IF_ERROR(tektite::cache::MakeSigningKey(path));
  return absl::StrCat(path, ": the secret key; ", path, ".pub: for --pack_key\n");
}

struct Command {
  absl::string_view name;
  size_t least_words;  // after it
  absl::StatusOr<std::string> (*answer)(Question&);
};
constexpr Command kCommands[] = {
    {"diff", 2, &Diff},     {"gc", 0, &Collect}, {"key", 1, &MakeKey}, {"ls", 0, &List},
    {"pack", 1, &Pack},     {"rm", 0, &Remove},  {"show", 1, &Show},   {"sign", 2, &Sign},
    {"verify", 0, &Verify}, {"why", 0, &Why},
};

}  // namespace

extern "C" char* tektite_cache(const char* flags, const char* const* words, int32_t num_words,
                               int32_t format, int64_t* count, tektite_status* status) {
  return GuardedText(status, [&]() -> absl::StatusOr<std::string> {
    const absl::string_view name = num_words > 0 ? words[0] : "";
    for (const Command& command : kCommands) {
      if (command.name != name) continue;
      Question question{flags, {words + 1, words + num_words}, format == TEKTITE_JSON};
      if (question.words.size() < command.least_words) break;
      const absl::StatusOr<std::string> answer = command.answer(question);
      if (count != nullptr) *count = question.count;
      return answer;
    }
    return tektite::InvalidArgument("no question about the cache: '", name, "' and ",
                                    std::max(num_words - 1, 0), " words");
  });
}
