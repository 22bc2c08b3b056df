// Pages for machine code: writable first and executable afterwards, never both.
//
//   TEKTITE_ASSIGN_OR_RETURN(CodePages pages, CodePages::Map(size));
//   ... write to pages.data() ...
//   TEKTITE_RETURN_IF_ERROR(pages.MakeExecutable());
//
// The destructor returns the pages to the system.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_CODE_PAGES_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_CODE_PAGES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tektite::cpu {

class CodePages {
 public:
  // `size` bytes, more than none, at the beginning of a page.  They are zero.
  static absl::StatusOr<CodePages> Map(size_t size);
  CodePages(CodePages&& other) noexcept;
  CodePages& operator=(CodePages&&) = delete;
  ~CodePages();

  char* data() const { return data_; }
  size_t size() const { return size_; }
  // From now on the code can run, and nothing can write to it.
  absl::Status MakeExecutable();

 private:
  CodePages(char* data, size_t size) : data_(data), size_(size) {}

  char* data_;
  size_t size_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_CODE_PAGES_H_
