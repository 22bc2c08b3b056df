// The loop IR: what kernel emitters write and jit/llvm lowers to LLVM IR.
//
// A kernel is a structured program over scalars and explicit vectors: loops with carried values,
// loads and stores with masks, arithmetic named by the tensor IR's ops, and vector math functions.
// Emitters choose lanes, tiles and unrolling; nothing below changes that choice.
//
//   loop::Kernel k("scale", {{DType::kF32, "x", false}, {DType::kF32, "y", true}});
//   loop::Builder b(&k);
//   Value two = b.Splat(b.Float(DType::kF32, 2.0), 16);
//   b.For(b.ChunkBegin(), b.ChunkEnd(), 1, [&](Value c) {
//     Value at = b.Mul(c, b.Index(16));
//     b.Store(b.Buffer(1), at, b.Mul(b.Load(b.Buffer(0), DType::kF32, at, 16), two));
//   });
//
// Types: a dtype and a number of lanes (1: a scalar), or a pointer.  Index arithmetic is s64. Masks
// are vectors of bool; bool in memory is a byte, 0 or 1.  f16 and bf16 have no arithmetic: convert
// to f32 after the load and back before the store.  Indices count elements of the accessed dtype.
// No alignment is assumed; buffers that are written do not alias other buffers unless marked.
// Arithmetic is IEEE without reassociation or contraction; Fma is the only fused operation.  max
// and min return NaN if either operand is NaN; integer division by zero returns -1, and rem returns
// the dividend; shifts by the width or more return 0 (arithmetic right shift: the sign).
//
// A size is a dimension expression: Index(dim) is a constant where the dimension is one, and
// otherwise an entry of the table that the code's caller fills by Kernel::sizes.  So one emitter
// makes the code for fixed shapes and the code for every shape.
//
// A kernel is for the host or for a device.  The host runs chunks of it, which ChunkBegin and
// ChunkEnd tell.  A device runs Launch::blocks blocks of Launch::threads threads, each of which
// runs the whole program:
//
//   k.launch = {256, CeilDiv(n, 256)};
//   Value i = b.Add(b.Mul(b.BlockIndex(), b.Index(256)), b.ThreadIndex());
//   b.If(b.Compare("lt", i, b.Index(n)), [&] { b.Store(b.Buffer(1), i, ...); });
//
// Threads of a block share memory (AllocateShared), which holds anything at first, and wait for
// each other at a Barrier: after it each thread sees all that any of them wrote before it.  32
// threads are a warp, which exchanges values without memory.  All threads of a block must reach a
// barrier, all of a warp an exchange, none behind a condition on which they differ.  Two threads
// without a barrier between them must not touch the same byte, unless both read.
//
// On sm_90a there is more (warpgroup.h): threads in two roles that run side by side, signals that
// they wait for, boxes of tensors that are copied in the background, and products of matrices in
// shared memory that a warpgroup of four warps begins together and waits for later.
//
// Constants are folded while building (scalar s64 and bool), so emitters need no special cases for
// loops of known length; a For over an empty constant range disappears, one trip is inlined.
#ifndef TEKTITE_JIT_LLVM_LOOP_IR_H_
#define TEKTITE_JIT_LLVM_LOOP_IR_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/ir/dim_program.h"
#include "jit/ir/dtype.h"
#include "jit/ir/op.h"

namespace tektite::loop {

using ir::DType;

struct Type {
  DType dtype = DType::kS64;
  int lanes = 1;
  bool pointer = false;
  bool shared = false;  // a pointer into the shared memory of a block
  friend bool operator==(const Type& a, const Type& b) {
    return a.dtype == b.dtype && a.lanes == b.lanes && a.pointer == b.pointer &&
           a.shared == b.shared;
  }
};

struct Instr;

// A result of an instruction; cheap to copy.  A default-made Value is "none".
class Value {
 public:
  Value() = default;
  explicit operator bool() const { return instr_ != nullptr; }
  Type type() const;
  int lanes() const { return type().lanes; }
  DType dtype() const { return type().dtype; }
  // The value of a scalar s64 constant.
  bool IsConstantIndex() const;
  int64_t constant_index() const;
  bool IsConstantIndex(int64_t v) const { return IsConstantIndex() && constant_index() == v; }
  friend bool operator==(const Value& a, const Value& b) {
    return a.instr_ == b.instr_ && a.result_ == b.result_;
  }

