// PTX, its assembly by any assembler that is here, and the assemblers' logs.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
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

// What is emitted of a reduction of f32[2304,32] along its rows, up to the end of its loop.
constexpr char kReduction[] = R"(.version 8.7
.target sm_120
.address_size 64
.visible .entry reduce(
  .param .u64 .ptr .global .align 1 reduce_param_0
)
.reqntid 256
.minnctapersm 4
{
  .reg .pred   %p<13>;
  .reg .b32   %r<105>;
  .reg .b64   %rd<25>;
  .shared .align 16 .b8 shared_memory[4096];
  ld.param.b64   %rd9, [reduce_param_0];
  mov.u32   %r1, %ctaid.x;
  ld.global.nc.b64   %rd10, [%rd9];
  ld.global.nc.b64   %rd1, [%rd9+16];
  mov.u32   %r2, %tid.x;
  cvt.u64.u32   %rd2, %r2;
  shr.u64   %rd3, %rd2, 3;
  mul.wide.u32   %rd4, %r2, 4;
  mul.wide.u32   %rd5, %r1, 128;
  or.b64   %rd6, %rd5, 32;
  or.b64   %rd22, %rd5, %rd3;
  mul.wide.u32   %rd11, %r1, 16384;
  shl.b64   %rd12, %rd3, 7;
  or.b64   %rd13, %rd11, %rd12;
  and.b32   %r3, %r2, 7;
  mul.wide.u32   %rd14, %r3, 16;
  or.b64   %rd15, %rd13, %rd14;
  add.s64   %rd16, %rd15, %rd10;
  add.s64   %rd21, %rd16, 8192;
  mov.b32   %r4, 0fFF800000;
  mov.b64   %rd24, {%r4, %r4};
  mov.b64   %rd23, %rd24;
$L__BB0_1:
  ld.global.nc.v4.b32   {%r5, %r6, %r7, %r8}, [%rd21+-8192];
  ld.global.nc.v4.b32   {%r9, %r10, %r11, %r12}, [%rd21+-4096];
  ld.global.nc.v4.b32   {%r13, %r14, %r15, %r16}, [%rd21];
  ld.global.nc.v4.b32   {%r17, %r18, %r19, %r20}, [%rd21+4096];
  max.NaN.f32   %r21, %r8, %r12;
  max.NaN.f32   %r22, %r7, %r11;
  max.NaN.f32   %r23, %r6, %r10;
  max.NaN.f32   %r24, %r5, %r9;
  max.NaN.f32   %r25, %r16, %r20;
  max.NaN.f32   %r26, %r15, %r19;
  max.NaN.f32   %r27, %r14, %r18;
  max.NaN.f32   %r28, %r13, %r17;
  max.NaN.f32   %r29, %r24, %r28;
  max.NaN.f32   %r30, %r23, %r27;
  max.NaN.f32   %r31, %r22, %r26;
  max.NaN.f32   %r32, %r21, %r25;
  mov.b64   {%r33, %r34}, %rd24;
  max.NaN.f32   %r35, %r34, %r32;
  max.NaN.f32   %r36, %r33, %r31;
  mov.b64   %rd24, {%r36, %r35};
  mov.b64   {%r37, %r38}, %rd23;
  max.NaN.f32   %r39, %r38, %r30;
  max.NaN.f32   %r40, %r37, %r29;
  mov.b64   %rd23, {%r40, %r39};
  add.s64   %rd22, %rd22, 128;
  add.s64   %rd21, %rd21, 16384;
  setp.lt.u64   %p1, %rd22, %rd6;
  @%p1 bra   $L__BB0_1;
  ld.global.nc.b64   %rd11, [%rd9+8];
  st.global.v2.b64   [%rd11], {%rd23, %rd24};
  ret;
}
)";

TEST_P(EveryAssembler, KeepsALoopWhoseCopiesWouldSpill) {
  const auto unrolled = assembler_->Assemble(kReduction, "sm_120");
  ASSERT_TRUE(unrolled.ok()) << unrolled.status();
  const bool spills = unrolled->resources.spilled_bytes() > 0;  // assemblers of CUDA 13.0 do
  std::string ptx = kReduction;
  const auto cubin = AssembleInRegisters(&ptx, "sm_120", *assembler_);
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  EXPECT_EQ(cubin->resources.spilled_bytes(), 0);
  EXPECT_EQ(absl::StrContains(ptx, ".pragma \"nounroll\";"), spills);
  // Where nothing spills, the assembler does as it likes.
  std::string simple = *EmitPtx(*Neighbours(), "sm_120");
  const std::string before = simple;
  ASSERT_TRUE(AssembleInRegisters(&simple, "sm_120", *assembler_).ok());
  EXPECT_EQ(simple, before);
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
