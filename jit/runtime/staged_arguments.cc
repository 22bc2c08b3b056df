#include "jit/runtime/staged_arguments.h"

#include <algorithm>

#include "jit/runtime/sized_calls.h"
#include "jit/runtime/weights/weights.h"

namespace tektite::runtime {

bool StagedArguments::MustStage(const Argument& argument) {
  return argument.space == MemorySpace::kHost || Address(argument.data) % kAlignment != 0;
}

void StagedArguments::Add(int parameter, int64_t bytes, int64_t* arena_bytes) {
  places_.push_back({parameter, *arena_bytes, bytes});
  *arena_bytes += AlignUp(bytes);
}

bool StagedArguments::Keep(int parameter, uint64_t version, int64_t bytes,
                           ResidentArguments& resident) {
  if (version == 0) return false;
  ResidentArguments::Use use = resident.For(parameter, version, bytes);
  if (use.block == nullptr) return false;
  kept_.push_back({parameter, version, bytes, std::move(use)});
  return true;
}

bool StagedArguments::Has(int parameter) const {
  const auto is_it = [&](const auto& place) { return place.parameter == parameter; };
  return std::any_of(places_.begin(), places_.end(), is_it) ||
         std::any_of(kept_.begin(), kept_.end(), is_it);
}

void StagedArguments::SetBases(std::byte* arena, uintptr_t* bases) const {
  for (const Place& place : places_) {
    bases[Slot::kFirstParameter + place.parameter] = Address(arena + place.offset);
  }
  for (const Kept& kept : kept_) {
    bases[Slot::kFirstParameter + kept.parameter] = Address(kept.use.block->data());
  }
}

void StagedArguments::CopyIn(backend::Stream& stream, std::byte* arena,
                             absl::Span<const Argument> arguments) const {
  for (const Place& place : places_) {
    const Argument& argument = arguments[place.parameter];
    if (argument.space == MemorySpace::kHost) {
      stream.CopyFromHost(arena + place.offset, argument.data, place.bytes);
    } else {
      stream.CopyWithin(arena + place.offset, argument.data, place.bytes);
    }
  }
  for (const Kept& kept : kept_) {
    if (!kept.use.must_copy) continue;
    stream.CopyFromHost(kept.use.block->data(), arguments[kept.parameter].data, kept.bytes);
  }
}

bool StagedArguments::HasNew() const {
  return std::any_of(kept_.begin(), kept_.end(),
                     [](const Kept& kept) { return kept.use.must_copy; });
}

void StagedArguments::KeepFor(backend::Stream& stream) const {
  for (const Kept& kept : kept_) stream.Keep(kept.use.block);
}

void StagedArguments::Publish(ResidentArguments& resident) const {
  for (const Kept& kept : kept_) {
    if (kept.use.must_copy) resident.Publish(kept.parameter, kept.version, kept.use.block);
  }
}

}  // namespace tektite::runtime
