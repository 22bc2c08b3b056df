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

struct CompilerLibrary {
  decltype(&tektite_abi_version) abi_version = nullptr;
  decltype(&tektite_string_free) string_free = nullptr;
  decltype(&tektite_compiler_create) compiler_create = nullptr;
  decltype(&tektite_flag) flag = nullptr;
  decltype(&tektite_stats_json) stats_json = nullptr;
  decltype(&tektite_mark) mark = nullptr;
  decltype(&tektite_marking_num_clusters) marking_num_clusters = nullptr;
  decltype(&tektite_marking_cluster_name) marking_cluster_name = nullptr;
  decltype(&tektite_marking_num_nodes) marking_num_nodes = nullptr;
  decltype(&tektite_marking_node) marking_node = nullptr;
  decltype(&tektite_marking_destroy) marking_destroy = nullptr;
  decltype(&tektite_op_assigns) op_assigns = nullptr;
  decltype(&tektite_cluster_create) cluster_create = nullptr;
  decltype(&tektite_cluster_destroy) cluster_destroy = nullptr;
  decltype(&tektite_cluster_run) cluster_run = nullptr;
  decltype(&tektite_fallback_of) fallback_of = nullptr;
  decltype(&tektite_fallback_code) fallback_code = nullptr;
  decltype(&tektite_contest_create) contest_create = nullptr;
  decltype(&tektite_contest_destroy) contest_destroy = nullptr;
  decltype(&tektite_contest_begin) contest_begin = nullptr;
  decltype(&tektite_contest_begin_if_won) contest_begin_if_won = nullptr;
  decltype(&tektite_contest_postpone) contest_postpone = nullptr;
  decltype(&tektite_contest_restart) contest_restart = nullptr;
  decltype(&tektite_contest_end) contest_end = nullptr;
  decltype(&tektite_contest_has_won) contest_has_won = nullptr;
  decltype(&tektite_contest_summary) contest_summary = nullptr;
  decltype(&tektite_run_in_background) run_in_background = nullptr;
  decltype(&tektite_wait_until_compiled) wait_until_compiled = nullptr;
  decltype(&tektite_stop_background) stop_background = nullptr;

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
