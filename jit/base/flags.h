// Settings of one compiler, parsed from "--name=value --name=value" (TEKTITE_FLAGS).
// Example:
//   std::vector<std::string> errors;
//   Flags flags = Flags::Parse("--compile=async --verify", &errors);
//   if (flags.verify) flags.dump_to = "dumps";
//
// The table is flag_list.inc; a new flag is one row there.  An unknown or malformed flag is
// reported in one line that names it and is otherwise ignored, so that a typo never takes a service
// down.
#ifndef TEKTITE_JIT_BASE_FLAGS_H_
#define TEKTITE_JIT_BASE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tektite {

struct Flags {
  using string = std::string;
  using int64 = int64_t;
#define TEKTITE_FLAG(type, name, default_value, affects_code, help) type name = default_value;
#include "jit/base/flag_list.inc"
#undef TEKTITE_FLAG

  // Never fails: appends a line to `errors` for each mistake.
  static Flags Parse(absl::string_view text, std::vector<std::string>* errors);

  // The value of an int64 or bool flag (0 or 1); nothing when no such flag has that name.
  std::optional<int64_t> Number(absl::string_view name) const;

  // "name=value" of every flag with affects_code, for cache keys.
  std::string CodeKey() const;
};

// One row of the table, for help texts.
struct FlagInfo {
  const char* type;
  const char* name;
  const char* default_value;
  const char* help;
};
const std::vector<FlagInfo>& AllFlags();

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_FLAGS_H_
