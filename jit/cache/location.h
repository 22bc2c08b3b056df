// Where the disk cache lies, from the flags --cache_dir and --cache_pack and the environment.
//
//   std::string path = CacheDirectory(flags);    // "~/.cache/tektite" spelled out, or "": none
//
// Without --cache_dir it is tektite/ under XDG_CACHE_HOME, or else under ~/.cache; a process that
// has neither gets no cache, and never one in a directory that all users share.
#ifndef TEKTITE_JIT_CACHE_LOCATION_H_
#define TEKTITE_JIT_CACHE_LOCATION_H_

#include <string>
#include <vector>

#include "jit/base/flags.h"

namespace tektite::cache {

inline constexpr char kCacheOff[] = "off";
// Beside a SavedModel, where `tektite cache pack` puts what belongs to it.
inline constexpr char kPackFolder[] = "tektite_pack";
// Inside a cache directory: what each process missed, and its counters.
inline constexpr char kRunFolder[] = "run";
inline constexpr char kEntrySuffix[] = ".entry";
inline constexpr char kStatsSuffix[] = ".stats";
inline constexpr char kLogSuffix[] = ".log";
inline constexpr char kEvictedFile[] = "evicted";

std::string CacheDirectory(const Flags& flags);
// The directories of --cache_pack; for a model's folder, the pack inside it.
std::vector<std::string> PackDirectories(const Flags& flags);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_LOCATION_H_
