// Inspection of a cache directory: its entries, whether they are whole, why a run missed.
//
//   TEKTITE_ASSIGN_OR_RETURN(Inspector inspector, Inspector::Open(path));
//   for (const ListedEntry& entry : inspector.List()) ...
//   for (const Explanation& e : inspector.Why(run)) ...       // "flags": other flags that ...
//
// Reads every entry whole and checks it: for tools, not for a request.  Other processes may use the
// directory meanwhile.
#ifndef TEKTITE_JIT_CACHE_INSPECT_H_
#define TEKTITE_JIT_CACHE_INSPECT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/cache/directory.h"
#include "jit/cache/entry.h"
#include "jit/cache/evict.h"
#include "jit/cache/run_log.h"

namespace tektite::cache {

struct ListedEntry {
  std::string key;  // hexadecimal, as the file is called
  int64_t bytes = 0;
  int64_t used_us = 0;
  bool good = false;  // the rest is known only then
  std::string fault;  // otherwise: "damaged", "foreign", "refused: why", "unreadable"
  EntryHeader header;
  std::string name;
  PartTexts parts;
  int64_t payload_bytes = 0;
  std::string decisions;  // of kind decision: what was found out, a line each
  std::string image;      // of a kernel, as the back end made it, or a tuning; by Find alone
};

// Why one entry was missed.
struct Explanation {
  Miss miss;
  std::vector<std::string> causes;  // names of parts, or "absent", "evicted", "damaged", ...
  std::string sentence;             // of the first cause
  std::string nearest;              // the entry that differs in the fewest parts; may be empty
};

class Inspector {
 public:
  // NotFound when there is no such directory.
  static absl::StatusOr<Inspector> Open(const std::string& path);

  const std::string& path() const { return directory_->path(); }
  // The last used first.
  std::vector<ListedEntry> List() const;
  // By the first digits of its key; NotFound, or InvalidArgument when they fit several.
  absl::StatusOr<ListedEntry> Find(absl::string_view prefix) const;
  std::vector<Explanation> Why(const LoggedRun& run) const;
  Evicted Collect(int64_t max_bytes) const;  // also sweeps
  bool Remove(const std::string& key) const;
  // All entries, all that processes wrote down which are gone, and the directory where nothing is
  // left in it.  Returns the number of entries.
  int64_t RemoveAll() const;
  struct Packed {
    int64_t entries = 0;  // that were copied
    int64_t held = 0;     // left out: another packed entry holds their contents
  };
  // Keys of what an entry's payload holds beside its own.
  using HeldKeys = std::function<std::vector<std::string>(const Entry&)>;
  // Copies entries to a directory that is then only read.
  absl::StatusOr<Packed> Pack(const std::vector<std::string>& keys, const std::string& destination,
                              const HeldKeys& held_keys) const;

 private:
  explicit Inspector(std::unique_ptr<Directory> directory) : directory_(std::move(directory)) {}
  ListedEntry Look(const Directory::File& file, bool keeps_image = false) const;

  std::unique_ptr<Directory> directory_;
};

// Parts in which two keys differ; what only repeats another part's difference is left out.
std::vector<size_t> DifferingParts(const PartPrints& a, const PartPrints& b);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_INSPECT_H_
