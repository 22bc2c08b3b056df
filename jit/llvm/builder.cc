#include <utility>

#include "jit/base/rounding.h"
#include "jit/llvm/fold.h"
#include "jit/llvm/instr.h"

namespace tektite::loop {

using ir::Op;

Kernel::Kernel(absl::string_view name, std::vector<BufferInfo> buffers,
               std::vector<std::string> symbols)
    : sizes(std::move(symbols)),
      name_(name),
      buffers_(std::move(buffers)),
      body_(std::make_unique<Block>()) {
  body_->arena = std::make_unique<Block::Arena>();
}

Kernel::~Kernel() = default;

Builder::Builder(Kernel* kernel) : kernel_(kernel), block_(&kernel->body()) {}

Value Builder::Emit(Instr* instr) {
  block_->instrs.push_back(instr);
  return instr->results.empty() ? Value() : Value(instr, 0);
}

namespace {

Block::Arena& ArenaOf(Kernel* kernel) { return *kernel->body().arena; }

Instr* New(Kernel* kernel, Code code, std::initializer_list<Value> operands) {
  Instr* instr = ArenaOf(kernel).New(code);
  for (Value v : operands) {
    // A trailing "none" is an absent mask.
    if (v) instr->operands.push_back(v);
  }
  return instr;
}

Instr* New(Kernel* kernel, Code code, std::initializer_list<Value> operands, Type type) {
  Instr* instr = New(kernel, code, operands);
  instr->results.push_back(type);
  return instr;
}

// A mask that is on everywhere is no mask.
Value DropFullMask(Value mask) {
  const Instr* c = ConstantOf(mask);
  return c != nullptr && IntOf(*c) != 0 ? Value() : mask;
}

}  // namespace

// ---- the frame ----

Value Builder::Buffer(int i) {
  const bool known = i >= 0 && i < static_cast<int>(kernel_->buffers().size());
  const DType dtype = known ? kernel_->buffers()[i].dtype : DType::kU8;
  return Value(ArenaOf(kernel_).Leaf(Code::kBuffer, {dtype, 1, true}, i), 0);
}

Value Builder::ChunkBegin() {
  return Value(ArenaOf(kernel_).Leaf(Code::kChunkBegin, Type(), 0), 0);
}

Value Builder::ChunkEnd() { return Value(ArenaOf(kernel_).Leaf(Code::kChunkEnd, Type(), 0), 0); }

Value Builder::ThreadIndex() {
  return Value(ArenaOf(kernel_).Leaf(Code::kThreadIndex, Type(), 0), 0);
}

Value Builder::BlockIndex() {
  return Value(ArenaOf(kernel_).Leaf(Code::kBlockIndex, Type(), 0), 0);
}

Value Builder::BlockCount() {
  const ir::Dim& blocks = kernel_->launch.blocks;
  if (blocks.is_constant()) return Index(blocks.value());
  return Value(ArenaOf(kernel_).Leaf(Code::kBlockCount, Type(), 0), 0);
}

Value Builder::Size(int i) { return Value(ArenaOf(kernel_).Leaf(Code::kSize, Type(), i), 0); }

Value Builder::AllocateScratch(DType dtype, const ir::Dim& elements) {
  const ir::Dim at = kernel_->scratch_bytes;
  kernel_->scratch_bytes = CeilDiv(at + elements * ir::DTypeBytes(dtype), 64) * 64;
  if (at.is_constant()) {
    return Value(ArenaOf(kernel_).Leaf(Code::kScratch, {dtype, 1, true}, at.value()), 0);
  }
  const Value start(ArenaOf(kernel_).Leaf(Code::kScratch, {DType::kU8, 1, true}, 0), 0);
  return Offset(start, DType::kU8, Index(at));
}

Value Builder::AllocateShared(DType dtype, int64_t elements) {
  int64_t& bytes = kernel_->launch.shared_bytes;
  const int64_t at = bytes;
  bytes = RoundUp(at + elements * ir::DTypeBytes(dtype), 16);
  return Value(ArenaOf(kernel_).Leaf(Code::kShared, {dtype, 1, true, true}, at), 0);
}

// ---- constants ----

Value Builder::Index(int64_t v) {
  return Value(ArenaOf(kernel_).Leaf(Code::kConstant, Type(), v), 0);
}

Value Builder::Index(const ir::Dim& d) {
  return d.is_constant() ? Index(d.value()) : Size(kernel_->sizes.Add(d));
}

Value Builder::Int(DType dtype, int64_t v) { return FloatBits(dtype, BitsOfInt(dtype, v)); }

Value Builder::Float(DType dtype, double v) { return FloatBits(dtype, BitsOfFloat(dtype, v)); }

Value Builder::FloatBits(DType dtype, uint64_t bits) {
  return Value(
      ArenaOf(kernel_).Leaf(Code::kConstant, {dtype, 1, false}, static_cast<int64_t>(bits)), 0);
}

Value Builder::Constant(DType dtype, double v) {
  return ir::IsFloat(dtype) ? Float(dtype, v) : Int(dtype, static_cast<int64_t>(v));
}

Value Builder::Splat(Value scalar, int lanes) {
  if (lanes == 1) return scalar;
  if (const Instr* c = ConstantOf(scalar)) {
    return Value(
        ArenaOf(kernel_).Leaf(Code::kConstant, {scalar.dtype(), lanes, false}, c->immediate), 0);
  }
  return Emit(New(kernel_, Code::kSplat, {scalar}, {scalar.dtype(), lanes, false}));
}

Value Builder::Iota(DType dtype, int lanes) {
  if (lanes == 1) return Constant(dtype, 0);
  return Value(ArenaOf(kernel_).Leaf(Code::kIota, {dtype, lanes, false}, 0), 0);
}

// ---- arithmetic ----

namespace {

// a + b, where that puts an index together again.  An offset adds up dimension by dimension, so the
// first part may be the end of a sum.
Value AddRecombined(Builder& builder, Value a, Value b) {
  const Instr* sum = a.instr();
  Value before;
  if (sum != nullptr && sum->code == Code::kBinary && sum->op == Op::kAdd) {
    before = sum->operands[0];
    a = sum->operands[1];
  }
  const Scaled whole = Recombined(a, b);
  if (!whole.value) return {};
  Value offset = builder.Mul(whole.value, builder.Index(whole.factor));
  return before ? builder.Add(before, offset) : offset;
}

}  // namespace

Value Builder::Unary(Op op, Value x) {
  const Instr* c = x.instr();
  if (c != nullptr && c->code == Code::kConstant && op == Op::kNot && x.dtype() == DType::kBool) {
    return Int(DType::kBool, !IntOf(*c));
  }
  if (x.IsConstantIndex() && op == Op::kNeg) {
    return Binary(Op::kSub, Index(0), x);
  }
  Type type = x.type();
  if (op == Op::kIsFinite) type.dtype = DType::kBool;
  Instr* instr = New(kernel_, Code::kUnary, {x}, type);
  instr->op = op;
  return Emit(instr);
}

Value Builder::Binary(Op op, Value a, Value b) {
  if (a.IsConstantIndex() && b.IsConstantIndex()) {
    if (auto v = FoldIndex(op, a.constant_index(), b.constant_index())) return Index(*v);
  }
  if (a && b && a.type() == b.type()) {
    if (Value same = Identity(op, a, b)) return same;
    const Instr* ca = ConstantOf(a);
    const Instr* cb = ConstantOf(b);
    if (ca != nullptr && cb != nullptr && a.dtype() == DType::kBool) {
      if (auto v = FoldBool(op, IntOf(*ca), IntOf(*cb))) {
        return Splat(Int(DType::kBool, *v), a.lanes());
      }
    }
    // (x + c) + d is x + (c + d): addresses built in steps become one displacement.
    if (op == Op::kAdd && a.IsConstantIndex()) std::swap(a, b);
    if (op == Op::kAdd && b.IsConstantIndex() && a.instr()->code == Code::kBinary &&
        a.instr()->op == Op::kAdd && a.instr()->operands[1].IsConstantIndex()) {
      return Add(a.instr()->operands[0], Add(a.instr()->operands[1], b));
    }
    if (op == Op::kAdd && a.type() == Index(0).type()) {
      if (Value sum = AddRecombined(*this, a, b)) return sum;
    }
  }
  Instr* instr = New(kernel_, Code::kBinary, {a, b}, a.type());
  instr->op = op;
  return Emit(instr);
}

Value Builder::BinaryNarrow(Op op, Value a, const ir::Dim& size) {
  // A size of 0 has no index below it, but code for it may run: by 0 is as by 1.
  const ir::Dim divisor = ir::Max(size, 1);
  const Value b = Index(divisor), v = Binary(op, a, b);
  Instr* instr = v.instr();
  const bool folded = v == a || v == b || instr->code != Code::kBinary;
  if (folded || !kernel_->is_for_device()) return v;
  instr->immediate = 1;
  if (!divisor.is_constant()) {
    // (2^62 + e) / size with 0 < e <= size: times a it is less than 1 / size too large, since
    // a e < 2^62.
    instr->operands.push_back(Index(FloorDiv(int64_t{1} << kReciprocalBits, divisor) + 1));
  }
  return v;
}

Value Builder::Fma(Value a, Value b, Value c) {
  return Emit(New(kernel_, Code::kFma, {a, b, c}, a.type()));
}

Value Builder::Compare(absl::string_view direction, Value a, Value b) {
  const Direction d = DirectionFromName(direction);
  if (a.IsConstantIndex() && b.IsConstantIndex() && d != Direction::kInvalid) {
    return Int(DType::kBool, FoldCompare(d, a.constant_index(), b.constant_index()));
  }
  Instr* instr = New(kernel_, Code::kCompare, {a, b}, {DType::kBool, a.lanes(), false});
  instr->immediate = static_cast<int64_t>(d);
  return Emit(instr);
}

Value Builder::Select(Value condition, Value on_true, Value on_false) {
  if (const Instr* c = ConstantOf(condition)) return IntOf(*c) != 0 ? on_true : on_false;
  if (on_true == on_false) return on_true;
  return Emit(New(kernel_, Code::kSelect, {condition, on_true, on_false}, on_true.type()));
}

Value Builder::Convert(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Instr* c = x.instr();
  if (c != nullptr && c->code == Code::kConstant && !ir::IsFloat(x.dtype()) &&
      (dtype == DType::kS64 || dtype == DType::kBool || ir::DTypeBytes(x.dtype()) < 8)) {
    return Constant(dtype, static_cast<double>(IntOf(*c)));
  }
  return Emit(New(kernel_, Code::kConvert, {x}, {dtype, x.lanes(), false}));
}

Value Builder::Bitcast(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return Emit(New(kernel_, Code::kBitcast, {x}, {dtype, x.lanes(), false}));
}

// ---- lanes ----

Value Builder::ReduceLanes(Op op, Value v) {
  if (v.lanes() == 1) return v;
  Instr* instr = New(kernel_, Code::kReduceLanes, {v}, {v.dtype(), 1, false});
  instr->op = op;
  return Emit(instr);
}

Value Builder::ExtractLane(Value v, int lane) {
  if (v.lanes() == 1) return v;
  if (const Instr* c = ConstantOf(v)) return FloatBits(v.dtype(), c->immediate);
  if (v.instr()->code == Code::kSplat) return v.instr()->operands[0];
  Instr* instr = New(kernel_, Code::kExtractLane, {v}, {v.dtype(), 1, false});
  instr->immediate = lane;
  return Emit(instr);
}

Value Builder::InsertLane(Value v, Value scalar, int lane) {
  if (v.lanes() == 1) return scalar;
  Instr* instr = New(kernel_, Code::kInsertLane, {v, scalar}, v.type());
  instr->immediate = lane;
  return Emit(instr);
}

Value Builder::Shuffle(Value a, Value b, std::vector<int> indices) {
  if (indices.size() == 1) {
    return indices[0] < a.lanes() ? ExtractLane(a, indices[0])
                                  : ExtractLane(b, indices[0] - a.lanes());
  }
  Instr* instr =
      New(kernel_, Code::kShuffle, {a, b}, {a.dtype(), static_cast<int>(indices.size()), false});
  instr->lanes = std::move(indices);
  return Emit(instr);
}

Value Builder::MaskUpTo(Value count, int lanes) {
  if (lanes == 1) return Compare("gt", count, Index(0));
  if (count.IsConstantIndex() && (count.constant_index() >= lanes || count.constant_index() <= 0)) {
    return Splat(Int(DType::kBool, count.constant_index() > 0), lanes);
  }
  return Emit(New(kernel_, Code::kMaskUpTo, {count}, {DType::kBool, lanes, false}));
}

// ---- threads ----

void Builder::Barrier() { Emit(New(kernel_, Code::kBarrier, {})); }

// A value that is the same in all threads stays as it is.

Value Builder::WarpDown(Value v, int distance) {
  if (ConstantOf(v) != nullptr || distance == 0) return v;
  Instr* instr = New(kernel_, Code::kWarpDown, {v}, v.type());
  instr->immediate = distance;
  return Emit(instr);
}

Value Builder::WarpXor(Value v, int mask) {
  if (ConstantOf(v) != nullptr || mask == 0) return v;
  Instr* instr = New(kernel_, Code::kWarpXor, {v}, v.type());
  instr->immediate = mask;
  return Emit(instr);
}

Value Builder::WarpRead(Value v, Value thread) {
  if (ConstantOf(v) != nullptr) return v;
  return Emit(New(kernel_, Code::kWarpRead, {v, thread}, v.type()));
}

Value Builder::WarpVote(Op op, Value v) {
  if (ConstantOf(v) != nullptr) return v;
  Instr* instr = New(kernel_, Code::kWarpVote, {v}, v.type());
  instr->op = op;
  return Emit(instr);
}

// ---- memory ----

Value Builder::Offset(Value pointer, DType dtype, Value index) {
  if (index.IsConstantIndex(0)) return pointer;
  Instr* instr =
      New(kernel_, Code::kOffset, {pointer, index}, {dtype, 1, true, pointer.type().shared});
  instr->access = dtype;
  return Emit(instr);
}

Value Builder::Load(Value pointer, DType dtype, Value index, int lanes, Value mask) {
  Instr* instr =
      New(kernel_, Code::kLoad, {pointer, index, DropFullMask(mask)}, {dtype, lanes, false});
  instr->access = dtype;
  return Emit(instr);
}

void Builder::Store(Value pointer, Value index, Value value, Value mask) {
  Instr* instr = New(kernel_, Code::kStore, {pointer, index, value, DropFullMask(mask)});
  instr->access = value.dtype();
  Emit(instr);
}

Value Builder::Gather(Value pointer, DType dtype, Value indices, Value mask) {
  if (indices.lanes() == 1) {
    return Load(pointer, dtype, Convert(indices, DType::kS64), 1, mask);
  }
  Instr* instr = New(kernel_, Code::kGather, {pointer, indices, DropFullMask(mask)},
                     {dtype, indices.lanes(), false});
  instr->access = dtype;
  return Emit(instr);
}

void Builder::Scatter(Value pointer, Value indices, Value value, Value mask) {
  if (indices.lanes() == 1) {
    return Store(pointer, Convert(indices, DType::kS64), value, mask);
  }
  Instr* instr = New(kernel_, Code::kScatter, {pointer, indices, value, DropFullMask(mask)});
  instr->access = value.dtype();
  Emit(instr);
}

void Builder::Prefetch(Value pointer, DType dtype, Value index, Cache cache) {
  Instr* instr = New(kernel_, Code::kPrefetch, {pointer, index});
  instr->access = dtype;
  instr->immediate = static_cast<int64_t>(cache);
  Emit(instr);
}

void Builder::Zero(Value pointer, Value bytes) {
  if (bytes.IsConstantIndex(0)) return;
  Emit(New(kernel_, Code::kZero, {pointer, bytes}));
}

void Builder::Copy(Value to, Value from, Value bytes) {
  if (bytes.IsConstantIndex(0)) return;
  Emit(New(kernel_, Code::kCopy, {to, from, bytes}));
}

}  // namespace tektite::loop
