#include "tests/conformance/harness.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "jit/base/hash.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"
#include "jit/runtime/executable.h"
#include "tests/conformance/oracle.h"
#include "tests/conformance/symbolic.h"
#include "tests/long_tests.h"
#include "tests/runtime/test_pool.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;

// Results lie between guards, so that a store beside them is seen.
class Host : public runtime::CallHost {
 public:
  static constexpr size_t kGuard = 256;
  static constexpr unsigned char kFill = 0xA5;

  explicit Host(runtime::HostPool pool) : pool_(pool) {}
  runtime::HostPool Pool() override { return pool_; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    Result& r = results_[result];
    r.bytes = static_cast<size_t>(ir::Product(type.dims)) * ir::DTypeBytes(type.dtype);
    r.memory.assign(r.bytes + 2 * kGuard + 64, kFill);
    const auto address = reinterpret_cast<uintptr_t>(r.memory.data()) + kGuard;
    r.data = r.memory.data() + kGuard + (64 - address % 64) % 64;
    return r.data;
  }

  Literal Take(int result, const ir::Shape& shape) {
    const Result& r = results_[result];
    for (const unsigned char& byte : r.memory) {
      const unsigned char* at = &byte;
      if (at >= r.data && at < r.data + r.bytes) continue;
      if (*at != kFill) {
        ADD_FAILURE() << "a store beside result " << result << " of type " << shape.ToString()
                      << " at byte " << at - r.data;
        break;
      }
    }
    return Literal::CopyOf(shape.dtype(), shape.sizes(), r.data);
  }

 private:
  struct Result {
    std::vector<unsigned char> memory;
    unsigned char* data = nullptr;
    size_t bytes = 0;
  };
  runtime::HostPool pool_;
  std::map<int, Result> results_;
};

// The most elements that the interpreter computes for other sizes than the case's own.
constexpr int64_t kMostElements = 1 << 20;

int64_t Elements(const ir::Graph& graph) {
  int64_t elements = 0;
  for (const auto& node : graph.nodes()) {
    for (const ir::Shape& shape : node->shapes()) elements += shape.num_elements();
    // A contraction reads each element many times over.
    if (node->op() != ir::Op::kDotGeneral && node->op() != ir::Op::kConvolution) continue;
    const ir::Shape &rhs = node->operand_shape(1), &result = node->shape();
    const int64_t columns = result.rank() == 0 ? 1 : result.dim(result.rank() - 1).value();
    elements += result.num_elements() * rhs.num_elements() / std::max<int64_t>(columns, 1);
  }
  return elements;
}

// The most that targets run whose kernels are interpreted, and the stand-in driver, which runs
// those of kGpu.
constexpr int64_t kMostInterpreted = 1 << 24;
constexpr int64_t kMostOnStandIn = 1 << 18;

// The case's own sizes, ones, zeros, some that are larger, and some of one kind each.
std::vector<SizeValues> SizesToTry(const SizeValues& own) {
  std::vector<SizeValues> all = {own};
  auto add = [&](const std::function<int64_t(size_t, int64_t)>& f) {
    SizeValues sizes = own;
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i].second = f(i, sizes[i].second);
    all.push_back(std::move(sizes));
  };
  add([](size_t, int64_t) { return 1; });
  add([](size_t, int64_t) { return 0; });
  add([](size_t i, int64_t size) { return size + 1 + static_cast<int64_t>(i); });
  add([](size_t i, int64_t size) { return i == 0 ? 1 : size; });
  add([&](size_t i, int64_t size) { return i + 1 == own.size() ? 0 : size; });
  return all;
}

