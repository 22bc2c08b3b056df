// PTX, its assembly by any assembler that is here, and the assemblers' logs.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backends/gpu/codegen/assembler.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "backends/gpu/emit/emitter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/llvm/lower.h"

namespace tektite::gpu {
namespace {

using loop::Builder;
using loop::DType;
using loop::Value;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kThreads = 64;
constexpr const char* kArchitectures[] = {"sm_80", "sm_90a", "sm_120"};

// y = x * x + x of the neighbour, through shared memory.
std::unique_ptr<loop::Kernel> Neighbours() {
  auto k = std::make_unique<loop::Kernel>(
      "neighbours",
      std::vector<loop::BufferInfo>{{DType::kF32, "x", false}, {DType::kF32, "y", true}});
  k->launch.threads = kThreads;
  Builder b(k.get());
  const Value t = b.ThreadIndex(), shared = b.AllocateShared(DType::kF32, kThreads);
  const Value x = b.Load(b.Buffer(0), DType::kF32, t);
  b.Store(shared, t, b.Mul(x, x));
  b.Barrier();
  const Value next = b.Rem(b.Add(t, b.Index(1)), b.Index(kThreads));
  b.Store(b.Buffer(1), t, b.Add(b.Mul(x, x), b.Load(shared, DType::kF32, next)));
  return k;
}

TEST(Architecture, IsKnownByItsCapability) {
  EXPECT_EQ(*ArchitectureOf(8, 0), "sm_80");
  EXPECT_EQ(*ArchitectureOf(9, 0), "sm_90a");
  EXPECT_EQ(*ArchitectureOf(12, 0), "sm_120");
  EXPECT_EQ(ArchitectureOf(7, 5).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(ArchitectureOf(7, 5).status().message()), HasSubstr("7.5"));
}

TEST(Ptx, OfAnArchitectureThatNobodyKnows) {
  const auto ptx = EmitPtx(*Neighbours(), "sm_75");
  EXPECT_EQ(ptx.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(ptx.status().message()), HasSubstr("'sm_75'"));
}

TEST(Ptx, OfAKernelOfTheHost) {
  const loop::Kernel host("host", {});
  EXPECT_THAT(std::string(EmitPtx(host, "sm_80").status().message()), HasSubstr("for the host"));
}

TEST(Ptx, ProductsAndSumsStayApart) {
  const auto ptx = EmitPtx(*Neighbours(), "sm_80");
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, AllOf(HasSubstr("mul.rn.f32"), HasSubstr("add.rn.f32"), Not(HasSubstr("fma")),
                          Not(HasSubstr(".ftz"))));
}

// PTX shifts by 32 bits of an amount: one of 2^32 must not count as 0.
TEST(Ptx, ShiftsBy64BitsOfAnAmount) {
  for (ir::Op op : {ir::Op::kShiftLeft, ir::Op::kShiftRightLogical}) {
    loop::Kernel k("shift", std::vector<loop::BufferInfo>{{DType::kS64, "x", false},
                                                          {DType::kS64, "n", false},
                                                          {DType::kS64, "y", true}});
    k.launch.threads = kThreads;
    Builder b(&k);
    const Value t = b.ThreadIndex();
    const Value x = b.Load(b.Buffer(0), DType::kS64, t), n = b.Load(b.Buffer(1), DType::kS64, t);
    b.Store(b.Buffer(2), t, b.Binary(op, x, n));
    const auto ptx = EmitPtx(k, "sm_80");
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    EXPECT_THAT(*ptx, ::testing::ContainsRegex("min.u64[^;]*, 64;"));
  }
}

// Otherwise ptxas aims at 32, and spills what does not fit.
TEST(Ptx, LeavesTheAssemblerItsRegisters) {
  const auto ptx = EmitPtx(*Neighbours(), "sm_80");
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, AllOf(HasSubstr(".reqntid 64"), HasSubstr(".minnctapersm 8")));
}

std::unique_ptr<loop::Kernel> WithShared(int64_t bytes) {
  auto k = std::make_unique<loop::Kernel>("shared",
                                          std::vector<loop::BufferInfo>{{DType::kF32, "y", true}});
  k->launch.threads = kThreads;
  Builder b(k.get());
  const Value t = b.ThreadIndex(), shared = b.AllocateShared(DType::kF32, bytes / 4);
  b.Store(shared, t, b.Float(DType::kF32, 1));
  b.Barrier();
  b.Store(b.Buffer(0), t, b.Load(shared, DType::kF32, b.Sub(b.Index(kThreads - 1), t)));
  return k;
}

// What a module cannot declare the launch asks for.
TEST(Ptx, MuchSharedMemoryIsTheLaunchsAffair) {
  const auto declared = EmitPtx(*WithShared(48 << 10), "sm_80");
  ASSERT_TRUE(declared.ok()) << declared.status();
  EXPECT_THAT(*declared, HasSubstr("shared_memory[49152]"));
  EXPECT_EQ(loop::DynamicSharedBytes(*WithShared(48 << 10)), 0);
  const auto asked = EmitPtx(*WithShared(64 << 10), "sm_80");
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_THAT(*asked, HasSubstr(".extern .shared .align 16 .b8 shared_memory[]"));
  EXPECT_EQ(loop::DynamicSharedBytes(*WithShared(64 << 10)), 64 << 10);
  EXPECT_TRUE(EmitPtx(*WithShared(160 << 10), "sm_90a").ok());
  const auto refused = EmitPtx(*WithShared(160 << 10), "sm_120");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("163840 bytes of shared memory"));
}

