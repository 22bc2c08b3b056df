#include "backends/gpu/codegen/assembler.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

struct Found {
  std::unique_ptr<Assembler> assembler;
  std::string why_not;
};

Found Find() {
  Found found;
  for (const auto open : {OpenPtxLibrary, FindPtxas}) {
    absl::StatusOr<std::unique_ptr<Assembler>> opened = open("");
    if (opened.ok()) return {*std::move(opened), ""};
    absl::StrAppend(&found.why_not, found.why_not.empty() ? "" : "; ", opened.status().message());
  }
  return found;
}

// The number that stands before `what` in the log, summed over all places; false: at none.
bool NumberBefore(absl::string_view log, absl::string_view what, int64_t* sum) {
  bool found = false;
  *sum = 0;
  for (size_t at = log.find(what); at != log.npos; at = log.find(what, at + what.size())) {
    absl::string_view before = absl::StripTrailingAsciiWhitespace(log.substr(0, at));
    size_t begin = before.size();
    while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(before[begin - 1]))) --begin;
    int64_t value = 0;
    if (!absl::SimpleAtoi(before.substr(begin), &value)) continue;
    *sum += value;
    found = true;
  }
  return found;
}

}  // namespace

const Assembler* Assembler::OfThisMachine(std::string* why_not) {
  static const Found* const found = new Found(Find());
  if (why_not != nullptr) *why_not = found->why_not;
  return found->assembler.get();
}

absl::StatusOr<Resources> ParseResources(absl::string_view log) {
  Resources r;
  int64_t registers = 0;
  if (!NumberBefore(log, "registers", &registers)) {
    return Internal("the assembler's log tells no registers: ", log.substr(0, 200));
  }
  r.registers = static_cast<int>(registers);
  // What a kernel does not use is not named.
  NumberBefore(log, "bytes smem", &r.shared_bytes);
  NumberBefore(log, "bytes cmem", &r.constant_bytes);
  NumberBefore(log, "bytes stack frame", &r.stack_bytes);
  NumberBefore(log, "bytes spill stores", &r.spill_store_bytes);
  NumberBefore(log, "bytes spill loads", &r.spill_load_bytes);
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    const bool warns =
        absl::StrContains(line, "Potential Performance Loss") || absl::StrContains(line, "warning");
    if (warns && r.warning.empty()) r.warning = std::string(absl::StripAsciiWhitespace(line));
  }
  return r;
}

absl::Status AssemblyError(absl::string_view log, absl::string_view architecture) {
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) return InvalidArgument("PTX for ", architecture, ": ", line);
  }
  return InvalidArgument("PTX for ", architecture, ": does not assemble; no reason is reported");
}

}  // namespace tektite::gpu
