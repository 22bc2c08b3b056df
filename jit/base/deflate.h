// Text made smaller for files: its size, then zlib's format, or the text where that is no longer.
// Example(absl::string_view text, std::string* again):
//   const std::string packed = Deflate(text);
//   const bool is_ours = Inflate(packed, again);
//   if (!is_ours) again->clear();  // Deflate did not write it
//
// For texts that are written once and seldom read: a millisecond for 50 KB, a tenth of that back.
// No bytes make Inflate take more than some thousand times their own size, the most that zlib can
// mean.
#ifndef TEKTITE_JIT_BASE_DEFLATE_H_
#define TEKTITE_JIT_BASE_DEFLATE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tektite {

std::string Deflate(absl::string_view text);
bool Inflate(absl::string_view packed, std::string* text);

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_DEFLATE_H_