  Instr* instr() const { return instr_; }
  int result() const { return result_; }
  Value(Instr* instr, int result) : instr_(instr), result_(result) {}

 private:
  Instr* instr_ = nullptr;
  int result_ = 0;
};

struct BufferInfo {
  DType dtype;
  std::string name;
  bool written = false;
  bool may_alias = false;  // may share memory with another buffer (in-place results)
};

struct Block;

inline constexpr int kWarpThreads = 32;
inline constexpr int kMostThreads = 1024;  // of a block

// A buffer as the copy engine of sm_90a sees it: boxes of it are copied to shared memory, and what
// of a box lies outside is zero.  All lists begin with the innermost dimension.  A row of the box
// has 128 bytes, and its chunks of 16 change places as SwizzledByte (warpgroup.h) has it.
struct TensorMap {
  int buffer = 0;
  std::vector<ir::Dim> sizes;  // in elements; three of them
  std::vector<ir::Dim>
      strides;           // in elements, of all dimensions but the first: whole chunks of 16 bytes
  std::vector<int> box;  // elements in each dimension, at most 256
};

// How a device runs a kernel.
struct Launch {
  int threads = 0;           // of a block: whole warps; 0: a kernel of the host
  ir::Dim blocks = 1;        // below 2^31
  int64_t shared_bytes = 0;  // of a block; Builder::AllocateShared adds to it
  // Threads that a multiprocessor should hold at least: they share its 65536 registers.
  int resident_threads = 512;
};

class Kernel {
 public:
  // `symbols`: those that sizes may name.
  Kernel(absl::string_view name, std::vector<BufferInfo> buffers,
         std::vector<std::string> symbols = {});
  ~Kernel();
  const std::string& name() const { return name_; }
  const std::vector<BufferInfo>& buffers() const { return buffers_; }
  Block& body() const { return *body_; }
  // Bytes of scratch the code uses, of each worker of the host or of a device's launch;
  // Builder::AllocateScratch adds to it.
  ir::Dim scratch_bytes = 0;
  Launch launch;
  bool is_for_device() const { return launch.threads > 0; }
  // What copy_tensor copies from: read-only buffers.
  std::vector<TensorMap> tensor_maps;
  // From the symbols' values to the table that Builder::Size reads.
  ir::DimProgram sizes;

  // Readable text, stable for equal programs: for dumps, tests and cache keys.
  std::string ToString() const;

 private:
  std::string name_;
  std::vector<BufferInfo> buffers_;
  std::unique_ptr<Block> body_;
};

// Checks types and structure; an Internal status that names the instruction otherwise.
absl::Status Verify(const Kernel& kernel);

class Builder {
 public:
  explicit Builder(Kernel* kernel);

  // ---- the frame ----
  Value Buffer(int i);  // pointer
  Value ChunkBegin();   // s64
  Value ChunkEnd();
  Value ThreadIndex();  // in its block
  Value BlockIndex();
  Value BlockCount();
  Value Size(int i);  // entry i of the table of sizes
  // A pointer into the worker's scratch, 64-byte aligned, for `elements` of `dtype`.  Belongs at
  // the beginning, outside of every loop.
  Value AllocateScratch(DType dtype, const ir::Dim& elements);
  // A pointer into the block's shared memory, 16-byte aligned; what comes first is 1024-byte
  // aligned in kernels with tensor maps.
  Value AllocateShared(DType dtype, int64_t elements);

