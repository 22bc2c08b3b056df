// Keys: what code depends on changes them, what it does not depend on leaves them alone.
#include "jit/cache/key.h"

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/compiler/specialize.h"

namespace tektite::cache {
namespace {

class FakeBackend : public backend::Backend {
 public:
  absl::string_view name() const override { return "fake"; }
  const target::TargetInfo& target() const override { return info; }
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node&, const backend::CompileOptions&) override {
    return absl::UnimplementedError("fake");
  }
  target::TargetInfo info;
};

struct Parsed {
  std::unique_ptr<ir::Graph> graph;
  const ir::Node* fusion = nullptr;
};

Parsed FusionOf(const std::string& type, const std::string& body) {
  const std::string text = "graph @f(%a: " + type + ") -> (" + type + ") {\n  %b: " + type +
                           " = fusion(%a) {kind = loop}\n    graph @inner(%x: " + type + ") -> (" +
                           type + ") {\n      %y: " + type + " = " + body +
                           "\n      return %y\n    }\n  return %b\n}\n";
  auto graph = compiler::ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  Parsed parsed{*std::move(graph), nullptr};
  for (const auto& node : parsed.graph->nodes()) {
    if (node->op() == ir::Op::kFusion) parsed.fusion = node.get();
  }
  return parsed;
}

class KeyTest : public ::testing::Test {
 protected:
  CacheKey Describe(const Parsed& parsed) {
    return DescribeKernel(*parsed.fusion, "k", *KeyEnvironment::Create(backend_, flags_, host_));
  }
  // Names of the parts in which the two differ.
  static std::string Differing(const CacheKey& a, const CacheKey& b) {
    std::string names;
    const PartPrints x = PrintsOf(a.parts), y = PrintsOf(b.parts);
    for (size_t i = 0; i < kNumKeyParts; ++i) {
      if (x[i] != y[i]) names += std::string(KeyPartName(i)) + " ";
    }
    EXPECT_EQ(names.empty(), a.fingerprint == b.fingerprint);
    return names;
  }

