// Kernels for a device: their text, what Verify refuses, and the PTX that LLVM makes of them.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/llvm/loop_ir.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::loop {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kThreads = 256, kLanes = 4;

// A sum for each row of 1024 elements, a block each: four elements a thread, then a warp, then the
// warps' sums through shared memory, always in the same order.
std::unique_ptr<Kernel> RowSums() {
  auto k = std::make_unique<Kernel>(
      "row_sums", std::vector<BufferInfo>{{DType::kF32, "x", false}, {DType::kF32, "y", true}});
  k->launch.threads = kThreads;
  k->launch.blocks = 7;
  Builder b(k.get());
  const Value thread = b.ThreadIndex(), row = b.BlockIndex();
  const Value shared = b.AllocateShared(DType::kF32, kThreads / kWarpThreads);
  const Value at = b.Add(b.Mul(row, b.Index(kThreads * kLanes)), b.Mul(thread, b.Index(kLanes)));
  Value sum = b.ReduceLanes(ir::Op::kAdd, b.Load(b.Buffer(0), DType::kF32, at, kLanes));
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    sum = b.Add(sum, b.WarpDown(sum, distance));
  }
  const Value lane = b.Rem(thread, b.Index(kWarpThreads));
  b.If(b.Compare("eq", lane, b.Index(0)),
       [&] { b.Store(shared, b.Div(thread, b.Index(kWarpThreads)), sum); });
  b.Barrier();
  b.If(b.Compare("eq", thread, b.Index(0)), [&] {
    Value all = b.Float(DType::kF32, 0);
    for (int64_t w = 0; w < kThreads / kWarpThreads; ++w) {
      all = b.Add(all, b.Load(shared, DType::kF32, b.Index(w)));
    }
    b.Store(b.Buffer(1), row, all);
  });
  return k;
}

// PTX of `kernel`, or what went wrong.
std::string Ptx(const Kernel& kernel, const std::string& arch) {
  const absl::StatusOr<std::string> ptx = gpu::EmitPtx(kernel, arch);
  return ptx.ok() ? *ptx : ptx.status().ToString();
}

TEST(Device, TextNamesTheLaunch) {
  const std::unique_ptr<Kernel> k = RowSums();
  EXPECT_TRUE(Verify(*k).ok()) << Verify(*k);
  EXPECT_THAT(k->ToString(), AllOf(HasSubstr("threads 256 blocks 7 shared 32"),
                                   HasSubstr("warp_down f32"), HasSubstr("barrier")));
}

TEST(Device, BecomesPtxForEveryGeneration) {
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    // 16 bytes at once through the read-only cache, exchanges, a barrier, shared memory.
    EXPECT_THAT(
        Ptx(*RowSums(), arch),
        AllOf(HasSubstr(".visible .entry row_sums"), HasSubstr(".reqntid 256"),
              AnyOf(HasSubstr("ld.global.nc.v4.b32"), HasSubstr("ld.global.nc.v2.b64")),
              HasSubstr("shfl.sync.down.b32"), HasSubstr("bar.sync"), HasSubstr("st.shared.b32")))
        << arch;
  }
}

TEST(Device, UnalignedVectorsAreNotReadAtOnce) {
  Kernel k("shifted", {{DType::kF32, "x", false}, {DType::kF32, "y", true}});
  k.launch.threads = kWarpThreads;
  Builder b(&k);
  const Value at = b.Mul(b.ThreadIndex(), b.Index(kLanes));
  b.Store(b.Buffer(1), at, b.Load(b.Buffer(0), DType::kF32, b.Add(at, b.Index(1)), kLanes));
  EXPECT_THAT(Ptx(k, "sm_80"), AllOf(Not(HasSubstr("ld.global.nc.v4")), HasSubstr("st.global.v4")));
}

