// A vendor's shared library, whose functions are found by name as the process runs.
//
//   LibraryFile file(path);
//   file.Find("cudnnCreate", &create);
//   TEKTITE_RETURN_IF_ERROR(file.Finish("cuDNN"));   // no file, or a function that it lacks
//   return KeepUntilExit(std::move(dnn));            // kernels of cards call it
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_FILE_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_FILE_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tektite::gpu {

class LibraryFile {
 public:
  explicit LibraryFile(const std::string& path);
  // Closes the file, unless Finish() has found all.
  ~LibraryFile();
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;

  // Null where there is no such function.
  template <typename Function>
  void Find(const char* symbol, Function** function) {
    *function = reinterpret_cast<Function*>(Address(symbol));
  }
  // Unavailable where there is no file, which is "no <library>", or where it lacks a function.
  absl::Status Finish(absl::string_view library);

 private:
  void* Address(const char* symbol);

  const std::string path_;
  void* handle_;
  std::string error_;
  const char* missing_ = nullptr;
};

// The object, which stays until the process ends.
template <typename Library>
const Library* KeepUntilExit(std::unique_ptr<const Library> library) {
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::unique_ptr<const Library>>;
  std::lock_guard<std::mutex> lock(mutex);
  return kept.emplace_back(std::move(library)).get();
}

// Library::Open of the first path where it succeeds; null: there is none.
template <typename Library>
const Library* OpenFirst(absl::Span<const std::string> paths) {
  for (const std::string& path : paths) {
    const auto opened = Library::Open(path);
    if (opened.ok()) return *opened;
  }
  return nullptr;
}

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_FILE_H_