  // ---- constants ----
  Value Index(int64_t v);              // s64 scalar
  Value Index(const ir::Dim& d);       // the same when it is constant, otherwise its Size
  Value Int(DType dtype, int64_t v);   // any integer type or bool
  Value Float(DType dtype, double v);  // f32 or f64
  Value FloatBits(DType dtype, uint64_t bits);
  Value Constant(DType dtype, double v);  // Int or Float by dtype
  Value Splat(Value scalar, int lanes);   // scalar itself for lanes == 1
  Value Iota(DType dtype, int lanes);     // 0, 1, 2, ...

  // ---- arithmetic: operands of one type; elementwise on vectors ----
  // Unary and binary ops of the tensor IR's op list (compare, clamp, select have their own calls).
  Value Unary(ir::Op op, Value x);
  Value Binary(ir::Op op, Value a, Value b);
  Value Add(Value a, Value b) { return Binary(ir::Op::kAdd, a, b); }
  Value Sub(Value a, Value b) { return Binary(ir::Op::kSub, a, b); }
  Value Mul(Value a, Value b) { return Binary(ir::Op::kMul, a, b); }
  Value Div(Value a, Value b) { return Binary(ir::Op::kDiv, a, b); }
  Value Rem(Value a, Value b) { return Binary(ir::Op::kRem, a, b); }
  Value Min(Value a, Value b) { return Binary(ir::Op::kMin, a, b); }
  Value Max(Value a, Value b) { return Binary(ir::Op::kMax, a, b); }
  Value And(Value a, Value b) { return Binary(ir::Op::kAnd, a, b); }
  Value Or(Value a, Value b) { return Binary(ir::Op::kOr, a, b); }
  // Quotient and remainder of an s64 scalar by a size, both at least 0 and below 2^31.  A GPU has
  // no division of 64 bits; here it multiplies by the size's reciprocal, from the table of sizes.
  Value DivNarrow(Value a, const ir::Dim& size) { return BinaryNarrow(ir::Op::kDiv, a, size); }
  Value RemNarrow(Value a, const ir::Dim& size) { return BinaryNarrow(ir::Op::kRem, a, size); }
  Value Fma(Value a, Value b, Value c);  // a * b + c, rounded once
  // "eq" "ne" "lt" "le" "gt" "ge"; pointers are equal or not.
  Value Compare(absl::string_view direction, Value a, Value b);
  Value Select(Value condition, Value on_true, Value on_false);  // also pointers
  Value Convert(Value x,
                DType dtype);           // as the tensor IR's convert (reference/interpreter.h)
  Value Bitcast(Value x, DType dtype);  // same width

  // ---- lanes ----
  Value ReduceLanes(ir::Op op,
                    Value v);  // add mul max min and or; halves, then quarters, ...: a fixed order
  Value ExtractLane(Value v, int lane);
  Value InsertLane(Value v, Value scalar, int lane);
  // Lane i of the result is lane indices[i] of a followed by b (b may be none).
  Value Shuffle(Value a, Value b, std::vector<int> indices);
  // Lane i is true iff i < count (s64).
  Value MaskUpTo(Value count, int lanes);

  // ---- threads ----
  void Barrier();
  // Of another thread of the warp: `distance` threads further on (its own value where there is
  // none), the one whose number differs in the bits of `mask`, and number `thread` (s64).
  Value WarpDown(Value v, int distance);
  Value WarpXor(Value v, int mask);
  Value WarpRead(Value v, Value thread);
  // Whether a bool holds in any thread of the warp, in all of them.
  Value WarpAny(Value v) { return WarpVote(ir::Op::kOr, v); }
  Value WarpAll(Value v) { return WarpVote(ir::Op::kAnd, v); }

