// The same for the C++ library, for the libraries that share it with TensorFlow: what GCC 11 and 12
// moved or added (GLIBCXX_3.4.29 and 3.4.30), as the C++ library of TensorFlow's own floor has it.
#include <condition_variable>
#include <new>

namespace std {

void __throw_bad_array_new_length() { throw bad_array_new_length(); }

void condition_variable::wait(unique_lock<mutex>& lock) noexcept {
  pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}

}  // namespace std
