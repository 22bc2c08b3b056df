// Loops and choices: what they carry, where it lies, and who else reads it.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "jit/compiler/specialize.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Literal;

// Regions that the cases below share.
const char kCountTo4[] = R"(graph @condition(%i: s32[], %a: f32[5], %b: f32[5]) -> (bool[]) {
      %n: s32[] = constant() {value = s32[]{4}}
      %c: bool[] = compare(%i, %n) {direction = "lt"}
      return %c
    })";

class LoopsTest : public ConformanceTest {
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
  // A loop of four turns over two vectors: `body` computes %x and %y of %i, %a and %b.
  void CheckBody(const std::string& body, const std::string& results = "%w#1, %w#2") {
    CheckText(absl::StrCat(R"(graph @f(%p: f32[5], %q: f32[5]) -> (f32[5], f32[5]) {
      %zero: s32[] = constant() {value = s32[]{0}}
      %w:3 : (s32[], f32[5], f32[5]) = while(%zero, %p, %q)
    )",
                           kCountTo4, R"(
    graph @body(%i: s32[], %a: f32[5], %b: f32[5]) -> (s32[], f32[5], f32[5]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %next: s32[] = add(%i, %one)
      )",
                           body, R"(
      return %next, %x, %y
    }
      return )",
                           results, "\n}"));
  }
};

INSTANTIATE_TEST_SUITE_P(, LoopsTest, ::testing::ValuesIn(ConformanceTargets()),
                         [](const auto& info) { return info.param.name; });

TEST_P(LoopsTest, ValuesOfTheTurnBefore) {
  CheckBody("%x: f32[5] = add(%a, %b)\n %y: f32[5] = sub(%a, %b)");
  CheckBody("%x: f32[5] = mul(%a, %b)\n %y: f32[5] = neg(%x)");
}

TEST_P(LoopsTest, ReadAfterItsSuccessorIsThere) {
  // A product reads %a when %x has been computed, so %x must not lie there.
  CheckBody(R"(%x: f32[5] = neg(%a)
      %s: f32[] = reduce(%a) {dimensions = [0], reducer = "add"}
      %t: f32[] = reduce(%x) {dimensions = [0], reducer = "max"}
      %st: f32[] = sub(%s, %t)
      %stb: f32[5] = broadcast_in_dim(%st) {dimensions = [], shape = (5)}
      %y: f32[5] = add(%b, %stb))");
}

TEST_P(LoopsTest, Swaps) {
  CheckBody("%x: f32[5] = neg(%b)\n %y: f32[5] = neg(%a)");
  const char* body = "%half: f32[5] = add(%a, %b)";
  CheckText(absl::StrCat(R"(graph @f(%p: f32[5], %q: f32[5]) -> (f32[5], f32[5]) {
      %three: s32[] = constant() {value = s32[]{1}}
      %w:3 : (s32[], f32[5], f32[5]) = while(%three, %p, %q)
    )",
                         kCountTo4, R"(
    graph @body(%i: s32[], %a: f32[5], %b: f32[5]) -> (s32[], f32[5], f32[5]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %next: s32[] = add(%i, %one)
      )",
                         body, R"(
      return %next, %b, %a
    }
      return %w#1, %w#2
  })"));
}

TEST_P(LoopsTest, OneValueForTwo) {
  CheckText(absl::StrCat(R"(graph @f(%p: f32[5], %q: f32[5]) -> (f32[5], f32[5], f32[5]) {
      %zero: s32[] = constant() {value = s32[]{0}}
      %w:3 : (s32[], f32[5], f32[5]) = while(%zero, %p, %p)
    )",
                         kCountTo4, R"(
    graph @body(%i: s32[], %a: f32[5], %b: f32[5]) -> (s32[], f32[5], f32[5]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %next: s32[] = add(%i, %one)
      %x: f32[5] = exp(%a)
      %y: f32[5] = mul(%x, %b)
      return %next, %y, %y
    }
      %d: f32[5] = add(%w#1, %p)
      return %w#1, %w#2, %d
  })"),
            Tolerance::Relative(1e-5));
}

