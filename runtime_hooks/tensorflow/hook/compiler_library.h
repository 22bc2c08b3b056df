// The compiler, libtektite.so, opened when the first graph needs it and never before.
//
// Why: the library holds LLVM; a process that compiles nothing must not pay for mapping it.  It is
// found next to the hook, or where TEKTITE_LIBRARY points (for trying another build of the
// compiler).  One compiler serves the whole process, with the flags of TEKTITE_FLAGS; clusters on
// cards have others (card_compilers.h).
//
//   const CompilerLibrary* library = CompilerLibrary::Get();
//   if (library == nullptr) return absl::OkStatus();  // it has said why, once; TensorFlow goes on
//   alone library->mark(library->compiler, ...);
//
// Limits: never closed; a library of another ABI version counts as missing.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_COMPILER_LIBRARY_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_COMPILER_LIBRARY_H_

#include <string>

#include "runtime_hooks/c_api/tektite.h"

namespace tektite::tf_hook {

// The functions of the C interface that the hook calls.
// clang-format off
#define TEKTITE_LIBRARY_FUNCTIONS(F) \
  F(cluster_create) F(cluster_destroy) F(cluster_has_won) F(cluster_run) F(compiler_create) \
  F(fallback_code) F(flag) F(mark) F(marking_destroy) F(op_assigns) F(run_in_background) \
  F(stats_json) F(stop_background) F(string_free) F(wait_until_compiled)
// clang-format on

struct CompilerLibrary {
#define TEKTITE_POINTER(name) decltype(&tektite_##name) name = nullptr;
  TEKTITE_LIBRARY_FUNCTIONS(TEKTITE_POINTER)
#undef TEKTITE_POINTER
  tektite_compiler* compiler = nullptr;

  // Opens the library at the first call; null, after one line on stderr, when that cannot be done.
  static const CompilerLibrary* Get();
  // The result of Get(), without opening anything.
  static const CompilerLibrary* IfOpen();
  // "tensorflow 2.21.0", the one that runs, which need not be the one that the hook was built
  // against: an entry that is cached for one version is not used with another.
  static std::string HostName();
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_COMPILER_LIBRARY_H_
