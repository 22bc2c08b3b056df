// The C interface with owners and exceptions, for the command's own use.
//
//   CompilerPtr compiler = MakeCompiler(globals, "reference");
//   Text text = Checked([&](tektite_status* s) { return Text(tektite_explain(..., s)); });
#ifndef TEKTITE_RUNTIME_HOOKS_STANDALONE_HANDLES_H_
#define TEKTITE_RUNTIME_HOOKS_STANDALONE_HANDLES_H_

#include <memory>
#include <string>

#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/standalone/command.h"

namespace tektite::standalone {

template <auto destroy>
struct Deleter {
  template <typename T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};
using CompilerPtr = std::unique_ptr<tektite_compiler, Deleter<tektite_compiler_destroy>>;
using ClusterPtr = std::unique_ptr<tektite_cluster, Deleter<tektite_cluster_destroy>>;
using Text = std::unique_ptr<char, Deleter<tektite_string_free>>;

// Calls make(status); throws Failure with the status' message when that is not OK.
template <typename Make>
auto Checked(Make&& make) {
  tektite_status status = {};
  auto handle = make(&status);
  if (status.code != TEKTITE_OK) throw Failure(status.message);
  return handle;
}

// TEKTITE_FLAGS, then those of the command line.
std::string AllFlags(const Globals& globals);

// `backend` may be empty: the best one.  Throws NoCard where --device wants a card and there is
// none.
CompilerPtr MakeCompiler(const Globals& globals, const std::string& backend = "");

}  // namespace tektite::standalone

#endif  // TEKTITE_RUNTIME_HOOKS_STANDALONE_HANDLES_H_
