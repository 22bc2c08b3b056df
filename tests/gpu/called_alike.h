// Whether a function of a library is called as it is declared by hand, for tests that are built
// where a machine has the library's header.
//
//   static_assert(IsCalledAlike<CuResult (*)(int*), decltype(&cuDeviceGetCount)>::value);
#ifndef TEKTITE_TESTS_GPU_CALLED_ALIKE_H_
#define TEKTITE_TESTS_GPU_CALLED_ALIKE_H_

#include <type_traits>

namespace tektite::gpu {

// Of the same size and kind, so that a call passes it in the same way.
template <typename Ours, typename Theirs>
constexpr bool kIsPassedAlike = sizeof(Ours) == sizeof(Theirs) &&
                                (std::is_pointer_v<Ours> ==
                                 std::is_pointer_v<Theirs>)&&(std::is_floating_point_v<Ours> ==
                                                              std::is_floating_point_v<Theirs>);

template <typename Ours, typename Theirs>
struct IsCalledAlike : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct IsCalledAlike<R (*)(A...), S (*)(B...)> {
  static constexpr bool Value() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return kIsPassedAlike<R, S> && (kIsPassedAlike<A, B> && ...);
  }
  static constexpr bool value = Value();
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_CALLED_ALIKE_H_
