#include "backends/cpu/codegen/code_pages.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tektite::cpu {

absl::StatusOr<CodePages> CodePages::Map(size_t size) {
  // Populated: page faults one by one would cost more than all else here.
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", size, " bytes of code: ", std::strerror(errno)));
  }
  return CodePages(static_cast<char*>(memory), size);
}

CodePages::CodePages(CodePages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

CodePages::~CodePages() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::Status CodePages::MakeExecutable() {
  if (mprotect(data_, size_, PROT_READ | PROT_EXEC) == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("memory cannot be made executable: ", std::strerror(errno)));
}

}  // namespace tektite::cpu