TEST_P(LoopsTest, NoTurn) {
  CheckText(absl::StrCat(R"(graph @f(%p: f32[5], %q: f32[5]) -> (s32[], f32[5], f32[5]) {
      %nine: s32[] = constant() {value = s32[]{9}}
      %pp: f32[5] = add(%p, %q)
      %w:3 : (s32[], f32[5], f32[5]) = while(%nine, %pp, %q)
    )",
                         kCountTo4, R"(
    graph @body(%i: s32[], %a: f32[5], %b: f32[5]) -> (s32[], f32[5], f32[5]) {
      %x: f32[5] = exp(%a)
      return %i, %x, %a
    }
      return %w#0, %w#1, %w#2
  })"));
  CheckText(R"(graph @f(%p: f32[5]) -> (f32[5]) {
      %w: f32[5] = while(%p)
    graph @condition(%a: f32[5]) -> (bool[]) {
      %c: bool[] = constant() {value = bool[]{false}}
      return %c
    }
    graph @body(%a: f32[5]) -> (f32[5]) {
      %x: f32[5] = neg(%a)
      return %x
    }
      return %w
  })");
}

// The condition is a value that the loop carries; nothing is carried but that and zeros.
TEST_P(LoopsTest, ConditionIsCarried) {
  for (const char* size : {"0", "1", "7"}) {
    CheckText(absl::StrReplaceAll(R"(graph @f(%p: f32[N], %go: bool[]) -> (f32[N], bool[]) {
      %w:2 : (bool[], f32[N]) = while(%go, %p)
    graph @condition(%g: bool[], %a: f32[N]) -> (bool[]) {
      return %g
    }
    graph @body(%g: bool[], %a: f32[N]) -> (bool[], f32[N]) {
      %x: f32[N] = neg(%a)
      %off: bool[] = not(%g)
      return %off, %x
    }
      return %w#1, %w#0
  })",
                                  {{"N", size}}));
  }
}

// An accumulator that is read before and after each update, and after the loop.
std::string Accumulator(const char* body, const char* row = "f32[1,3]") {
  return absl::StrReplaceAll(
      absl::StrCat(R"(graph @f(%x: f32[6,3], %k: f32[6,3]) -> (f32[6,3], f32[3]) {
      %zero: s32[] = constant() {value = s32[]{0}}
      %f0: f32[] = constant() {value = f32[]{0}}
      %acc: f32[6,3] = broadcast_in_dim(%f0) {dimensions = [], shape = (6,3)}
      %sum: f32[3] = broadcast_in_dim(%f0) {dimensions = [], shape = (3)}
      %w:4 : (s32[], f32[6,3], f32[3], f32[6,3]) = while(%zero, %acc, %sum, %x)
    graph @condition(%i: s32[], %a: f32[6,3], %s: f32[3], %x: f32[6,3]) -> (bool[]) {
      %n: s32[] = constant() {value = s32[]{6}}
      %c: bool[] = compare(%i, %n) {direction = "lt"}
      return %c
    }
    graph @body(%i: s32[], %a: f32[6,3], %s: f32[3], %x: f32[6,3]) -> (s32[], f32[6,3], f32[3], f32[6,3]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %o: s32[] = constant() {value = s32[]{0}}
      %next: s32[] = add(%i, %one)
      %row: f32[1,3] = dynamic_slice(%x, %i, %o) {sizes = (1, 3)}
      )",
                   body, R"(
      return %next, %b, %t, %x
    }
      %d: f32[6,3] = add(%w#1, %k)
      return %w#1, %w#2
  })"),
      {{"ROW", row}});
}

