#include "jit/cache/location.h"

#include <sys/stat.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tektite::cache {

std::string CacheDirectory(const Flags& flags) {
  if (flags.cache_dir == kCacheOff || flags.cache_mb <= 0) return "";
  if (!flags.cache_dir.empty()) return flags.cache_dir;
  // Only absolute paths count, says the XDG specification.
  const char* const xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && *xdg == '/') return absl::StrCat(xdg, "/tektite");
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return absl::StrCat(home, "/.cache/tektite");
  return "";
}

std::vector<std::string> PackDirectories(const Flags& flags) {
  std::vector<std::string> packs;
  for (absl::string_view path : absl::StrSplit(flags.cache_pack, ':', absl::SkipEmpty())) {
    std::string inside = absl::StrCat(path, "/", kPackFolder);
    struct stat info;
    const bool is_model = lstat(inside.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    packs.push_back(is_model ? std::move(inside) : std::string(path));
  }
  return packs;
}

}  // namespace tektite::cache
