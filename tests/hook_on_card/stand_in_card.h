// A card of the stand-in driver (tests/gpu/fake_driver), as TensorFlow's device uses it: one
// stream, memory, and work that is told to the stream.
//
//   StandInCard& card = StandInCard::Get(/*number=*/0);
//   void* x = card.Allocate(bytes);
//   card.Tell([=] { std::memset(card.Reach(x, bytes), 0, bytes); });   // runs later, in order
//   card.Synchronize();
#ifndef TEKTITE_TESTS_HOOK_ON_CARD_STAND_IN_CARD_H_
#define TEKTITE_TESTS_HOOK_ON_CARD_STAND_IN_CARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "backends/gpu/driver/driver_types.h"

namespace tektite::testing {

class StandInCard {
 public:
  static int Count();
  static StandInCard& Get(int number);

  int number() const { return number_; }
  gpu::CuStream stream() const { return stream_; }
  void* Allocate(size_t bytes);
  // Whatever the stream still does with it comes first.
  void Free(void* memory);
  // Where the host reaches memory of any card.
  static void* Reach(const void* memory, size_t bytes);
  void Tell(std::function<void()> work);
  void Synchronize();
  // How often the host has waited for a stream, by whoever's call.
  static int64_t Waits();

 private:
  explicit StandInCard(int number);
  const int number_;
  gpu::CuContext context_ = nullptr;
  gpu::CuStream stream_ = nullptr;
  gpu::CuMemoryPool pool_ = nullptr;
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_HOOK_ON_CARD_STAND_IN_CARD_H_
