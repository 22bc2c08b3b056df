// Loops and choices: what they carry, where it lies, and who else reads it.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/conformance/text_case.h"

namespace tektite::testing {
namespace {

// Regions that the cases below share.
const char kCountTo4[] = R"(graph @condition(%i: s32[], %a: f32[5], %b: f32[5]) -> (bool[]) {
      %n: s32[] = constant() {value = s32[]{4}}
      %c: bool[] = compare(%i, %n) {direction = "lt"}
      return %c
    })";

class LoopsTest : public TextTest {
 protected:
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

}  // namespace
}  // namespace tektite::testing
