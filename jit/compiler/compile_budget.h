// The budget for compiling one cluster, and the check by which long work asks whether to go on.
//
//   CompileBudget budget({60000, 2048});            // one per cluster
//   CompileBudget::Session session(&budget);        // one per compilation
//   for (...) { TEKTITE_RETURN_IF_ERROR(session.Check()); ... }
//
// Check fails with DeadlineExceeded when all sessions of the budget together have used more
// processor time, or the process's memory has grown by more during this one, than is allowed; and
// with Cancelled when the process ends (background.h).  Call it where no lock is held.
//
// Limits: a step between two checks is not interrupted.  Memory is the whole process's: what the
// host takes at the same time counts too, so the bound is for runaway growth.
#ifndef TEKTITE_JIT_COMPILER_COMPILE_BUDGET_H_
#define TEKTITE_JIT_COMPILER_COMPILE_BUDGET_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace tektite::compiler {

class CompileBudget {
 public:
  struct Limits {
    int64_t milliseconds = 0;  // 0: no limit
    int64_t megabytes = 0;     // 0: no limit
  };
  explicit CompileBudget(Limits limits) : limits_(limits) {}

  class Session {
   public:
    // A null budget has no limits.
    explicit Session(CompileBudget* budget);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    absl::Status Check() const;

   private:
    int64_t UsedMicroseconds() const;

    CompileBudget* const budget_;
    const int64_t began_;  // of the thread's processor time, microseconds
    const int64_t resident_;
    mutable int64_t memory_due_ = 0;  // of the used microseconds: the next look at the memory
  };

 private:
  const Limits limits_;
  std::atomic<int64_t> spent_{0};  // microseconds, of sessions that have ended
};

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_COMPILE_BUDGET_H_
