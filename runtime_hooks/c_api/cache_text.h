// The disk cache's answers as tables for people or as JSON, for the cache functions of tektite.h.
//
//   ListText(inspector.List(), /*json=*/false)    // a line for each entry
//
// Limits: text only; jit/cache/inspect.h finds the answers.
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_CACHE_TEXT_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_CACHE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "jit/cache/inspect.h"

namespace tektite::c_api {

std::string ListText(const std::vector<cache::ListedEntry>& entries, bool json);
// `code`: what the back end says of a kernel's code; may be empty.
std::string ShowText(const cache::ListedEntry& entry, const std::string& code, bool json);
std::string WhyText(const cache::LoggedRun& run, const std::vector<cache::Explanation>& misses,
                    bool json);
std::string VerifyText(const std::vector<cache::ListedEntry>& bad, int64_t good, int64_t removed,
                       bool json);
std::string CollectText(const cache::Evicted& evicted, bool json);
// *differences: the number of parts in which the two differ.
std::string DiffText(const cache::ListedEntry& a, const cache::ListedEntry& b, bool json,
                     int64_t* differences);

// "2026-11-21 15:35:53" in local time.
std::string TimeText(int64_t microseconds);
// "17.3 KiB"
std::string SizeText(int64_t bytes);

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_CACHE_TEXT_H_
