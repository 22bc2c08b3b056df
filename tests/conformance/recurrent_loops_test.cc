// Loops of recurrent layers: weights that a call keeps, sums of products over turns, and lists of
// what turns keep.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/conformance/text_case.h"

namespace tektite::testing {
namespace {

class RecurrentLoopsTest : public TextTest {};

INSTANTIATE_TEST_SUITE_P(, RecurrentLoopsTest, ::testing::ValuesIn(ConformanceTargets()),
                         [](const auto& info) { return info.param.name; });

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

TEST_P(RecurrentLoopsTest, RecurrentLayers) {
  for (auto [steps, batch] : {std::pair("7", "2"), {"1", "1"}, {"3", "8"}, {"4", "0"}}) {
    CheckText(Recurrent(steps, batch), Tolerance::Relative(1e-5));
  }
}

// A GRU whose state stays where a step's mask is off, and that keeps all states.
std::string MaskedLayer(const char* batch) {
  return absl::StrReplaceAll(
      R"(graph @gru(%x: f32[6,B,12], %m: bool[6,B,1], %u: f32[4,12] {weight = true}, %bias: f32[12] {weight = true}) -> (f32[6,B,4], f32[B,4]) {
  %zero: s32[] = constant() {value = s32[]{0}}
  %f0: f32[] = constant() {value = f32[]{0}}
  %h0: f32[B,4] = broadcast_in_dim(%f0) {dimensions = [], shape = (B,4)}
  %acc: f32[6,B,4] = broadcast_in_dim(%f0) {dimensions = [], shape = (6,B,4)}
  %l:7 : (s32[], f32[B,4], f32[6,B,4], f32[6,B,12], bool[6,B,1], f32[4,12], f32[12]) = while(%zero, %h0, %acc, %x, %m, %u, %bias)
    graph @condition(%i: s32[], %h: f32[B,4], %a: f32[6,B,4], %x: f32[6,B,12], %m: bool[6,B,1], %u: f32[4,12], %bias: f32[12]) -> (bool[]) {
      %n: s32[] = constant() {value = s32[]{6}}
      %0: bool[] = compare(%i, %n) {direction = "lt"}
      return %0
    }
    graph @body(%i: s32[], %h: f32[B,4], %a: f32[6,B,4], %x: f32[6,B,12], %m: bool[6,B,1], %u: f32[4,12], %bias: f32[12]) -> (s32[], f32[B,4], f32[6,B,4], f32[6,B,12], bool[6,B,1], f32[4,12], f32[12]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %o: s32[] = constant() {value = s32[]{0}}
      %next: s32[] = add(%i, %one)
      %x3: f32[1,B,12] = dynamic_slice(%x, %i, %o, %o) {sizes = (1, B, 12)}
      %p: f32[B,12] = reshape(%x3) {shape = (B,12)}
      %m3: bool[1,B,1] = dynamic_slice(%m, %i, %o, %o) {sizes = (1, B, 1)}
      %mt: bool[B] = reshape(%m3) {shape = (B)}
      %mask: bool[B,4] = broadcast_in_dim(%mt) {dimensions = [0], shape = (B,4)}
      %d: f32[B,12] = dot_general(%h, %u) {lhs_contracting = [1], rhs_contracting = [0]}
      %bb: f32[B,12] = broadcast_in_dim(%bias) {dimensions = [1], shape = (B,12)}
      %q: f32[B,12] = add(%d, %bb)
      %pz: f32[B,4] = slice(%p) {starts = (0, 0), limits = (B, 4)}
      %pr: f32[B,4] = slice(%p) {starts = (0, 4), limits = (B, 8)}
      %ph: f32[B,4] = slice(%p) {starts = (0, 8), limits = (B, 12)}
      %qz: f32[B,4] = slice(%q) {starts = (0, 0), limits = (B, 4)}
      %qr: f32[B,4] = slice(%q) {starts = (0, 4), limits = (B, 8)}
      %qh: f32[B,4] = slice(%q) {starts = (0, 8), limits = (B, 12)}
      %az: f32[B,4] = add(%pz, %qz)
      %z: f32[B,4] = logistic(%az)
      %ar: f32[B,4] = add(%pr, %qr)
      %r: f32[B,4] = logistic(%ar)
      %rh: f32[B,4] = mul(%r, %qh)
      %ah: f32[B,4] = add(%ph, %rh)
      %c: f32[B,4] = tanh(%ah)
      %kept: f32[B,4] = mul(%z, %h)
      %f1: f32[] = constant() {value = f32[]{1}}
      %ones: f32[B,4] = broadcast_in_dim(%f1) {dimensions = [], shape = (B,4)}
      %rest: f32[B,4] = sub(%ones, %z)
      %new: f32[B,4] = mul(%rest, %c)
      %sum: f32[B,4] = add(%kept, %new)
      %h1: f32[B,4] = select(%mask, %sum, %h)
      %h3: f32[1,B,4] = reshape(%h1) {shape = (1,B,4)}
      %a1: f32[6,B,4] = dynamic_update_slice(%a, %h3, %i, %o, %o)
      return %next, %h1, %a1, %x, %m, %u, %bias
    }
  return %l#2, %l#1
})",
      {{"B", batch}});
}

TEST_P(RecurrentLoopsTest, MaskedLayers) {
  for (const char* batch : {"0", "1", "3", "4", "9"}) {
    CheckText(MaskedLayer(batch), Tolerance::Relative(1e-5));
  }
}

TEST_P(RecurrentLoopsTest, RecurrentLayersOfAnySize) {
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

TEST_P(RecurrentLoopsTest, SumsOfProducts) {
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

TEST_P(RecurrentLoopsTest, ValuesKeptInLists) {
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
