#include "runtime_hooks/standalone/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "runtime_hooks/standalone/command.h"

namespace tektite::standalone {
namespace {

[[noreturn]] void Fail(const char* what, const std::string& path) {
  throw Failure(std::string("cannot ") + what + " '" + path + "': " + std::strerror(errno));
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::string ReadFile(const std::string& path, size_t most) {
  namespace fs = std::filesystem;
  std::unique_ptr<std::FILE, Close> opened;
  std::FILE* file = stdin;
  if (path != "-") {
    // Before it is opened, which waits for a pipe's other end.
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
      throw Failure("cannot read '" + path + "': Not a regular file");
    }
    opened.reset(std::fopen(path.c_str(), "rb"));
    if (opened == nullptr) Fail("read", path);
    file = opened.get();
  }
  std::string bytes;
  char buffer[1 << 16];
  size_t count;
  errno = 0;
  while ((count = std::fread(buffer, 1, sizeof(buffer), file)) > 0) {
    if (count > most - bytes.size()) throw Failure("cannot read '" + path + "': Too large");
    bytes.append(buffer, count);
  }
  if (std::ferror(file) != 0) Fail("read", path);
  return bytes;
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::unique_ptr<std::FILE, Close> opened;
  std::FILE* file = stdout;
  if (path != "-") {
    opened.reset(std::fopen(path.c_str(), "wb"));
    if (opened == nullptr) Fail("write", path);
    file = opened.get();
  }
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fflush(file) != 0) {
    Fail("write", path);
  }
}

std::string ReadModel(const std::string& path) {
  std::error_code ignored;
  const bool is_directory = std::filesystem::is_directory(path, ignored);
  return ReadFile(is_directory ? path + "/saved_model.pb" : path);
}

bool HasSuffix(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

}  // namespace tektite::standalone