  FakeBackend backend_;
  Flags flags_;
  std::string host_ = "tensorflow 2.21.0";
};

TEST_F(KeyTest, PartsOfTheCode) {
  const CacheKey key = Describe(FusionOf("f32[4]", "neg(%x)"));
  EXPECT_EQ(Differing(key, Describe(FusionOf("f32[4]", "neg(%x)"))), "");
  EXPECT_EQ(Differing(key, Describe(FusionOf("f32[4]", "neg(%x) \"a name\""))), "");
  EXPECT_EQ(Differing(key, Describe(FusionOf("f32[5]", "neg(%x)"))), "ir types ");
  EXPECT_EQ(Differing(key, Describe(FusionOf("f64[4]", "neg(%x)"))), "ir types ");
  EXPECT_EQ(Differing(key, Describe(FusionOf("f32[4]", "abs(%x)"))), "ops ir ");
  const CacheKey reverse = Describe(FusionOf("f32[4,4]", "reverse(%x) {dimensions = [0]}"));
  EXPECT_EQ(Differing(reverse, Describe(FusionOf("f32[4,4]", "reverse(%x) {dimensions = [1]}"))),
            "ir ");
}

TEST_F(KeyTest, SymbolsCountByTheirOrder) {
  const CacheKey key = Describe(FusionOf("f32[n,m]", "neg(%x)"));
  EXPECT_EQ(Differing(key, Describe(FusionOf("f32[rows,columns]", "neg(%x)"))), "");
  EXPECT_EQ(Differing(key, Describe(FusionOf("f32[n,n]", "neg(%x)"))), "ir types ");
}

TEST_F(KeyTest, FactsAboutSizes) {
  Parsed plain = FusionOf("f32[n,m]", "neg(%x)"), known = FusionOf("f32[n,m]", "neg(%x)");
  known.fusion->region().guards().push_back({ir::Dim::Symbol("n"), ir::Dim::Symbol("m")});
  EXPECT_EQ(Differing(Describe(plain), Describe(known)), "ir facts ");
}

TEST_F(KeyTest, PartsOfTheEnvironment) {
  const Parsed fusion = FusionOf("f32[4]", "neg(%x)");
  const CacheKey key = Describe(fusion);
  auto with = [&](const std::function<void()>& change, const std::function<void()>& back) {
    change();
    const std::string differing = Differing(key, Describe(fusion));
    back();
    return differing;
  };
  target::TargetInfo& info = backend_.info;
  const target::TargetInfo before = info;
  const auto restore = [&] { info = before; };
  EXPECT_EQ(with([&] { info.cpu = "other"; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.features = "+more"; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.vector_bytes = 64; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.l2_bytes *= 2; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.clock_ghz = 3; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.vector_fmas_per_cycle = 1; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.memory_bytes_per_ns = 10; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.l2_bytes_per_ns = 200; }, restore), "cpu ");
  EXPECT_EQ(with([&] { info.code_generator = "llvm 99"; }, restore), "llvm ");
  EXPECT_EQ(with([&] { flags_.cpu = "avx2"; }, [&] { flags_.cpu = "native"; }), "flags ");
  EXPECT_EQ(with([&] { flags_.verify = true; }, [&] { flags_.verify = false; }), "");
  EXPECT_EQ(with([&] { host_ = "tensorflow 2.22.0"; }, [] {}), "host ");
}

// Every flag that says it changes code is part of every key, and no other is.
TEST_F(KeyTest, FlagsThatAffectCode) {
  const Parsed fusion = FusionOf("f32[4]", "neg(%x)");
  const CacheKey key = Describe(fusion);
  const auto check = [&](const std::string& type, const std::string& name, bool affects_code) {
    const std::string text =
        absl::StrCat("--", name, "=",
                     type == "bool" ? (Flags().Number(name) == 1 ? "false" : "true")
                                    : (type == "int64" ? "12345" : "other"));
    std::vector<std::string> errors;
    flags_ = Flags::Parse(text, &errors);
    EXPECT_TRUE(errors.empty()) << text;
    EXPECT_EQ(Differing(key, Describe(fusion)), affects_code ? "flags " : "") << text;
  };
#define TEKTITE_FLAG(type, name, default_value, affects_code, help) \
  check(#type, #name, affects_code);
#include "jit/base/flag_list.inc"
#undef TEKTITE_FLAG
}

class ModuleKeyTest : public KeyTest {
 protected:
  CacheKey DescribeIt() {
    return DescribeModule("cluster_0", FingerprintOf(text_.graph), text_,
                          *KeyEnvironment::Create(backend_, flags_, host_));
  }
  std::string With(const std::function<void()>& change) {
    const CacheKey key = DescribeIt();
    const ModuleText text = text_;
    const Flags flags = flags_;
    const target::TargetInfo info = backend_.info;
    const std::string host = host_;
    change();
    const std::string differing = Differing(key, DescribeIt());
    text_ = text;
    flags_ = flags;
    backend_.info = info;
    host_ = host;
    return differing;
  }
  ModuleText text_{"MatMul 0#0 1#0 transpose_a=false\n", "MatMul 0#0 1#0\n", "f32[4,8]\n", ""};
};

TEST_F(ModuleKeyTest, EveryPart) {
  EXPECT_EQ(With([&] { text_.graph = "MatMul 0#0 1#0 transpose_a=true\n"; }), "ir ");
  EXPECT_EQ(With([&] { text_.graph = text_.ops = "Relu 0#0\n"; }), "ops ir ");
  EXPECT_EQ(With([&] { text_.types = "f32[5,8]\n"; }), "ir types ");
  EXPECT_EQ(With([&] { text_.facts = "varies 0.0:s0\n"; }), "facts ");
  EXPECT_EQ(With([&] { backend_.info.features = "+more"; }), "cpu ");
  EXPECT_EQ(With([&] { backend_.info.code_generator = "llvm 99"; }), "llvm ");
  EXPECT_EQ(With([&] { flags_.cpu = "avx2"; }), "flags ");
  EXPECT_EQ(With([&] { flags_.disable_passes = "fuse"; }), "flags ");
  EXPECT_EQ(With([&] { flags_.compile = "sync"; }), "");
  EXPECT_EQ(With([&] { host_ = "tensorflow 2.22.0"; }), "host ");
}

// A kernel and a plan of the same text are two things.
TEST_F(ModuleKeyTest, KindsAreApart) {
  const auto environment = KeyEnvironment::Create(backend_, flags_, host_);
  EXPECT_NE(environment->Finish(EntryKind::kKernel, "x"),
            environment->Finish(EntryKind::kModule, "x"));
}

}  // namespace
}  // namespace tektite::cache
