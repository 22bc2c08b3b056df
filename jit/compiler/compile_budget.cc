#include "jit/compiler/compile_budget.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/compiler/background.h"

namespace tektite::compiler {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

// The system takes 30 us to tell the memory, which some hundred checks of a compilation ask for.
constexpr int64_t kBetweenReadsUs = 2000;

// Bytes, or 0 when the system does not tell.
int64_t ResidentBytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128];
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  long long total = 0, resident = 0;
  if (std::sscanf(text, "%lld %lld", &total, &resident) != 2) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

CompileBudget::Session::Session(CompileBudget* budget)
    : budget_(budget),
      began_(ThreadNanoseconds() / 1000),
      resident_(budget != nullptr && budget->limits_.megabytes > 0 ? ResidentBytes() : 0) {}

CompileBudget::Session::~Session() {
  if (budget_ != nullptr) budget_->spent_ += UsedMicroseconds();
}

int64_t CompileBudget::Session::UsedMicroseconds() const {
  return ThreadNanoseconds() / 1000 - began_;
}

absl::Status CompileBudget::Session::Check() const {
  TEKTITE_RETURN_IF_ERROR(Background::Checkpoint());
  if (budget_ == nullptr) return absl::OkStatus();
  const Limits& limits = budget_->limits_;
  const int64_t used = UsedMicroseconds();
  if (limits.milliseconds > 0 && budget_->spent_.load() + used > limits.milliseconds * 1000) {
    return absl::DeadlineExceededError(
        absl::StrCat("compiling it took more than --compile_budget_ms=", limits.milliseconds));
  }
  if (limits.megabytes <= 0 || used < memory_due_) return absl::OkStatus();
  if (ResidentBytes() - resident_ > limits.megabytes * kMegabyte) {
    return absl::DeadlineExceededError(
        absl::StrCat("memory grew by more than ", limits.megabytes, " MiB in one compilation"));
  }
  memory_due_ = used + kBetweenReadsUs;
  return absl::OkStatus();
}

}  // namespace tektite::compiler
