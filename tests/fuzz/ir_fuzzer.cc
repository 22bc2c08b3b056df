// Any text: the IR's parser returns a graph or an error, and what it accepts prints and parses back
// to the same text.  The verifier takes every graph that the parser lets through.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "jit/ir/graph.h"
#include "jit/ops/ops.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tektite::testing::Require;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  auto graphs = tektite::ir::ParseAll(text);
  if (!graphs.ok()) {
    Require(!graphs.status().message().empty(), "an error has a message");
    return 0;
  }
  for (const std::unique_ptr<tektite::ir::Graph>& graph : *graphs) {
    tektite::ops::VerifyGraph(*graph).IgnoreError();
    const std::string printed = tektite::ir::Print(*graph);
    auto again = tektite::ir::Parse(printed);
    Require(again.ok(), "what was printed parses");
    Require(tektite::ir::Print(**again) == printed, "it prints as before");
  }
  return 0;
}