template <typename T>
std::string DifferenceOf(const Literal& got, const Literal& want, const Tolerance& tolerance) {
  const T *g = got.data<T>(), *w = want.data<T>();
  auto report = [&](int64_t i) {
    return absl::StrCat("[", i, "] is ", got.AsDouble(i), ", expected ", want.AsDouble(i));
  };
  if constexpr (std::is_integral_v<T>) {
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      if (g[i] != w[i]) return absl::StrCat("[", i, "] is ", g[i], ", expected ", w[i]);
    }
  } else {
    double largest = 0;
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      const double x = std::fabs(want.AsDouble(i));
      if (std::isfinite(x)) largest = std::max(largest, x);
    }
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      if (std::memcmp(&g[i], &w[i], sizeof(T)) == 0) continue;
      const double a = got.AsDouble(i), b = want.AsDouble(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      if (std::isnan(a) || std::isnan(b)) return report(i);
      const bool exact = tolerance.ulps == 0 && tolerance.relative == 0;
      if (exact || std::isinf(b) != std::isinf(a)) {
        // An overflow may be a rounding away.
        if (!exact && tolerance.ulps > 0 && std::isinf(a) != std::isinf(b)) {
          const double finite = std::isinf(a) ? b : a;
          if (std::fabs(finite) > 0.999 * Literal::HighestOf(want.dtype()).AsDouble(0)) continue;
          if (std::fabs(finite) > 0.99 * static_cast<double>(std::numeric_limits<float>::max()) &&
              want.dtype() != DType::kF64) {
            continue;
          }
        }
        return report(i);
      }
      if (std::isinf(a) && a == b) continue;
      const int digits = want.dtype() == DType::kF64   ? 53
                         : want.dtype() == DType::kF32 ? 24
                         : want.dtype() == DType::kF16 ? 11
                                                       : 8;
      const int least = want.dtype() == DType::kF64   ? -1074
                        : want.dtype() == DType::kF32 ? -149
                        : want.dtype() == DType::kF16 ? -24
                                                      : -133;
      const int exponent = b == 0 ? least : std::max(least, std::ilogb(b) - (digits - 1));
      const double allowed =
          std::max(std::ldexp(tolerance.ulps, exponent), tolerance.relative * largest);
      if (!(std::fabs(a - b) <= allowed)) return report(i);
    }
  }
  return "";
}

struct SizedCase {
  std::vector<Literal> inputs, want;
};

// Writes the graph as text where the variable names a folder, for what compiles the suite's graphs
// by other ways (bench/ahead_of_time).
bool WriteGraph(const ir::Graph& graph) {
  const char* const directory = std::getenv("TEKTITE_CONFORMANCE_GRAPHS");
  if (directory == nullptr) return false;
  static int number = 0;
  std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  test.resize(test.find('/'));
  const absl::Status written =
      ReplaceFile(absl::StrCat(directory, "/", test, "_", number++, ".ir"), ir::Print(graph));
  EXPECT_TRUE(written.ok()) << written;
  return true;
}

// A graph of fixed sizes with inputs (null: plain ones) and the interpreter's results.  An error
// where the graph's meaning excludes the sizes, such as a slice beyond its end, or, unless
// `any_size`, where the interpreter takes long.
absl::StatusOr<SizedCase> CaseAt(const ir::Graph& fixed, const std::vector<Literal>* inputs,
                                 bool any_size) {
  TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(fixed));
  if (!any_size && Elements(fixed) > kMostElements) return InvalidArgument("too many elements");
  SizedCase out;
  out.inputs = inputs == nullptr ? PlainInputs(fixed, 3) : *inputs;
  TEKTITE_ASSIGN_OR_RETURN(out.want, EvaluateOnce(fixed, out.inputs));
  return out;
}

}  // namespace

bool HasTurn(size_t places) { return TestsAreLong() || places % 2 == 0; }

std::string Difference(const Literal& got, const Literal& want, const Tolerance& tolerance) {
  if (got.shape() != want.shape()) {
    return absl::StrCat("is ", got.shape().ToString(), ", expected ", want.shape().ToString());
  }
  std::string text;
  ir::DispatchDType(want.dtype(),
                    [&](auto zero) { text = DifferenceOf<decltype(zero)>(got, want, tolerance); });
  return text;
}

std::vector<Literal> PlainInputs(const ir::Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Literal> inputs;
  for (const ir::Node* p : graph.parameters()) {
    Literal input = Literal::Allocate(p->shape().dtype(), p->shape().sizes());
    ir::DispatchDType(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < input.num_elements(); ++i) {
        const int value = static_cast<int>(random() % 33) - 16;
        if constexpr (std::is_same_v<T, bool>) {
          input.mutable_data<T>()[i] = value > 0;
        } else if constexpr (std::is_integral_v<T>) {
          input.mutable_data<T>()[i] = static_cast<T>(value);
        } else {
          input.mutable_data<T>()[i] = T(static_cast<float>(value) / 8);
        }
      }
    });
    inputs.push_back(std::move(input));
  }
  return inputs;
}

