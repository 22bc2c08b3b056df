// Arguments of the C interface as C++ has them.
//
//   const tektite_options given = KnownFields(*options);   // options->struct_size bytes of it
//   const Flags flags = ParseFlags(given.flags);           // which may be null
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_ARGUMENTS_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_ARGUMENTS_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clustering/compilability.h"
#include "jit/base/flags.h"
#include "jit/base/log.h"

namespace tektite::c_api {

// What an older header does not know is 0, and what only a newer one knows is left out.
template <typename Struct>
Struct KnownFields(const Struct& given) {
  Struct known = {};
  std::memcpy(&known, &given, std::min(given.struct_size, sizeof(known)));
  return known;
}

inline const char* TextOf(const char* text, const char* otherwise = "") {
  return text == nullptr ? otherwise : text;
}

inline absl::string_view View(const void* data, size_t size) {
  return absl::string_view(static_cast<const char*>(data), size);
}

// Says once what is wrong with them.
inline Flags ParseFlags(const char* text) {
  std::vector<std::string> errors;
  Flags flags = Flags::Parse(TextOf(text), &errors);
  for (const std::string& error : errors) WarnOnce(error);
  return flags;
}

// What flags say about marking any graph, the host's graphs and those that are explained.
inline clustering::MarkOptions MarkOptionsOf(const Flags& flags) {
  clustering::MarkOptions options;
  options.min_cluster_ops = flags.min_cluster_cost == 0 ? 1 : 2;
  options.min_cluster_cost = flags.min_cluster_cost;
  options.keep_loops = flags.keep_loops;
  options.take_over_xla = flags.take_over_xla;
  return options;
}

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_ARGUMENTS_H_
