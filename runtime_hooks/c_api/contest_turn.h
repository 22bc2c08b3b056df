// Turns and shape classes of contests, between jit/serving/contest.h and tektite.h.
//
//   const CallClass of = ClassOf(args, which, num_which);
//   WriteTurn(contest.Begin(of.shape_class, of.work, 0), &turn);
//   contest.End(ReadTurn(turn));
//
// Limits: tektite_turn::state holds a copy of the turn's bytes, so a Turn must be trivially
// copyable.
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_CONTEST_TURN_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_CONTEST_TURN_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "jit/serving/contest.h"
#include "runtime_hooks/c_api/tektite.h"

namespace tektite::c_api {

static_assert(sizeof(serving::Contest::Turn) <= sizeof(tektite_turn::state));
static_assert(std::is_trivially_copyable_v<serving::Contest::Turn>);

// A turn of a contest as the host sees it, and back.
inline void WriteTurn(const serving::Contest::Turn& turn, tektite_turn* out) {
  out->is_host = turn.side == serving::Contest::Side::kHost ? 1 : 0;
  out->is_measured = turn.is_measured ? 1 : 0;
  out->is_demoted = turn.is_demoted ? 1 : 0;
  out->artifact = turn.artifact;
  std::memcpy(out->state, &turn, sizeof(turn));
}

inline serving::Contest::Turn ReadTurn(const tektite_turn& turn) {
  serving::Contest::Turn read;
  std::memcpy(&read, turn.state, sizeof(read));
  read.artifact = turn.artifact;
  return read;
}

// The class by which a contest tells calls apart.
struct CallClass {
  uint64_t shape_class = 0;
  double work = 0;  // elements
};

inline CallClass ClassOf(const tektite_tensor* args, const int32_t* which, int32_t num_which) {
  CallClass of;
  for (int32_t i = 0; i < num_which; ++i) {
    const tektite_tensor& arg = args[which[i]];
    double elements = 1;
    for (int32_t d = 0; d < arg.rank; ++d) {
      of.shape_class = serving::AddToShapeClass(of.shape_class, arg.dims[d]);
      elements *= static_cast<double>(arg.dims[d]);
    }
    of.work += elements;
  }
  return of;
}

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_CONTEST_TURN_H_
