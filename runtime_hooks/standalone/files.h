// Whole files in and out; "-" is standard input or output.
#ifndef TEKTITE_RUNTIME_HOOKS_STANDALONE_FILES_H_
#define TEKTITE_RUNTIME_HOOKS_STANDALONE_FILES_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tektite::standalone {

// No GraphDef is larger, as bytes of a protocol buffer.
inline constexpr size_t kMostOfModel = size_t{2} << 30;

// Throws Failure "cannot read 'x': No such file or directory".  A path must be a regular file, and
// it and standard input end within `most` bytes: a device or a pipe may never end.
std::string ReadFile(const std::string& path, size_t most = kMostOfModel);
void WriteFile(const std::string& path, std::string_view bytes);

// The bytes of a model: the file itself, or saved_model.pb of a SavedModel directory.
std::string ReadModel(const std::string& path);

bool HasSuffix(std::string_view text, std::string_view suffix);

}  // namespace tektite::standalone

#endif  // TEKTITE_RUNTIME_HOOKS_STANDALONE_FILES_H_
