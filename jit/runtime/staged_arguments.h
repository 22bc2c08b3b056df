// Arguments of the host's memory that kernels of another device read: each is given a place in the
// call's arena and copied there before the first launch, unless it is kept on the device from
// call to call (resident_arguments.h).  So are arguments of the device's memory that do not lie
// where kernels expect them, at multiples of kAlignment: a slice of a tensor may begin anywhere,
// and a card is lost after a vector was read across its bounds.
//
//   StagedArguments staged;
//   staged.Add(/*parameter=*/0, /*bytes=*/4096, &arena_bytes);   // grows the arena
//   staged.Keep(/*parameter=*/1, /*version=*/7, /*bytes=*/4096, resident) || ...
//   staged.SetBases(arena, bases);                               // kernels look there
//   staged.CopyIn(stream, arena, arguments);
//
// Empty for calls on the host's device.
#ifndef TEKTITE_JIT_RUNTIME_STAGED_ARGUMENTS_H_
#define TEKTITE_JIT_RUNTIME_STAGED_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "jit/backend/stream.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/weights/resident_arguments.h"

namespace tektite::runtime {

class StagedArguments {
 public:
  // Whether kernels cannot read it where it is.
  static bool MustStage(const Argument& argument);
  // Places `bytes` of argument `parameter` at the arena's end, and moves the end, in bytes.
  void Add(int parameter, int64_t bytes, int64_t* arena_bytes);
  // Whether the argument has a place among those that are kept, and so none in the arena.
  bool Keep(int parameter, uint64_t version, int64_t bytes, ResidentArguments& resident);
  bool Has(int parameter) const;
  // `bases` as SizedCalls's Slot numbers them; those of other arguments stay.
  void SetBases(std::byte* arena, uintptr_t* bases) const;
  // `arguments`: of the whole call, by parameter.
  void CopyIn(backend::Stream& stream, std::byte* arena,
              absl::Span<const Argument> arguments) const;
  // Whether CopyIn copies something that is to be kept.
  bool HasNew() const;
  // The blocks of those that are kept stay until the stream has run.
  void KeepFor(backend::Stream& stream) const;
  // The stream has been synchronized: later calls find what it copied to be kept.
  void Publish(ResidentArguments& resident) const;

 private:
  struct Kept {
    int parameter;
    uint64_t version;
    int64_t bytes;
    ResidentArguments::Use use;
  };
  struct Place {
    int parameter;
    int64_t offset;  // in the arena
    int64_t bytes;
  };
  std::vector<Place> places_;
  std::vector<Kept> kept_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_STAGED_ARGUMENTS_H_
