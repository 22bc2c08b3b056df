// The disk cache's answers as tables for people or as JSON, for `tektite cache`.
//
//   ListText(inspector.List(), /*json=*/false)    // a line for each entry
//
// Limits: text only; inspect.h finds the answers.
#ifndef TEKTITE_JIT_CACHE_INSPECT_TEXT_H_
#define TEKTITE_JIT_CACHE_INSPECT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "jit/cache/inspect.h"

namespace tektite::cache {

std::string ListText(const std::vector<ListedEntry>& entries, bool json);
// `code`: what the back end says of a kernel's code; may be empty.
std::string ShowText(const ListedEntry& entry, const std::string& code, bool json);
std::string WhyText(const LoggedRun& run, const std::vector<Explanation>& misses, bool json);
std::string VerifyText(const std::vector<ListedEntry>& bad, int64_t good, int64_t removed,
                       bool json);
std::string CollectText(const Evicted& evicted, bool json);
// *differences: the number of parts in which the two differ.
std::string DiffText(const ListedEntry& a, const ListedEntry& b, bool json, int64_t* differences);

// "2026-11-21 15:35:53" in local time.
std::string TimeText(int64_t microseconds);
// "17.3 KiB"
std::string SizeText(int64_t bytes);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_INSPECT_TEXT_H_