TEST_P(LoopsTest, Accumulators) {
  CheckText(Accumulator(R"(%b: f32[6,3] = dynamic_update_slice(%a, %row, %i, %o)
      %r: f32[3] = reshape(%row) {shape = (3)}
      %t: f32[3] = add(%s, %r))"));
  // Read after the update: both the new value and the old one.
  CheckText(Accumulator(R"(%twice: f32[1,3] = add(%row, %row)
      %b: f32[6,3] = dynamic_update_slice(%a, %twice, %i, %o)
      %new: f32[3] = reduce(%b) {dimensions = [0], reducer = "add"}
      %old: f32[3] = reduce(%a) {dimensions = [0], reducer = "add"}
      %both: f32[3] = sub(%new, %old)
      %t: f32[3] = add(%s, %both))"));
  // Updated twice in a turn, the second time by what was read in between.
  CheckText(Accumulator(R"(%b0: f32[6,3] = dynamic_update_slice(%a, %row, %i, %o)
      %read: f32[1,3] = dynamic_slice(%b0, %i, %o) {sizes = (1, 3)}
      %more: f32[1,3] = exp(%read)
      %five: s32[] = constant() {value = s32[]{5}}
      %back: s32[] = sub(%five, %i)
      %b: f32[6,3] = dynamic_update_slice(%b0, %more, %back, %o)
      %r: f32[3] = reshape(%read) {shape = (3)}
      %t: f32[3] = add(%s, %r))"),
            Tolerance::Relative(1e-5));
  // Moved within itself: the update reads what it overwrites.
  CheckText(Accumulator(R"(%head: f32[5,3] = slice(%a) {starts = (0, 0), limits = (5, 3)}
      %b0: f32[6,3] = dynamic_update_slice(%a, %head, %one, %o)
      %b: f32[6,3] = dynamic_update_slice(%b0, %row, %o, %o)
      %r: f32[3] = reshape(%row) {shape = (3)}
      %t: f32[3] = add(%s, %r))"));
  // Starts that are clamped.
  CheckText(Accumulator(R"(%far: s32[] = mul(%i, %i)
      %b: f32[6,3] = dynamic_update_slice(%a, %row, %far, %i)
      %r: f32[3] = reshape(%row) {shape = (3)}
      %t: f32[3] = add(%s, %r))"));
}

TEST_P(LoopsTest, ChoicesInALoop) {
  CheckBody(R"(%two: s32[] = constant() {value = s32[]{2}}
      %early: bool[] = compare(%i, %two) {direction = "lt"}
      %z:2 : (f32[5], f32[5]) = conditional(%early, %a, %b)
        graph @then(%c: f32[5], %d: f32[5]) -> (f32[5], f32[5]) {
          %0: f32[5] = add(%c, %d)
          return %0, %c
        }
        graph @else(%c: f32[5], %d: f32[5]) -> (f32[5], f32[5]) {
          %0: f32[5] = mul(%c, %d)
          return %d, %0
        }
      %x: f32[5] = neg(%z#0)
      %y: f32[5] = add(%z#1, %b))");
}

// An accumulator that only some turns update is updated in place through the choice.
TEST_P(LoopsTest, AccumulatorInAChoice) {
  CheckText(Accumulator(R"(%two: s32[] = constant() {value = s32[]{2}}
      %late: bool[] = compare(%i, %two) {direction = "ge"}
      %b: f32[6,3] = conditional(%late, %a, %row, %i, %o)
        graph @then(%c: f32[6,3], %r: f32[1,3], %j: s32[], %k: s32[]) -> (f32[6,3]) {
          %0: f32[6,3] = dynamic_update_slice(%c, %r, %j, %k)
          return %0
        }
        graph @else(%c: f32[6,3], %r: f32[1,3], %j: s32[], %k: s32[]) -> (f32[6,3]) {
          return %c
        }
      %r: f32[3] = reshape(%row) {shape = (3)}
      %t: f32[3] = add(%s, %r))"));
}

TEST_P(LoopsTest, LoopsInALoop) {
  CheckBody(R"(%zero: s32[] = constant() {value = s32[]{0}}
      %z:3 : (s32[], f32[5], f32[5]) = while(%zero, %a, %b)
        graph @condition(%j: s32[], %c: f32[5], %d: f32[5]) -> (bool[]) {
          %n: s32[] = constant() {value = s32[]{3}}
          %0: bool[] = compare(%j, %n) {direction = "lt"}
          return %0
        }
        graph @body(%j: s32[], %c: f32[5], %d: f32[5]) -> (s32[], f32[5], f32[5]) {
          %1: s32[] = constant() {value = s32[]{1}}
          %n: s32[] = add(%j, %1)
          %half: f32[5] = sub(%d, %c)
          return %n, %half, %c
        }
      %x: f32[5] = add(%z#2, %b)
      %y: f32[5] = sub(%a, %z#1))");
}

TEST_P(LoopsTest, ChoicesByNumber) {
  for (const char* which : {"-3", "0", "1", "2", "7"}) {
    CheckText(absl::StrReplaceAll(R"(graph @f(%x: f32[4], %which: s32[]) -> (f32[4], f32[4]) {
      %none: s32[] = constant() {value = s32[]{0}}
      %off: s32[] = constant() {value = s32[]{WHICH}}
      %zero: s32[] = mul(%which, %none)
      %w: s32[] = add(%zero, %off)
      %y: f32[4] = neg(%x)
      %r:2 : (f32[4], f32[4]) = conditional(%w, %x, %y)
        graph @first(%a: f32[4], %b: f32[4]) -> (f32[4], f32[4]) {
          %0: f32[4] = exp(%a)
          return %0, %b
        }
        graph @second(%a: f32[4], %b: f32[4]) -> (f32[4], f32[4]) {
          return %b, %a
        }
        graph @third(%a: f32[4], %b: f32[4]) -> (f32[4], f32[4]) {
          %0: f32[4] = constant() {value = f32[4]{1, 2, 3, 4}}
          return %0, %0
        }
      return %r#0, %r#1
  })",
                                  {{"WHICH", which}}),
              Tolerance::Ulps(2));
  }
}

TEST_P(LoopsTest, Calls) {
  CheckText(R"(graph @f(%x: f32[4]) -> (f32[4]) {
  %c: f32[4] = call(%x)
    graph @body(%p: f32[4]) -> (f32[4]) {
      %d: f32[4] = call(%p)
        graph @inner(%q: f32[4]) -> (f32[4]) {
          %0: f32[4] = add(%q, %q)
          return %0
        }
      %0: f32[4] = neg(%d)
      return %0
    }
  %r: f32[4] = abs(%c)
  return %r
})");
}

// One layer over time: weights that a call keeps, a state, and all steps' results.
std::string Recurrent(const char* steps, const char* batch) {
  return absl::StrReplaceAll(
      R"(graph @lstm(%x: f32[T,B,6], %w: f32[6,16] {weight = true}, %u: f32[4,16] {weight = true}, %bias: f32[16] {weight = true}) -> (f32[T,B,4], f32[B,4]) {
  %zero: s32[] = constant() {value = s32[]{0}}
  %f0: f32[] = constant() {value = f32[]{0}}
  %h0: f32[B,4] = broadcast_in_dim(%f0) {dimensions = [], shape = (B,4)}
  %acc: f32[T,B,4] = broadcast_in_dim(%f0) {dimensions = [], shape = (T,B,4)}
  %sizes: s64[1] = size_value() {sizes = (T)}
  %n64: s64[] = reshape(%sizes) {shape = ()}
  %n: s32[] = convert(%n64) {dtype = s32}
  %l:9 : (s32[], s32[], f32[B,4], f32[B,4], f32[T,B,4], f32[T,B,6], f32[6,16], f32[4,16], f32[16]) = while(%zero, %n, %h0, %h0, %acc, %x, %w, %u, %bias)
    graph @condition(%i: s32[], %n: s32[], %h: f32[B,4], %c: f32[B,4], %a: f32[T,B,4], %x: f32[T,B,6], %w: f32[6,16], %u: f32[4,16], %bias: f32[16]) -> (bool[]) {
      %0: bool[] = compare(%i, %n) {direction = "lt"}
      return %0
    }
    graph @body(%i: s32[], %n: s32[], %h: f32[B,4], %c: f32[B,4], %a: f32[T,B,4], %x: f32[T,B,6], %w: f32[6,16], %u: f32[4,16], %bias: f32[16]) -> (s32[], s32[], f32[B,4], f32[B,4], f32[T,B,4], f32[T,B,6], f32[6,16], f32[4,16], f32[16]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %o: s32[] = constant() {value = s32[]{0}}
      %next: s32[] = add(%i, %one)
      %x3: f32[1,B,6] = dynamic_slice(%x, %i, %o, %o) {sizes = (1, B, 6)}
      %xt: f32[B,6] = reshape(%x3) {shape = (B,6)}
      %p: f32[B,16] = dot_general(%xt, %w) {lhs_contracting = [1], rhs_contracting = [0]}
      %bb: f32[B,16] = broadcast_in_dim(%bias) {dimensions = [1], shape = (B,16)}
      %pb: f32[B,16] = add(%p, %bb)
      %q: f32[B,16] = dot_general(%h, %u) {lhs_contracting = [1], rhs_contracting = [0]}
      %z: f32[B,16] = add(%pb, %q)
      %zi: f32[B,4] = slice(%z) {starts = (0, 0), limits = (B, 4)}
      %zf: f32[B,4] = slice(%z) {starts = (0, 4), limits = (B, 8)}
      %zg: f32[B,4] = slice(%z) {starts = (0, 8), limits = (B, 12)}
      %zo: f32[B,4] = slice(%z) {starts = (0, 12), limits = (B, 16)}
      %gi: f32[B,4] = logistic(%zi)
      %gf: f32[B,4] = logistic(%zf)
      %gg: f32[B,4] = tanh(%zg)
      %go: f32[B,4] = logistic(%zo)
      %fc: f32[B,4] = mul(%gf, %c)
      %ig: f32[B,4] = mul(%gi, %gg)
      %c1: f32[B,4] = add(%fc, %ig)
      %tc: f32[B,4] = tanh(%c1)
      %h1: f32[B,4] = mul(%go, %tc)
      %h3: f32[1,B,4] = reshape(%h1) {shape = (1,B,4)}
      %a1: f32[T,B,4] = dynamic_update_slice(%a, %h3, %i, %o, %o)
      return %next, %n, %h1, %c1, %a1, %x, %w, %u, %bias
    }
  return %l#4, %l#2
})",
      {{"T", steps}, {"B", batch}});
}

TEST_P(LoopsTest, RecurrentLayers) {
  for (auto [steps, batch] : {std::pair("7", "2"), {"1", "1"}, {"3", "8"}, {"4", "0"}}) {
    CheckText(Recurrent(steps, batch), Tolerance::Relative(1e-5));
  }
}

TEST_P(LoopsTest, RecurrentLayersOfAnySize) {
  auto graph = compiler::ParseGraph(Recurrent("t", "b"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<SizeValues> sizes;
  for (auto [t, b] : {std::pair(7, 2), {1, 1}, {0, 3}, {5, 0}, {12, 4}, {7, 2}}) {
    sizes.push_back({{"t", t}, {"b", b}});
  }
  CheckSizesOfCalls(**graph, sizes, Tolerance::Relative(1e-5), {});
}

// Sums of products over turns, which may become products of all turns.  The loop stops before its
// bound if %go says so: `limit` is what the largest row may be.
std::string SumOfProducts(const char* batch, const char* turns, const char* limit) {
  return absl::StrReplaceAll(
      R"(graph @f(%x: f32[T,B,40], %z: f32[B,48], %s: f32[40,48]) -> (f32[40,48], f32[B,48], s32[]) {
  %zero: s32[] = constant() {value = s32[]{0}}
  %last: s32[] = constant() {value = s32[]{T}}
  %l:5 : (s32[], s32[], f32[B,48], f32[40,48], f32[T,B,40]) = while(%zero, %last, %z, %s, %x)
    graph @condition(%i: s32[], %k: s32[], %z: f32[B,48], %s: f32[40,48], %x: f32[T,B,40]) -> (bool[]) {
      %o: s32[] = constant() {value = s32[]{0}}
      %c: bool[] = compare(%k, %o) {direction = "gt"}
      %most: f32[] = reduce(%z) {dimensions = [0, 1], reducer = "max"}
      %limit: f32[] = constant() {value = f32[]{LIMIT}}
      %above: bool[] = compare(%most, %limit) {direction = "gt"}
      %below: bool[] = not(%above)
      %go: bool[] = and(%c, %below)
      return %go
    }
    graph @body(%i: s32[], %k: s32[], %z: f32[B,48], %s: f32[40,48], %x: f32[T,B,40]) -> (s32[], s32[], f32[B,48], f32[40,48], f32[T,B,40]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %o: s32[] = constant() {value = s32[]{0}}
      %next: s32[] = add(%i, %one)
      %fewer: s32[] = sub(%k, %one)
      %x3: f32[1,B,40] = dynamic_slice(%x, %i, %o, %o) {sizes = (1, B, 40)}
      %xt: f32[B,40] = reshape(%x3) {shape = (B, 40)}
      %half: f32[] = constant() {value = f32[]{0.5}}
      %halfs: f32[B,48] = broadcast_in_dim(%half) {dimensions = [], shape = (B, 48)}
      %z1: f32[B,48] = add(%z, %halfs)
      %p: f32[40,48] = dot_general(%xt, %z1) {lhs_contracting = [0], rhs_contracting = [0]}
      %s1: f32[40,48] = add(%s, %p)
      return %next, %fewer, %z1, %s1, %x
    }
  return %l#3, %l#2, %l#0
})",
      {{"T", turns}, {"B", batch}, {"LIMIT", limit}});
}

TEST_P(LoopsTest, SumsOfProducts) {
  for (const char* batch : {"0", "1", "3"}) {
    for (const char* turns : {"1", "2", "9"}) {
      for (const char* limit : {"-100", "3", "100"}) {
        CheckText(SumOfProducts(batch, turns, limit), Tolerance::Relative(1e-5));
      }
    }
  }
}

// A turn that keeps values of its rows in lists, as layers do that are trained: kernels of one
// space that write in several places.
std::string KeptValues(const char* body, const char* rows, const char* width) {
  return absl::StrReplaceAll(
      absl::StrCat(
          R"(graph @f(%x: f32[B,W], %p: f32[5,B,W], %q: f32[5,B,W], %m: bool[5,B,W], %j: f32[B,2*W]) -> (f32[B,W], f32[5,B,W], f32[5,B,W], bool[5,B,W], f32[B,2*W]) {
  %zero: s32[] = constant() {value = s32[]{0}}
  %w:6 : (s32[], f32[B,W], f32[5,B,W], f32[5,B,W], bool[5,B,W], f32[B,2*W]) = while(%zero, %x, %p, %q, %m, %j)
    graph @condition(%i: s32[], %x: f32[B,W], %p: f32[5,B,W], %q: f32[5,B,W], %m: bool[5,B,W], %j: f32[B,2*W]) -> (bool[]) {
      %n: s32[] = constant() {value = s32[]{4}}
      %c: bool[] = compare(%i, %n) {direction = "lt"}
      return %c
    }
    graph @body(%i: s32[], %x: f32[B,W], %p: f32[5,B,W], %q: f32[5,B,W], %m: bool[5,B,W], %j: f32[B,2*W]) -> (s32[], f32[B,W], f32[5,B,W], f32[5,B,W], bool[5,B,W], f32[B,2*W]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %o: s32[] = constant() {value = s32[]{0}}
      %next: s32[] = add(%i, %one)
      %t: f32[B,W] = tanh(%x)
      %e: f32[B,W] = exp(%t)
      %above: bool[B,W] = compare(%x, %t) {direction = "gt"}
      %t3: f32[1,B,W] = reshape(%t) {shape = (1, B, W)}
      %e3: f32[1,B,W] = reshape(%e) {shape = (1, B, W)}
      %a3: bool[1,B,W] = reshape(%above) {shape = (1, B, W)}
      )",
          body, R"(
      return %next, %x1, %p1, %q1, %m1, %j1
    }
  return %w#1, %w#2, %w#3, %w#4, %w#5
})"),
      {{"2*W", absl::StrCat(2 * std::atoi(width))}, {"B", rows}, {"W", width}});
}

TEST_P(LoopsTest, ValuesKeptInLists) {
  for (auto [rows, width] : {std::pair("3", "8"),
                             {"1", "5"},
                             {"2", "1"},
                             {"1", "1"},
                             {"0", "4"},
                             {"2", "37"},
                             {"1", "40000"}}) {
    // Long rows are cut into segments on the CPU alone.
    if (GetParam().backend == "gpu" && std::atoi(width) > 1000) continue;
    // All of a turn is one space, and starts are clamped.
    CheckText(KeptValues(R"(%p1: f32[5,B,W] = dynamic_update_slice(%p, %t3, %i, %o, %o)
      %far: s32[] = mul(%next, %next)
      %q1: f32[5,B,W] = dynamic_update_slice(%q, %e3, %far, %i, %o)
      %m1: bool[5,B,W] = dynamic_update_slice(%m, %a3, %next, %o, %i)
      %j1: f32[B,2*W] = concatenate(%e, %x) {dimension = 1}
      %x1: f32[B,W] = sub(%e, %t))",
                         rows, width),
              Tolerance::Relative(1e-5));
    // A list that is read in the turn, before and after its update, and one that is kept as it was.
    CheckText(KeptValues(R"(%p1: f32[5,B,W] = dynamic_update_slice(%p, %t3, %i, %o, %o)
      %old: f32[1,B,W] = dynamic_slice(%p, %next, %o, %o) {sizes = (1, B, W)}
      %new: f32[1,B,W] = dynamic_slice(%p1, %o, %o, %o) {sizes = (1, B, W)}
      %both: f32[1,B,W] = add(%old, %new)
      %q1: f32[5,B,W] = dynamic_update_slice(%q, %both, %i, %o, %o)
      %x3: f32[1,B,W] = add(%both, %e3)
      %m1: bool[5,B,W] = dynamic_update_slice(%m, %a3, %i, %o, %o)
      %x1: f32[B,W] = reshape(%x3) {shape = (B, W)}
      %j1: f32[B,2*W] = concatenate(%x1, %t) {dimension = 1})",
                         rows, width),
              Tolerance::Relative(1e-5));
    // One value in two lists, the second update of a list beside the first, and a row of another
    // place of the same space.
    CheckText(KeptValues(R"(%p0: f32[5,B,W] = dynamic_update_slice(%p, %t3, %i, %o, %o)
      %p1: f32[5,B,W] = dynamic_update_slice(%p0, %e3, %next, %o, %o)
      %q1: f32[5,B,W] = dynamic_update_slice(%q, %t3, %next, %o, %o)
      %m1: bool[5,B,W] = dynamic_update_slice(%m, %a3, %o, %o, %o)
      %sum: f32[B] = reduce(%e) {dimensions = [1], reducer = "add"}
      %spread: f32[B,W] = broadcast_in_dim(%sum) {dimensions = [0], shape = (B, W)}
      %x1: f32[B,W] = div(%e, %spread)
      %j1: f32[B,2*W] = concatenate(%t, %t) {dimension = 1})",
                         rows, width),
              Tolerance::Relative(1e-5));
  }
}

}  // namespace
}  // namespace tektite::testing