  // ---- matrices of a warp, whose threads hold their elements as warp_matrix.h says ----
  // sums + a x b: a is 4 parts, b 2 parts, of 16x16 and 16x8 elements if they are f16 or bf16.
  Value WarpMultiply(absl::Span<const Value> a, absl::Span<const Value> b, Value sums);
  // Matrices of 8x8 elements of 16 bits, or of 8 rows of 16 bytes, from shared memory: thread 8 i +
  // r names where row r of matrix i begins, at a multiple of 16 bytes.  Returns a part of each.
  // `count`: 1, 2, 4.
  std::vector<Value> LoadMatrices(Value pointer, DType dtype, Value index, int count,
                                  bool transposed);
  // 16 bytes from a buffer that the kernel does not write to shared memory, in the background;
  // zeros where the condition does not hold.  Both lie at multiples of 16.  The thread's copies
  // since the last commit are a group.  Nobody may touch their destination until the thread has
  // waited for the group: all of its groups but the last `under_way` are there then.
  void CopyAsync(Value to, Value to_index, Value from, Value from_index, DType dtype,
                 Value condition = {});
  void CommitCopies();
  void WaitForCopies(int under_way);

  // ---- roles, signals, copies of tensors and products of warpgroups: sm_90a alone (warpgroup.h)
  // ---- The block's first `threads` threads run `first` while the others run `second`; both are
  // whole warpgroups, and meet behind.  `registers`: of a thread in either role, multiples of 8.
  // Inside there are no barriers of the block.
  void Roles(int threads, std::pair<int, int> registers, const std::function<void()>& first,
             const std::function<void()>& second);
  // What a warp's threads wrote before it all of them see after it.
  void WarpBarrier();
  // A signal is 8 bytes of shared memory, an s64 of the pointer's, that counts arrivals and bytes.
  // Where there have been `arrivals`, and all bytes are there that these announced, a phase ends
  // and the next one begins; phases are numbered from 0.  One thread makes it, before a barrier.
  void InitSignal(Value signals, Value index, int arrivals);
  // `bytes` (s64) are announced before: copies of tensors that report to the signal.
  void Arrive(Value signals, Value index, Value bytes = {});
  // Waits while the phase that is under way has the parity (s64, 0 or 1).  What came before the
  // arrivals of the one that has ended is seen after it.
  void WaitForSignal(Value signals, Value index, Value parity);
  // The thread sees what the host wrote of a tensor map: once, before it copies.
  void AcquireTensor(int map);
  // A box of a tensor to shared memory, at a multiple of 1024 bytes, in the background: its bytes
  // report to the signal.  `place`: of its first element in the tensor, s64, innermost first.
  // No thread may touch the destination until it has waited for the signal.
  void CopyTensor(Value to, Value to_index, int map, absl::Span<const Value> place, Value signals,
                  Value signal);
  // sums + a x b in the background: a is 64 x 64, b 64 x n, of f16 or bf16 in shared memory as
  // SharedPlace has it; n is 8 times the number of sums, which have 4 lanes of f32.  All threads of
  // a role come here together.  No thread may write to a and b, and no other instruction may read
  // the sums, until WaitForProducts has returned them.
  struct SharedMatrix {
    Value index;              // of its beginning, a multiple of 1024 bytes
    bool transposed = false;  // rows lie across k
  };
  std::vector<Value> BeginProduct(Value shared, DType dtype, const SharedMatrix& a,
                                  const SharedMatrix& b, absl::Span<const Value> sums);
  // The same with a in registers: kProductParts parts (warpgroup.h) of two elements each.
  std::vector<Value> BeginProduct(absl::Span<const Value> a, Value shared, const SharedMatrix& b,
                                  absl::Span<const Value> sums);
  // Until at most `under_way` of the role's products have not ended.  `after`: an f32 that is there
  // first, whose computation runs beside the products; a card's assembler would move the wait in
  // front of all that does not need the sums.
  std::vector<Value> WaitForProducts(int under_way, absl::Span<const Value> sums, Value after = {});

