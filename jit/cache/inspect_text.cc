#include "jit/cache/inspect_text.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "jit/base/json.h"

namespace tektite::cache {
namespace {

// Digits of a key in tables: enough for any cache, and for show, diff and rm.
constexpr size_t kKeyDigits = 12;

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the last is not padded.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&text, row[i]);
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

std::string Short(const std::string& key) { return key.substr(0, kKeyDigits); }

JsonObject EntryJson(const ListedEntry& entry) {
  JsonObject json;
  json.Add("key", entry.key).Add("bytes", entry.bytes).Add("used_us", entry.used_us);
  if (!entry.good) return json.Add("fault", entry.fault);
  return json.Add("kind", EntryKindName(entry.header.kind))
      .Add("name", entry.name)
      .Add("created_us", entry.header.created_us)
      .Add("code_bytes", entry.payload_bytes);
}

std::string LinesOnlyIn(absl::string_view sign, const std::string& text, const std::string& other) {
  const std::vector<absl::string_view> others = absl::StrSplit(other, '\n');
  const absl::flat_hash_set<absl::string_view> known(others.begin(), others.end());
  std::string out;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (!known.contains(line)) absl::StrAppend(&out, "  ", sign, " ", line, "\n");
  }
  return out;
}

}  // namespace

std::string TimeText(int64_t microseconds) {
  const std::time_t seconds = microseconds / 1000000;
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string SizeText(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  if (bytes < 1024 * 1024) return absl::StrFormat("%.1f KiB", static_cast<double>(bytes) / 1024);
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string ListText(const std::vector<ListedEntry>& entries, bool json) {
  if (json) return JsonArray(entries, [](const ListedEntry& e) { return EntryJson(e).Text(); });
  std::vector<Row> rows = {{"KEY", "KIND", "SIZE", "LAST USED", "NAME"}};
  int64_t bytes = 0;
  for (const ListedEntry& entry : entries) {
    bytes += entry.bytes;
    rows.push_back({Short(entry.key),
                    entry.good ? std::string(EntryKindName(entry.header.kind)) : entry.fault,
                    SizeText(entry.bytes), TimeText(entry.used_us), entry.name});
  }
  return absl::StrCat(Table(rows), entries.size(), " entries, ", SizeText(bytes), "\n");
}

std::string ShowText(const ListedEntry& entry, const std::string& code, bool json) {
  if (json) {
    JsonObject object = EntryJson(entry), parts;
    for (size_t i = 0; i < kNumKeyParts; ++i) {
      if (!entry.parts[i].empty()) {
        parts.Add(KeyPartName(i), absl::string_view(entry.parts[i]));
      }
    }
    if (!entry.decisions.empty()) object.Add("decisions", entry.decisions);
    if (!code.empty()) object.Add("code", code);
    return object.Add("parts", parts).Text();
  }
  std::vector<Row> rows = {{"key", entry.key}};
  if (!entry.good) {
    rows.push_back({"fault", entry.fault});
    return Table(rows);
  }
  rows.push_back({"kind", std::string(EntryKindName(entry.header.kind))});
  rows.push_back({"name", entry.name});
  rows.push_back({"written", TimeText(entry.header.created_us)});
  rows.push_back({"last used", TimeText(entry.used_us)});
  rows.push_back({"size", absl::StrCat(SizeText(entry.bytes), ", of it ",
                                       SizeText(entry.payload_bytes), " code")});
  if (!code.empty()) rows.push_back({"code", code});
  for (size_t i = 0; i < kNumKeyParts; ++i) {
    if (i == static_cast<size_t>(KeyPart::kIr) || entry.parts[i].empty()) continue;
    rows.push_back({std::string(KeyPartName(i)), entry.parts[i]});
  }
  return absl::StrCat(Table(rows), entry.parts[static_cast<size_t>(KeyPart::kIr)], entry.decisions);
}

std::string WhyText(const LoggedRun& run, const std::vector<Explanation>& misses, bool json) {
  if (json) {
    return JsonObject()
        .Add("start_us", run.start_us)
        .Add("pid", run.pid)
        .Add("served", run.hits)
        .AddArray("missed", JsonArray(misses,
                                      [](const Explanation& e) {
                                        return JsonObject()
                                            .Add("key", e.miss.key)
                                            .Add("kind", EntryKindName(e.miss.kind))
                                            .Add("name", e.miss.name)
                                            .AddArray("causes", JsonArray(e.causes, JsonString))
                                            .Add("sentence", e.sentence)
                                            .Add("nearest", e.nearest)
                                            .Text();
                                      }))
        .Text();
  }
  std::string text = absl::StrCat("process ", run.pid, ", begun ", TimeText(run.start_us), ": ",
                                  run.hits, " entries served, ", misses.size(), " missed\n");
  if (misses.empty()) return text;
  // By cause: what changes for one kernel mostly changes for all.
  std::map<std::string, std::vector<const Explanation*>> by_cause;
  for (const Explanation& e : misses) by_cause[absl::StrJoin(e.causes, ", ")].push_back(&e);
  for (const auto& [cause, all] : by_cause) {
    absl::StrAppend(&text, "\n", cause, ": ", all.size(), " missed; ", all.front()->sentence, "\n");
    std::vector<Row> rows;
    constexpr size_t kShown = 10;
    for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
      const Explanation& e = *all[i];
      rows.push_back({"  " + Short(e.miss.key),
                      e.nearest.empty() ? "" : absl::StrCat("nearest ", Short(e.nearest)),
                      e.miss.name});
    }
    absl::StrAppend(&text, Table(rows));
    if (all.size() > kShown) absl::StrAppend(&text, "  and ", all.size() - kShown, " more\n");
  }
  return text;
}

std::string VerifyText(const std::vector<ListedEntry>& bad, int64_t good, int64_t removed,
                       bool json) {
  if (json) {
    return JsonObject()
        .Add("good", good)
        .Add("removed", removed)
        .AddArray("bad", JsonArray(bad, [](const ListedEntry& e) { return EntryJson(e).Text(); }))
        .Text();
  }
  std::vector<Row> rows;
  for (const ListedEntry& entry : bad) rows.push_back({entry.key, entry.fault});
  return absl::StrCat(Table(rows), good, " entries are whole, ", bad.size(), " are damaged, ",
                      removed, " removed\n");
}

std::string CollectText(const Evicted& evicted, bool json) {
  if (json) {
    return JsonObject()
        .Add("removed", evicted.entries)
        .Add("removed_bytes", evicted.bytes)
        .Add("left", evicted.left)
        .Add("left_bytes", evicted.bytes_left)
        .Text();
  }
  return absl::StrCat(evicted.entries, " entries removed (", SizeText(evicted.bytes), "), ",
                      evicted.left, " left (", SizeText(evicted.bytes_left), ")\n");
}

std::string DiffText(const ListedEntry& a, const ListedEntry& b, bool json, int64_t* differences) {
  const std::vector<size_t> parts = DifferingParts(a.header.prints, b.header.prints);
  *differences = static_cast<int64_t>(parts.size());
  if (json) {
    return JsonObject()
        .Add("a", a.key)
        .Add("b", b.key)
        .AddArray("differing",
                  JsonArray(parts, [](size_t p) { return JsonString(KeyPartName(p)); }))
        .Text();
  }
  if (parts.empty()) return "the keys are equal in every part\n";
  std::string text;
  for (size_t part : parts) {
    absl::StrAppend(&text, KeyPartName(part), ":\n");
    // ops and types are read off the code's text.
    const bool is_view = a.parts[part].empty() && b.parts[part].empty();
    const size_t shown = is_view ? static_cast<size_t>(KeyPart::kIr) : part;
    absl::StrAppend(&text, LinesOnlyIn("-", a.parts[shown], b.parts[shown]),
                    LinesOnlyIn("+", b.parts[shown], a.parts[shown]));
  }
  return text;
}

}  // namespace tektite::cache