bool ConformanceTest::IsRefusal(const absl::Status& status) {
  if (!GetParam().may_refuse || !absl::IsUnimplemented(status)) return false;
  ++refused_;
  return true;
}

void ConformanceTest::TearDown() {
  if (!GetParam().may_refuse || HasFailure()) return;
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  name.resize(name.find('/'));
  NoteRefusals(GetParam(), name, refused_);
}

compiler::Compiler& ConformanceTest::CompilerFor(const CompileOptions& asked) {
  static auto& compilers = *new std::map<std::string, std::unique_ptr<compiler::Compiler>>;
  auto& compiler = compilers[absl::StrCat(GetParam().name, asked.fuse, asked.rounds_f32,
                                          asked.stores_bf16, asked.warpgroups)];
  if (compiler == nullptr) {
    compiler::CompilerOptions options;
    options.backends = BackendsBehind();
    options.own_backend = [=] {
      return CreateTested(GetParam(), {asked.rounds_f32, asked.warpgroups});
    };
    options.flags.cpu = GetParam().cpu;
    if (asked.rounds_f32) {
      options.flags.f32_products = GetParam().backend == "cpu" ? "bf16x3" : "tf32";
    }
    if (asked.stores_bf16) options.flags.f32_products = "bf16_stored";
    options.flags.verify = true;
    options.flags.tuning = "off";
    if (!asked.fuse) options.flags.disable_passes = "canonicalize,fold_constants,fuse";
    if (const char* directory = std::getenv("TEKTITE_CONFORMANCE_DUMP")) {
      options.flags.dump_to = directory;
    }
    auto created = compiler::Compiler::Create(std::move(options));
    if (!created.ok()) ADD_FAILURE() << created.status();
    compiler = *std::move(created);
  }
  return *compiler;
}

absl::StatusOr<std::shared_ptr<runtime::Executable>> ConformanceTest::Compile(
    const ir::Graph& graph, const std::string& variant, const CompileOptions& options) {
  compiler::Compiler& compiler = CompilerFor(options);
  const int64_t host_side = compiler.counters().host_side_kernels;
  compiler::CompileJob job;
  job.cluster = "conformance";
  job.variant = variant;
  auto executable = compiler.Compile(graph.Clone(), job);
  // The host's kernels ran what the device has none for.
  if (GetParam().may_refuse && compiler.counters().host_side_kernels != host_side) ++refused_;
  return executable;
}

absl::StatusOr<std::vector<Literal>> ConformanceTest::CompileAndRun(
    const ir::Graph& graph, const std::vector<Literal>& inputs, const CompileOptions& options) {
  compiler::Compiler& compiler = CompilerFor(options);
  const int64_t interpreted = compiler.counters().interpreted_kernels;
  TEKTITE_ASSIGN_OR_RETURN(auto executable, Compile(graph, "shape0", options));
  if (!options.may_interpret && compiler.counters().interpreted_kernels != interpreted) {
    if (GetParam().may_refuse) {
      ++refused_;
    } else {
      ADD_FAILURE() << "a kernel was left to the interpreter\n" << executable->PlanText();
    }
  }
  static runtime::Pool& pool = *new runtime::Pool(2);
  const auto run = [&](const runtime::HostPool& threads) -> absl::StatusOr<std::vector<Literal>> {
    // Inputs end where their memory ends for sanitizers, and must stay as they are.
    std::vector<runtime::Argument> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool weight = graph.parameter(static_cast<int>(i))->Bool(ir::Attr::weight);
      arguments.push_back({inputs[i].raw(), weight ? uint64_t{7} : uint64_t{0}});
    }
    Host host(threads);
    TEKTITE_RETURN_IF_ERROR(executable->Run(arguments, host));
    std::vector<Literal> results;
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      results.push_back(host.Take(static_cast<int>(i), graph.outputs()[i].shape()));
    }
    return results;
  };
  TEKTITE_ASSIGN_OR_RETURN(std::vector<Literal> first, run({}));
  // It uses no threads of the host's, and keeps weights between calls as the island does.
  if (GetParam().backend == kGpu) return first;
  const auto expect_same = [&](const std::vector<Literal>& results, absl::string_view what) {
    for (size_t i = 0; i < first.size(); ++i) {
      if (!(first[i] == results[i])) ADD_FAILURE() << "result " << i << " depends on " << what;
    }
  };
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Literal> shared, run(pool.Host()));
  expect_same(shared, "the number of threads");
  if (executable->num_unpacked() == 0) return first;
  while (executable->num_unpacked() > 0) TEKTITE_RETURN_IF_ERROR(run({}).status());
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Literal> packed, run({}));
  expect_same(packed, "whether weights are packed");
  return first;
}