TEST(Ptx, EveryGenerationHasTheSharedMemoryThatEmittersCountOn) {
  int64_t least = MostSharedBytes("sm_90a");
#define TEKTITE_GPU_CAPABILITY(major, minor, architecture, shared_kib) \
  least = std::min(least, MostSharedBytes(architecture));
#include "backends/gpu/codegen/capability_list.inc"
#undef TEKTITE_GPU_CAPABILITY
  EXPECT_EQ(least, EmitOptions().shared_bytes);
  EXPECT_EQ(MostSharedBytes("sm_75"), 0);
}

TEST(Resources, AreReadFromALog) {
  const auto resources = ParseResources(
      "ptxas info    : 24 bytes gmem\n"
      "ptxas info    : Function properties for k\n"
      "    64 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 64 bytes cumulative stack size, 2048 "
      "bytes smem, 360 bytes cmem[0], 8 bytes cmem[2]\n");
  ASSERT_TRUE(resources.ok()) << resources.status();
  EXPECT_EQ(resources->registers, 40);
  EXPECT_EQ(resources->shared_bytes, 2048);
  EXPECT_EQ(resources->constant_bytes, 368);
  EXPECT_EQ(resources->stack_bytes, 64);
  EXPECT_EQ(resources->spill_store_bytes, 12);
  EXPECT_EQ(resources->spill_load_bytes, 16);
  EXPECT_EQ(resources->spilled_bytes(), 28);
  EXPECT_EQ(resources->warning, "");
  const auto slow = ParseResources(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources\nptxas info    : Used 168 registers\n");
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_THAT(slow->warning, HasSubstr("are serialized"));
  EXPECT_FALSE(ParseResources("").ok());
  EXPECT_FALSE(ParseResources("many registers").ok());
}

TEST(Assembler, ErrorsAreTheFirstLineOfTheLog) {
  EXPECT_THAT(std::string(AssemblyError("\n  line 3; error\nmore\n", "sm_80").message()),
              "PTX for sm_80: line 3; error");
  EXPECT_THAT(std::string(AssemblyError("", "sm_80").message()), HasSubstr("sm_80"));
}

TEST(Assembler, ThatIsNotThere) {
  const auto library = OpenPtxLibrary("/nowhere/library.so");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(library.status().message()), HasSubstr("/nowhere/library.so"));
  // A library, but another one.
  EXPECT_THAT(std::string(OpenPtxLibrary("libm.so.6").status().message()), HasSubstr("lacks"));
  EXPECT_EQ(FindPtxas("/nowhere/ptxas").status().code(), absl::StatusCode::kUnimplemented);
  // A program, but another one.
  EXPECT_THAT(std::string(FindPtxas("/bin/true").status().message()), HasSubstr("no version"));
}

TEST(DeviceCode, IsPtxAloneWithoutAnAssembler) {
  const auto code = CompileForDevice(*Neighbours(), "sm_90a", nullptr);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_THAT(code->ptx, HasSubstr(".target sm_90a"));
  EXPECT_TRUE(code->cubin.bytes.empty());
}

class EveryAssembler : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool library = std::string(GetParam()) == "Library";
    auto assembler = library ? OpenPtxLibrary() : FindPtxas();
    if (!assembler.ok()) GTEST_SKIP() << assembler.status().message();
    assembler_ = *std::move(assembler);
  }
  std::unique_ptr<Assembler> assembler_;
};

TEST_P(EveryAssembler, MakesCodeForEveryGeneration) {
  EXPECT_THAT(assembler_->version(), AnyOf(StartsWith("PTX compiler "), StartsWith("ptxas ")));
  for (const char* architecture : kArchitectures) {
    const auto code = CompileForDevice(*Neighbours(), architecture, assembler_.get());
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_THAT(code->cubin.bytes, StartsWith("\x7f"
                                              "ELF"));
    const Resources& r = code->cubin.resources;
    EXPECT_GT(r.registers, 4) << architecture;
    EXPECT_LT(r.registers, 32) << architecture;
    EXPECT_GE(r.shared_bytes, 4 * kThreads) << architecture;
    EXPECT_EQ(r.spilled_bytes(), 0) << architecture;
    EXPECT_EQ(r.stack_bytes, 0) << architecture;
  }
}

TEST_P(EveryAssembler, NamesWhatDoesNotAssemble) {
  const auto cubin = assembler_->Assemble(
      ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() {\n  frobnicate;\n}\n", "sm_80");
  EXPECT_EQ(cubin.status().code(), absl::StatusCode::kInvalidArgument) << cubin.status();
  EXPECT_THAT(std::string(cubin.status().message()),
              AllOf(HasSubstr("PTX for sm_80: "), HasSubstr("line 5"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(assembler_->Assemble("", "sm_80").ok());
  // Code for this very capability, assembled for another one.
  const auto ptx = EmitPtx(*Neighbours(), "sm_90a");
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_FALSE(assembler_->Assemble(*ptx, "sm_80").ok());
}

INSTANTIATE_TEST_SUITE_P(OfThisMachine, EveryAssembler, ::testing::Values("Library", "Ptxas"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tektite::gpu