  // ---- words of bf16 and s8, and matrix tiles of a CPU (TargetInfo says which the machine has)
  // ---- Lane i: sums + a[2i] * b[2i] + a[2i + 1] * b[2i + 1]; a and b hold pairs of bf16 as s32,
  // the sums are f32.  Denormals are 0, and what rounds in between is the instruction's own affair.
  Value DotPairs(Value a, Value b, Value sums);
  // Lane i: sums + the products of four bytes each; the sums are s32 and wrap round.  On a CPU a
  // and b are s32, which hold u8 in a and s8 in b; on a device they are s8 or u8, four lanes for a
  // sum.
  Value DotBytes(Value a, Value b, Value sums);
  // Lane i: sums + a[2i] * b[2i] + a[2i + 1] * b[2i + 1]; a holds pairs of s16 as s32, b twice as
  // many lanes of s16; the sums are s32 and wrap round.
  Value DotShorts(Value a, Value b, Value sums);
  // Eight tiles of up to 16 rows of 64 bytes, numbered from 0, which hold zeros at first.  A kernel
  // configures them before it uses any and releases them at its end.
  struct TileShape {
    int rows = 0, row_bytes = 0;
  };
  void ConfigureTiles(absl::Span<const TileShape> shapes);
  void ReleaseTiles();
  void ZeroTile(int tile);
  // Rows lie `stride` elements of `dtype` apart.
  void LoadTile(int tile, Value pointer, DType dtype, Value index, Value stride);
  void StoreTile(int tile, Value pointer, DType dtype, Value index, Value stride);
  // sums[m][n] += a[m][k] * b[k / w][n][k % w]: a and b of bf16, the sums of f32, and w = 2; or a
  // of s8 or u8, b of s8, the sums of s32, and w = 4.  `dtype` is a's.
  void MultiplyTiles(int sums, int a, int b, DType dtype);

  // ---- memory ----
  Value Offset(Value pointer, DType dtype, Value index);
  // `lanes` neighbours; with a mask, lanes that are off read nothing and are 0.
  Value Load(Value pointer, DType dtype, Value index, int lanes = 1, Value mask = {});
  void Store(Value pointer, Value index, Value value, Value mask = {});
  // Elements at a vector of s32 or s64 indices.
  Value Gather(Value pointer, DType dtype, Value indices, Value mask = {});
  void Scatter(Value pointer, Value indices, Value value, Value mask = {});
  // Into the first cache, or no further than the second: for what comes later than the first holds
  // it, as lines of which many share a set.
  enum class Cache { kFirst, kSecond };
  void Prefetch(Value pointer, DType dtype, Value index, Cache cache = Cache::kFirst);
  void Zero(Value pointer, Value bytes);         // memset
  void Copy(Value to, Value from, Value bytes);  // memcpy

  // ---- control ----
  struct ForOptions {
    int unroll = 1;  // full copies of the body per trip, for a constant trip count that it divides
  };
  // for (i = begin; i < end; i += step) with step > 0.
  void For(Value begin, Value end, int64_t step, const std::function<void(Value)>& body,
           ForOptions options);
  void For(Value begin, Value end, int64_t step, const std::function<void(Value)>& body) {
    For(begin, end, step, body, ForOptions());
  }
  // With carried values: body(i, carried) returns the next ones; the result is the last.
  std::vector<Value> For(
      Value begin, Value end, int64_t step, std::vector<Value> carried,
      const std::function<std::vector<Value>(Value, absl::Span<const Value>)>& body,
      ForOptions options);
  std::vector<Value> For(
      Value begin, Value end, int64_t step, std::vector<Value> carried,
      const std::function<std::vector<Value>(Value, absl::Span<const Value>)>& body) {
    return For(begin, end, step, std::move(carried), body, ForOptions());
  }
  void If(Value condition, const std::function<void()>& then,
          const std::function<void()>& otherwise = nullptr);
  // Both branches return values of the same types.
  std::vector<Value> IfElse(Value condition, const std::function<std::vector<Value>()>& then,
                            const std::function<std::vector<Value>()>& otherwise);

  Kernel* kernel() const { return kernel_; }

 private:
  Value Emit(Instr* instr);
  Value BinaryNarrow(ir::Op op, Value a, const ir::Dim& size);
  Value WarpVote(ir::Op op, Value v);
  std::vector<Value> BeginProductOf(absl::Span<const Value> a, int64_t flags, Value shared,
                                    DType dtype, const SharedMatrix& b,
                                    absl::Span<const Value> sums);
  Kernel* kernel_;
  Block* block_;
};

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_LOOP_IR_H_