bool ConformanceTest::IsStandIn() const {
  return GetParam().backend == kGpuCard && std::getenv(kCardVariable) == nullptr;
}

bool ConformanceTest::TakesLong(const ir::Graph& fixed) const {
  if (GetParam().backend == "cpu" || (GetParam().backend == kGpuCard && !IsStandIn())) return false;
  return Elements(fixed) > (IsStandIn() ? kMostOnStandIn : kMostInterpreted);
}

ConformanceTest::Ways ConformanceTest::WaysOf(const ir::Graph& graph,
                                              const CompileOptions& options) const {
  if (!options.symbolic || Symbolize(graph).values.empty()) return {true, false};
  if (TestsAreLong()) return {true, true};
  // By the graph, so that a test's only graph has its turn, too.
  const bool is_odd = ChecksumOf(ir::Print(graph)).bytes[0] % 2 != 0;
  if (GetParam().cpu == "avx2" || GetParam().backend == kIsland || IsStandIn()) {
    return {!is_odd, is_odd};
  }
  const bool has_partner = GetParam().backend == "cpu" || GetParam().backend == kGpu;
  return {true, !has_partner || !is_odd};
}

void ConformanceTest::Check(const ir::Graph& graph, const std::vector<Literal>& inputs,
                            const Tolerance& tolerance, const CompileOptions& options) {
  if (WriteGraph(graph)) return;
  const Ways ways = WaysOf(graph, options);
  if (!ways.fixed) return CheckSymbolic(graph, inputs, tolerance, options);
  if (TakesLong(graph)) {
    const auto compiled = Compile(graph, "shape0", options);
    if (IsRefusal(compiled.status())) return;
    ASSERT_TRUE(compiled.ok()) << compiled.status() << "\n" << ir::Print(graph);
    if (ways.any_size) CheckSymbolic(graph, inputs, tolerance, options);
    return;
  }
  auto want = EvaluateOnce(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  std::vector<Literal> before;
  for (const Literal& input : inputs) {
    before.push_back(Literal::CopyOf(input.dtype(), input.sizes(), input.raw()));
  }
  auto got = CompileAndRun(graph, inputs, options);
  if (IsRefusal(got.status())) return;
  ASSERT_TRUE(got.ok()) << got.status() << "\n" << ir::Print(graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(inputs[i] == before[i]) << "input " << i << " was overwritten\n"
                                        << ir::Print(graph);
  }
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < want->size(); ++i) {
    const std::string difference = Difference((*got)[i], (*want)[i], tolerance);
    EXPECT_EQ(difference, "") << "result " << i << "\n" << ir::Print(graph);
  }
  if (ways.any_size) CheckSymbolic(graph, inputs, tolerance, options);
}

void ConformanceTest::CheckSymbolic(const ir::Graph& graph, const std::vector<Literal>& inputs,
                                    const Tolerance& tolerance, const CompileOptions& options) {
  const SymbolicCase c = Symbolize(graph);
  if (c.values.empty()) return;
  CheckSizes(*c.graph, SizesToTry(c.values), tolerance, options, &inputs);
}

