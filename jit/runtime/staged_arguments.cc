#include "jit/runtime/staged_arguments.h"

#include <algorithm>

#include "jit/runtime/call_plan.h"

namespace tektite::runtime {

void StagedArguments::Add(int parameter, int64_t bytes, int64_t* arena_bytes) {
  places_.push_back({parameter, *arena_bytes, bytes});
  *arena_bytes += AlignUp(bytes);
}

bool StagedArguments::Has(int parameter) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const Place& place) { return place.parameter == parameter; });
}

void StagedArguments::SetBases(std::byte* arena, uintptr_t* bases) const {
  for (const Place& place : places_) {
    bases[Slot::kFirstParameter + place.parameter] = Address(arena + place.offset);
  }
}

void StagedArguments::CopyIn(backend::Stream& stream, std::byte* arena,
                             absl::Span<const Argument> arguments) const {
  for (const Place& place : places_) {
    stream.CopyFromHost(arena + place.offset, arguments[place.parameter].data, place.bytes);
  }
}

}  // namespace tektite::runtime
