// Contractions that a vendor's library may compute, against the interpreter: a graph compiled in
// each of the ways that a card's back end offers for it.
//
//   class Products : public LibraryWays { ... OptionsOnStandIn() override ... };
//   TEST_F(Products, ..) { EXPECT_THAT(CheckAll(b, Tolerance::Relative(1e-6)), ...); }
//
// On the stand-ins for the driver and the library, or, where TEKTITE_CONFORMANCE_CARD is the number
// of a card, on that card by NVIDIA's.
#ifndef TEKTITE_TESTS_CONFORMANCE_LIBRARY_WAYS_H_
#define TEKTITE_TESTS_CONFORMANCE_LIBRARY_WAYS_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/gpu/card_backend.h"
#include "backends/gpu/driver/card_kernel.h"
#include "backends/gpu/driver/launch_graphs.h"
#include "jit/runtime/executable.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {

// A graph that is compiled with one way to make its contractions.
struct CompiledWay {
  std::unique_ptr<ir::Graph> graph;
  runtime::KernelMap kernels;
  std::vector<std::string> candidates;
  std::string images;  // in words

  std::shared_ptr<runtime::Executable> NewExecutable(backend::Backend& backend) const;
};

// Of a sum in f32 that is rounded to `dtype`.
inline Tolerance ToleranceOf(ir::DType dtype) {
  return dtype == ir::DType::kF32 ? Tolerance::Relative(1e-6) : Tolerance::Ulps(1);
}

class LibraryWays : public ::testing::Test {
 protected:
  // As images name it.
  explicit LibraryWays(std::string library) : library_(std::move(library)) {}
  static bool IsOnCard();
  // Its libraries; the rest is set.
  virtual absl::StatusOr<gpu::CardOptions> OptionsOnStandIn() = 0;
  void SetUp() override;
  void TearDown() override;

  absl::StatusOr<CompiledWay> Compile(const ir::Graph& graph, const std::string& candidate);
  static absl::StatusOr<ir::Literal> Call(runtime::Executable& executable, const ir::Graph& graph,
                                          const std::vector<ir::Literal>& inputs);
  // Every way; returns the names.  A way that the library does not have, which `refused` names, is
  // our own.
  std::vector<std::string> CheckAll(const ir::Graph& graph, const std::vector<ir::Literal>& inputs,
                                    const Tolerance& tolerance, const std::string& refused = "");
  std::vector<std::string> CheckAll(ops::FuncBuilder& b, const Tolerance& tolerance,
                                    const std::string& refused = "");

  std::shared_ptr<gpu::Card> card_;
  std::unique_ptr<backend::Backend> backend_;

 private:
  const std::string library_;
};

// With a stand-in whose state ends with each test, and which holds nothing then.
template <typename Fake>
class LibraryWaysOn : public LibraryWays {
 protected:
  using LibraryWays::LibraryWays;
  void TearDown() override {
    LibraryWays::TearDown();
    if (IsOnCard()) return;
    EXPECT_EQ(fake().held_things(), 0);
    fake().reset();
  }
  static const Fake& fake() { return Fake::Opened(); }
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_LIBRARY_WAYS_H_