void ConformanceTest::CheckSizes(const ir::Graph& graph, const std::vector<SizeValues>& sizes,
                                 const Tolerance& tolerance, const CompileOptions& options,
                                 const std::vector<Literal>* first_inputs) {
  if (WriteGraph(graph)) return;
  if (is_device()) return CheckSizesOfCalls(graph, sizes, tolerance, options);
  KernelRunner runner(&CompilerFor(options),
                      CreateTested(GetParam(), {options.rounds_f32, options.warpgroups}));
  const absl::Status status = runner.Compile(graph);
  ASSERT_TRUE(status.ok()) << status << "\n" << ir::Print(graph);
  if (GetParam().may_refuse && !runner.refusals().empty()) ++refused_;
  if (options.must_be_symbolic && !GetParam().may_refuse) {
    EXPECT_THAT(runner.refusals(), ::testing::IsEmpty());
  }
  const int64_t compiled = runner.compiled();
  int runs = 0;
  for (const SizeValues& values : sizes) {
    const std::unique_ptr<ir::Graph> fixed = WithSizes(graph, values);
    const bool own = &values == &sizes[0];
    if (TakesLong(*fixed)) {
      runs += own ? 1 : 0;
      continue;
    }
    const bool must_run = own || options.must_be_symbolic;
    const auto sized = CaseAt(*fixed, own ? first_inputs : nullptr, must_run);
    if (!sized.ok()) {
      ASSERT_FALSE(must_run) << sized.status() << "\n" << ir::Print(*fixed);
      continue;
    }
    auto got = runner.Run(values, sized->inputs);
    ASSERT_TRUE(got.ok()) << got.status() << "\n" << ir::Print(graph);
    for (size_t i = 0; i < sized->want.size(); ++i) {
      const std::string difference = Difference((*got)[i], sized->want[i], tolerance);
      ASSERT_EQ(difference, "") << "result " << i << " of code for every size, at\n"
                                << ir::Print(*fixed) << ir::Print(graph);
    }
    ++runs;
  }
  EXPECT_GT(runs, 0);
  EXPECT_EQ(runner.compiled(), compiled) << "a kernel was made for some sizes";
}

void ConformanceTest::CheckSizesOfCalls(const ir::Graph& graph,
                                        const std::vector<SizeValues>& sizes,
                                        const Tolerance& tolerance, const CompileOptions& options) {
  auto executable = Compile(graph, "generic", options);
  if (IsRefusal(executable.status())) return;
  ASSERT_TRUE(executable.ok()) << executable.status() << "\n" << ir::Print(graph);
  int runs = 0;
  for (const SizeValues& values : sizes) {
    const std::unique_ptr<ir::Graph> fixed = WithSizes(graph, values);
    const bool own = &values == &sizes[0];
    if (TakesLong(*fixed)) {
      runs += own ? 1 : 0;
      continue;
    }
    const auto sized = CaseAt(*fixed, nullptr, own);
    if (!sized.ok()) {
      ASSERT_FALSE(own) << sized.status() << "\n" << ir::Print(*fixed);
      continue;
    }
    std::vector<runtime::Argument> arguments;
    for (const Literal& input : sized->inputs) {
      arguments.push_back({input.raw(), 0, input.sizes().data()});
    }
    Host host({});
    const absl::Status ran = (*executable)->Run(arguments, host);
    if (absl::IsOutOfRange(ran)) continue;  // sizes that need code of their own
    ASSERT_TRUE(ran.ok()) << ran << "\n" << ir::Print(graph);
    for (size_t i = 0; i < sized->want.size(); ++i) {
      const Literal got = host.Take(static_cast<int>(i), fixed->outputs()[i].shape());
      ASSERT_EQ(Difference(got, sized->want[i], tolerance), "") << "result " << i << "\n"
                                                                << ir::Print(*fixed);
    }
    ++runs;
  }
  EXPECT_GT(runs, 0);
}

void ConformanceTest::Check(ops::FuncBuilder& b, const Tolerance& tolerance,
                            const CompileOptions& options) {
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  Check(**graph, PlainInputs(**graph, 1), tolerance, options);
}

INSTANTIATE_TEST_SUITE_P(, ConformanceTest, ::testing::ValuesIn(ConformanceTargets()),
                         [](const auto& info) { return info.param.name; });

}  // namespace tektite::testing
