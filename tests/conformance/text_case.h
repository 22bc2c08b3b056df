// Graphs that tests write as text, such as loops.
#ifndef TEKTITE_TESTS_CONFORMANCE_TEXT_CASE_H_
#define TEKTITE_TESTS_CONFORMANCE_TEXT_CASE_H_

#include <string>

#include "jit/compiler/specialize.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {

class TextTest : public ConformanceTest {
 protected:
  // As machine code for both ways of compiling, against the interpreter.
  void CheckText(const std::string& text, const Tolerance& tolerance = {}) {
    auto graph = compiler::ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
    for (const bool fuse : {true, false}) {
      CompileOptions options;
      options.fuse = fuse;
      options.symbolic = false;
      Check(**graph, PlainInputs(**graph, 1), tolerance, options);
    }
  }
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_TEXT_CASE_H_
