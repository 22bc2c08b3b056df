// Helpers of the cache's tests: an empty folder that goes with the test, and keys without graphs.
#ifndef TEKTITE_TESTS_CACHE_TESTING_H_
#define TEKTITE_TESTS_CACHE_TESTING_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "jit/cache/key.h"

namespace tektite::cache {

class TestFolder {
 public:
  TestFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tektite_cache_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TestFolder() {
    std::error_code error;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
    std::filesystem::remove_all(path_, error);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline CacheKey TestKey(const std::string& name, EntryKind kind = EntryKind::kKernel) {
  CacheKey key;
  key.kind = kind;
  key.name = name;
  for (size_t i = 0; i < kNumKeyParts; ++i)
    key.parts[i] = std::string(KeyPartName(i)) + " of " + name;
  key.fingerprint = FingerprintOf(name);
  return key;
}

inline int64_t CountFiles(const std::string& path, const std::string& part) {
  int64_t count = 0;
  for (const auto& item : std::filesystem::directory_iterator(path)) {
    count += item.path().filename().string().find(part) != std::string::npos;
  }
  return count;
}

}  // namespace tektite::cache

#endif  // TEKTITE_TESTS_CACHE_TESTING_H_