TEST(Device, VotesAndReadsOfOtherThreads) {
  Kernel k("votes", {{DType::kF64, "x", false}, {DType::kF64, "y", true}});
  k.launch.threads = kWarpThreads;
  Builder b(&k);
  const Value x = b.Load(b.Buffer(0), DType::kF64, b.ThreadIndex());
  const Value positive = b.Compare("gt", x, b.Float(DType::kF64, 0));
  const Value first = b.WarpRead(b.WarpXor(x, 3), b.Index(0));
  b.If(b.And(b.WarpAny(positive), b.WarpAll(positive)),
       [&] { b.Store(b.Buffer(1), b.ThreadIndex(), first); });
  EXPECT_TRUE(Verify(k).ok()) << Verify(k);
  EXPECT_THAT(Ptx(k, "sm_80"),
              AllOf(HasSubstr("vote.sync.any"), HasSubstr("vote.sync.all"),
                    HasSubstr("shfl.sync.bfly.b32"), HasSubstr("shfl.sync.idx.b32")));
}

// Copies 8 rows of 8 elements into shared memory, and multiplies them by themselves.
std::unique_ptr<Kernel> Squares(DType dtype) {
  auto k = std::make_unique<Kernel>(
      "squares", std::vector<BufferInfo>{{dtype, "x", false}, {DType::kF32, "y", true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  const Value shared = b.AllocateShared(dtype, 256);
  const Value at = b.Mul(b.ThreadIndex(), b.Index(16 / ir::DTypeBytes(dtype)));
  b.CopyAsync(shared, at, b.Buffer(0), at, dtype, b.Compare("lt", b.ThreadIndex(), b.Index(30)));
  b.CommitCopies();
  b.WaitForCopies(0);
  b.Barrier();
  const std::vector<Value> lhs = b.LoadMatrices(shared, dtype, at, 4, false);
  const std::vector<Value> rhs = b.LoadMatrices(shared, dtype, at, 2, dtype != DType::kF32);
  const Value sums = b.WarpMultiply(lhs, rhs, b.Splat(b.Float(DType::kF32, 0), 4));
  b.Store(b.Buffer(1), b.Mul(b.ThreadIndex(), b.Index(4)), sums);
  return k;
}

TEST(Device, MatricesAndCopiesOfEveryGeneration) {
  EXPECT_THAT(Squares(DType::kF16)->ToString(),
              AllOf(HasSubstr("copy_async f16 shared+0"), HasSubstr("wait_for_copies 0"),
                    HasSubstr("load_matrices f16x2 shared+0"), HasSubstr(", transposed"),
                    HasSubstr("warp_multiply f32x4")));
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    EXPECT_THAT(Ptx(*Squares(DType::kF16), arch),
                AllOf(HasSubstr("cp.async.cg.shared.global"), HasSubstr("cp.async.wait_group"),
                      HasSubstr("ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
                      HasSubstr("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"),
                      HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")));
    EXPECT_THAT(Ptx(*Squares(DType::kBF16), arch),
                HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"));
    EXPECT_THAT(
        Ptx(*Squares(DType::kF32), arch),
        AllOf(HasSubstr("cvt.rna.tf32.f32"), HasSubstr("ldmatrix.sync.aligned.m8n8.x2.shared.b16"),
              HasSubstr("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")));
  }
}

// Products of bytes by a warp and by a thread, whose sums are the first four elements' s32.
std::unique_ptr<Kernel> ProductsOfBytes(DType left, DType right) {
  auto k = std::make_unique<Kernel>(
      "bytes",
      std::vector<BufferInfo>{{left, "x", false}, {right, "y", false}, {DType::kS32, "z", true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  const auto words = [&](int buffer) {
    const Value at = b.Mul(b.ThreadIndex(), b.Index(4));
    return b.Load(b.Buffer(buffer), buffer == 0 ? left : right, at, 4);
  };
  const Value x = words(0), y = words(1);
  const Value sums = b.WarpMultiply({x, x, x, x}, {y, y}, b.Splat(b.Int(DType::kS32, 0), 4));
  const Value more = b.DotBytes(x, y, b.ExtractLane(sums, 0));
  b.Store(b.Buffer(2), b.ThreadIndex(), more);
  return k;
}

TEST(Device, ProductsOfBytesOfEveryGeneration) {
  EXPECT_THAT(ProductsOfBytes(DType::kU8, DType::kS8)->ToString(),
              AllOf(HasSubstr("warp_multiply s32x4"), HasSubstr("dot_bytes s32")));
  const auto name = [](DType dtype) { return dtype == DType::kS8 ? "s8" : "u8"; };
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    for (const DType left : {DType::kS8, DType::kU8}) {
      for (const DType right : {DType::kS8, DType::kU8}) {
        const std::string types = absl::StrCat(name(left), ".", name(right));
        const std::string signs = absl::StrCat(left == DType::kS8 ? "s32" : "u32", ".",
                                               right == DType::kS8 ? "s32" : "u32");
        EXPECT_THAT(Ptx(*ProductsOfBytes(left, right), arch),
                    AllOf(HasSubstr("mma.sync.aligned.m16n8k32.row.col.s32." + types + ".s32"),
                          HasSubstr("dp4a." + signs)));
      }
    }
  }
}

TEST(Device, WhatProductsOfBytesAreNot) {
  const auto fault = [](int left, int right, DType sums) {
    Kernel k("k", {{DType::kF32, "y", true}});
    k.launch.threads = kWarpThreads;
    Builder b(&k);
    b.DotBytes(b.Splat(b.Int(DType::kS8, 1), left), b.Splat(b.Int(DType::kU8, 1), right),
               b.Constant(sums, 0));
    return std::string(Verify(k).message());
  };
  EXPECT_EQ(fault(4, 4, DType::kS32), "");
  EXPECT_THAT(fault(8, 4, DType::kS32), HasSubstr("operand 0 is not 4 bytes"));
  EXPECT_THAT(fault(4, 1, DType::kS32), HasSubstr("operand 1 is not 4 bytes"));
  EXPECT_THAT(fault(4, 4, DType::kF32), HasSubstr("the sums are not s32"));
}

TEST(Device, WhatMatricesAndCopiesAreNot) {
  const auto fault = [](const std::function<void(Builder&, Value)>& body) {
    Kernel k("k", {{DType::kBF16, "x", false}, {DType::kF32, "y", true}});
    k.launch.threads = kWarpThreads;
    Builder b(&k);
    body(b, b.AllocateShared(DType::kBF16, 256));
    return std::string(Verify(k).message());
  };
  const auto multiply = [](DType left, DType right, int lanes) {
    return [=](Builder& b, Value) {
      const auto part = [&](DType dtype) {
        return b.Splat(b.Float(dtype, 1), loop::PartLanes(ir::DTypeBytes(dtype)));
      };
      const Value x = part(left), y = part(right);
      b.WarpMultiply({x, x, x, x}, {y, y}, b.Splat(b.Float(DType::kF32, 0), lanes));
    };
  };
  EXPECT_EQ(fault(multiply(DType::kBF16, DType::kBF16, 4)), "");
  EXPECT_EQ(fault(multiply(DType::kF32, DType::kF32, 4)), "");
  EXPECT_THAT(fault(multiply(DType::kS32, DType::kS32, 4)),
              HasSubstr("elements must be f16, bf16, f32, s8 or u8"));
  EXPECT_THAT(fault(multiply(DType::kF16, DType::kBF16, 4)), HasSubstr("multiplies f16 by bf16"));
  EXPECT_THAT(fault(multiply(DType::kF16, DType::kF16, 2)), HasSubstr("sums are not f32 x 4"));
  const auto copy = [](int64_t step, bool from_shared) {
    return [=](Builder& b, Value shared) {
      const Value at = b.Mul(b.ThreadIndex(), b.Index(step));
      b.CopyAsync(shared, at, from_shared ? shared : b.Buffer(0), at, DType::kBF16);
    };
  };
  EXPECT_EQ(fault(copy(8, false)), "");
  EXPECT_THAT(fault(copy(8, true)), HasSubstr("the first operand must be a pointer into a buffer"));
  EXPECT_THAT(fault(copy(4, false)), HasSubstr("a multiple of 8 only"));
  EXPECT_THAT(fault([](Builder& b, Value shared) {
                b.LoadMatrices(shared, DType::kBF16, b.Index(4), 4, false);
              }),
              HasSubstr("a multiple of 8 only"));
  EXPECT_THAT(fault([](Builder& b, Value shared) {
                b.LoadMatrices(shared, DType::kF32, b.Index(0), 4, true);
              }),
              HasSubstr("elements of 32 bits cannot be transposed"));
  EXPECT_THAT(fault([](Builder& b, Value shared) {
                b.LoadMatrices(shared, DType::kBF16, b.Index(0), 3, false);
              }),
              HasSubstr("3 matrices"));
}

// A loop's index is a multiple of what its beginning and its step are multiples of.
TEST(Device, VectorsInLoopsAreReadAtOnce) {
  const auto loads = [](int64_t begin, int64_t step) {
    Kernel k("k", {{DType::kF32, "x", false}, {DType::kF32, "y", true}}, {"n"});
    k.launch.threads = kWarpThreads;
    Builder b(&k);
    b.For(b.Index(begin), b.Index(ir::Dim::Symbol("n")), step, [&](Value i) {
      b.Store(b.Buffer(1), b.Mul(b.ThreadIndex(), b.Index(4)),
              b.Load(b.Buffer(0), DType::kF32, i, 4));
    });
    return Ptx(k, "sm_80");
  };
  EXPECT_THAT(loads(0, 4), HasSubstr("ld.global.nc.v4"));
  EXPECT_THAT(loads(-8, 12), HasSubstr("ld.global.nc.v4"));
  EXPECT_THAT(loads(2, 4), Not(HasSubstr("ld.global.nc.v4")));
  EXPECT_THAT(loads(0, 2), Not(HasSubstr("ld.global.nc.v4")));
}

// A size that is known at the call alone is divided by in products; a GPU's 64-bit division is
// long.
TEST(Device, NarrowDivisionsAreProducts) {
  Kernel k("k", {{DType::kS64, "y", true}}, {"n"});
  k.launch.threads = kWarpThreads;
  Builder b(&k);
  b.Store(b.Buffer(0), b.ThreadIndex(), b.DivNarrow(b.BlockIndex(), ir::Dim::Symbol("n")));
  EXPECT_THAT(k.ToString(), HasSubstr("div narrow s64 block_index, size"));
  EXPECT_THAT(Ptx(k, "sm_80"), AllOf(HasSubstr("mul"), Not(HasSubstr("div."))));
}

TEST(Device, TheHostHasNoThreadsAndADeviceNoChunks) {
  Kernel host("host", {{DType::kF32, "y", true}});
  Builder h(&host);
  h.Store(h.Buffer(0), h.ThreadIndex(), h.Float(DType::kF32, 1));
  EXPECT_THAT(std::string(Verify(host).message()), HasSubstr("in a kernel of the host"));

  Kernel device("device", {{DType::kF32, "y", true}});
  device.launch.threads = kWarpThreads;
  Builder d(&device);
  d.Store(d.Buffer(0), d.ChunkBegin(), d.Float(DType::kF32, 1));
  EXPECT_THAT(std::string(Verify(device).message()), HasSubstr("in a kernel of a device"));

  Kernel ragged("ragged", {});
  ragged.launch.threads = 33;
  EXPECT_THAT(std::string(Verify(ragged).message()), HasSubstr("blocks of 33 threads"));
}

}  // namespace
}  // namespace tektite::loop
