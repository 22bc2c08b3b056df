// The suite that every back end must pass: graphs compiled and run through it, compared with the
// interpreter.
//
//   CONFORMANCE_TEST(Softmax) {                       // runs on every target
//     FuncBuilder b;
//     ...
//     Check(b, Tolerance::Relative(1e-6));
//   }
//
// A target is a back end (targets.h).  Each graph runs with no threads and with two, which must
// give the same bits (once on the interpreted GPU, which uses none of them).  Check expects machine
// code for every kernel, so that the interpreter never stands in for a back end unnoticed.  It then
// compiles the graph once more, with symbols for its sizes, and runs that code for the same sizes
// and for others, ones and zeros among them (not every graph on every target: WaysOf).
//
// The GPU's kernels are also assembled (tests/gpu/assembly_check.h), with no spills.
//
// What the GPU has no kernels for the host runs, or it is refused.  How many graphs of a test that
// may be stands in gpu_refusal_list.inc, so that a kernel that is lost fails the test, and so does
// one that is new.
#ifndef TEKTITE_TESTS_CONFORMANCE_HARNESS_H_
#define TEKTITE_TESTS_CONFORMANCE_HARNESS_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "jit/ops/builder.h"
#include "tests/conformance/symbolic.h"
#include "tests/conformance/targets.h"

namespace tektite::testing {

inline ir::Shape Of(ir::DType dtype, const std::vector<int64_t>& sizes) {
  return ir::Shape(dtype, absl::MakeConstSpan(sizes));
}

// The target whose memory the host cannot reach (tests/island).  It shows that the runtime touches
// buffers through streams alone; its kernels are the interpreter's, so results are equal.
inline constexpr char kIsland[] = "island";
// Kernels for GPUs, interpreted (backends/gpu).
inline constexpr char kGpu[] = "gpu";
// The same kernels by way of the driver: a card's memory, streams and graphs (backends/gpu/driver)
// on a driver that stands in for NVIDIA's (tests/gpu/fake_driver), or, where the variable is the
// number of a card, on that card by NVIDIA's driver.
inline constexpr char kGpuCard[] = "gpu_card";
inline constexpr char kCardVariable[] = "TEKTITE_CONFORMANCE_CARD";

// Of tests that combine lists of cases, by the sum of a combination's places: every second one runs
// without --long, so that each element meets several of the other lists.
bool HasTurn(size_t places);

// How far a result may be from the interpreter's.  NaN agrees with NaN, and infinities with
// themselves.
struct Tolerance {
  double ulps = 0;      // units in the last place of the expected value
  double relative = 0;  // of the largest finite expected value of the array
  static Tolerance Exact() { return {}; }
  static Tolerance Ulps(double n) { return {n, 0}; }
  static Tolerance Relative(double r) { return {0, r}; }
};

// Empty if they agree; otherwise the first element that does not.
std::string Difference(const ir::Literal& got, const ir::Literal& want, const Tolerance& tolerance);

// Values for every parameter: small multiples of 1/8 for floats (their sums are exact), small
// integers.
std::vector<ir::Literal> PlainInputs(const ir::Graph& graph, uint64_t seed);

struct CompileOptions {
  bool fuse = true;               // false: one kernel for each op
  bool may_interpret = false;     // ops that have no machine code yet
  bool symbolic = true;           // also as code for every size
  bool must_be_symbolic = false;  // and none of that may be left to the interpreter
  bool rounds_f32 = false;        // --f32_products=tf32 of GPUs, bf16x3 of CPUs
  bool stores_bf16 = false;       // --f32_products=bf16_stored
  bool warpgroups = false;        // for GPUs: all products that fit, by wgmma
};

class ConformanceTest : public ::testing::TestWithParam<ConformanceTarget> {
 protected:
  // As many graphs were refused as the list says.
  void TearDown() override;
  // Whether `status` is a refusal that this target may have; counts it.
  bool IsRefusal(const absl::Status& status);
  // Compiles `graph` and runs it; parameters with weight = true are kept between calls.
  absl::StatusOr<std::vector<ir::Literal>> CompileAndRun(const ir::Graph& graph,
                                                         const std::vector<ir::Literal>& inputs,
                                                         const CompileOptions& options = {});
  void Check(const ir::Graph& graph, const std::vector<ir::Literal>& inputs,
             const Tolerance& tolerance = {}, const CompileOptions& options = {});
  // Code for every size against the interpreter, at the graph's own sizes and at other sizes.
  void CheckSymbolic(const ir::Graph& graph, const std::vector<ir::Literal>& inputs,
                     const Tolerance& tolerance, const CompileOptions& options);
  // The same for a graph with symbols, at given sizes: all have to be legal where the options say
  // must_be_symbolic.
  void CheckSizes(const ir::Graph& graph, const std::vector<SizeValues>& sizes,
                  const Tolerance& tolerance, const CompileOptions& options,
                  const std::vector<ir::Literal>* first_inputs = nullptr);
  // The same through executables, for a target whose kernels only its own streams can run.
  void CheckSizesOfCalls(const ir::Graph& graph, const std::vector<SizeValues>& sizes,
                         const Tolerance& tolerance, const CompileOptions& options);
  // With PlainInputs.
  void Check(ops::FuncBuilder& b, const Tolerance& tolerance = {},
             const CompileOptions& options = {});

  compiler::Compiler& CompilerFor(const CompileOptions& options);
  compiler::Compiler& CompilerFor(bool fuse) {
    CompileOptions options;
    options.fuse = fuse;
    return CompilerFor(options);
  }
  // Counts what a device has no kernels for.
  absl::StatusOr<std::shared_ptr<runtime::Executable>> Compile(const ir::Graph& graph,
                                                               const std::string& variant,
                                                               const CompileOptions& options);
  // The target's kernels run on its own streams alone.
  bool is_device() const { return GetParam().is_device; }
  bool is_gpu() const { return GetParam().backend == kGpu || GetParam().backend == kGpuCard; }
  // Which code a graph has on this target: for its own sizes, for every size.  Without --long each
  // of two targets that share their emitters or kernels has code for every size of one half of all
  // graphs: the cpu and AVX2, kGpu and the stand-in driver.  The second of these, and the island,
  // have code for the graph's own sizes of the other half alone.
  struct Ways {
    bool fixed, any_size;
  };
  Ways WaysOf(const ir::Graph& graph, const CompileOptions& options) const;
  // Whether interpreted kernels run for long at these sizes: then they are compiled alone.
  bool TakesLong(const ir::Graph& fixed) const;
  bool IsStandIn() const;

 private:
  int refused_ = 0;
};

#define CONFORMANCE_TEST(name) TEST_P(ConformanceTest, name)

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_HARNESS_H_
