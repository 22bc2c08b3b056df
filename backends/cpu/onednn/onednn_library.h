// oneDNN, the library, as a file that is opened when the first kernel could use it.
//
//   const OneDnn* dnn = OneDnn::Get();            // null: there is none; OneDnn::WhyNot() says why
//   const OneDnn::OneThread one(*dnn);            // for as long as its functions are called
//   dnn->dnnl_primitive_execute(...);
//
// Why not linked: TensorFlow exports 2873 symbols of a oneDNN of its own, of another version.  Ours
// is opened with RTLD_LOCAL, so that nothing else finds its symbols, and RTLD_DEEPBIND, so that it
// finds its own first.  Opening takes 6 ms, and a process that needs no kernel of it pays nothing.
//
// It is built for OpenMP, which must never start a thread in the host's process.  Inside OneThread
// the calling thread's parallel regions have one thread, itself; work is shared by the runtime.
//
// Limits: looked for beside this library, then where CMake found it; tried once per process.
#ifndef TEKTITE_BACKENDS_CPU_ONEDNN_ONEDNN_LIBRARY_H_
#define TEKTITE_BACKENDS_CPU_ONEDNN_ONEDNN_LIBRARY_H_

#include <string>

#include "dnnl.h"

namespace tektite::cpu {

#define TEKTITE_ONEDNN_FUNCTIONS(V)                 \
  V(dnnl_convolution_forward_primitive_desc_create) \
  V(dnnl_engine_create)                             \
  V(dnnl_memory_create)                             \
  V(dnnl_memory_desc_create_with_tag)               \
  V(dnnl_memory_desc_destroy)                       \
  V(dnnl_memory_desc_get_size)                      \
  V(dnnl_memory_desc_query)                         \
  V(dnnl_memory_destroy)                            \
  V(dnnl_primitive_attr_create)                     \
  V(dnnl_primitive_attr_destroy)                    \
  V(dnnl_primitive_attr_set_scratchpad_mode)        \
  V(dnnl_primitive_create)                          \
  V(dnnl_primitive_desc_destroy)                    \
  V(dnnl_primitive_desc_query)                      \
  V(dnnl_primitive_desc_query_md)                   \
  V(dnnl_primitive_destroy)                         \
  V(dnnl_primitive_execute)                         \
  V(dnnl_stream_create)                             \
  V(dnnl_stream_destroy)                            \
  V(dnnl_version)

struct OneDnn {
#define TEKTITE_ONEDNN_MEMBER(name) decltype(&::name) name = nullptr;
  TEKTITE_ONEDNN_FUNCTIONS(TEKTITE_ONEDNN_MEMBER)
#undef TEKTITE_ONEDNN_MEMBER
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
  dnnl_engine_t engine = nullptr;  // the CPU, for as long as the process lives

  static const OneDnn* Get();
  static const std::string& WhyNot();
  std::string Version() const;  // "3.2.0"

  // Runs with one OpenMP thread; the destructor restores the thread's own setting.
  class OneThread {
   public:
    explicit OneThread(const OneDnn& dnn) : dnn_(dnn), before_(dnn.omp_get_max_threads()) {
      dnn_.omp_set_num_threads(1);
    }
    ~OneThread() { dnn_.omp_set_num_threads(before_); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

   private:
    const OneDnn& dnn_;
    const int before_;
  };
};

// Where CMake found the library; empty in a wheel (packaging/no_build_paths.cc).
const char* OneDnnOfBuild();

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_ONEDNN_ONEDNN_LIBRARY_H_
