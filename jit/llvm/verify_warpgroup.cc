#include "jit/llvm/verify_warpgroup.h"

#include "absl/strings/str_cat.h"
#include "jit/llvm/warp_matrix.h"
#include "jit/llvm/warpgroup.h"

namespace tektite::loop {

namespace {

// Of a thread, by steps of 8.
constexpr int kFewestRegisters = 24, kMostRegisters = 256, kAllRegisters = 65536;
constexpr size_t kTensorRank = 3;
constexpr int kMostBox = 256;
constexpr int64_t kMostSignalBytes = (int64_t{1} << 20) - 1;

bool IsShared(Value v) { return v.type().pointer && v.type().shared; }
bool IsSignals(Value v) { return IsShared(v) && v.dtype() == DType::kS64; }
bool IsIndex(Value v) { return v.type() == Type(); }

std::string RolesFault(const Kernel& kernel, const Instr& instr) {
  const int all = kernel.launch.threads, first = static_cast<int>(instr.immediate);
  if (first <= 0 || first >= all || first % kGroupThreads != 0 || all % kGroupThreads != 0) {
    return absl::StrCat("roles of ", first, " and ", all - first, " threads");
  }
  for (int registers : instr.lanes) {
    if (registers < kFewestRegisters || registers > kMostRegisters || registers % 8 != 0) {
      return absl::StrCat(registers, " registers");
    }
  }
  if (instr.lanes[0] == instr.lanes[1]) return "roles have as many registers";
  return first * instr.lanes[0] + (all - first) * instr.lanes[1] > kAllRegisters
             ? "more registers than there are"
             : "";
}

// Of the operands from `first` on that are results, too.
std::string SumsFault(const Instr& instr, size_t first) {
  const size_t sums = instr.results.size();
  if (sums < 1 || sums * kProductColumnsStep > kMostProductColumns) {
    return absl::StrCat(sums, " sums");
  }
  for (size_t i = first; i < first + sums; ++i) {
    if (!(instr.operands[i].type() == Type{DType::kF32, kSumLanes})) return "a sum is not f32 x 4";
  }
  return "";
}

std::string WaitFault(const Instr& instr) {
  const size_t sums = instr.results.size();
  const bool has_more = instr.operands.size() > sums;
  if (has_more && !(instr.operands[sums].type() == Type{DType::kF32})) {
    return "what is computed before is no f32";
  }
  return SumsFault(instr, 0);
}

std::string ProductFault(const Instr& instr) {
  const auto first_sum = static_cast<size_t>(FirstSum(instr.immediate));
  if (instr.operands.size() <= first_sum) return "sums are missing";
  if (!IsShared(instr.operands[kSharedOperand]) || !IsIndex(instr.operands[kBOperand])) {
    return "operands must be a pointer into shared memory and an index";
  }
  if (instr.access != DType::kF16 && instr.access != DType::kBF16) {
    return "elements must be f16 or bf16";
  }
  const bool in_registers = (instr.immediate & kAInRegisters) != 0;
  for (size_t i = kAOperand; i < first_sum; ++i) {
    const bool fits = in_registers ? instr.operands[i].type() == Type{instr.access, PartLanes(2)}
                                   : IsIndex(instr.operands[i]);
    if (!fits) return in_registers ? "a part is not two elements" : "a needs an index";
  }
  const size_t columns = (instr.operands.size() - first_sum) * kProductColumnsStep;
  if ((instr.immediate & kBTransposed) != 0 && columns % kProductRows != 0) {
    return absl::StrCat(columns, " columns of a transposed operand");
  }
  return SumsFault(instr, first_sum);
}

std::string CopyFault(const Kernel& kernel, const Instr& instr) {
  if (instr.operands.size() != 4 + kTensorRank) return "a tensor has three dimensions";
  if (!IsShared(instr.operands[0]) || !IsSignals(instr.operands[2])) {
    return "copies from a tensor to shared memory, with signals there";
  }
  for (size_t i : {1, 3, 4, 5, 6}) {
    if (!IsIndex(instr.operands[i])) return "an index is not an s64 scalar";
  }
  const TensorMap& map = kernel.tensor_maps[static_cast<size_t>(instr.immediate)];
  return kernel.buffers()[static_cast<size_t>(map.buffer)].dtype == instr.access
             ? ""
             : "the destination is of another type";
}

bool IsByte(DType dtype) { return dtype == DType::kS8 || dtype == DType::kU8; }

}  // namespace

bool IsMatrixType(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || IsByte(dtype);
}

std::string WarpMultiplyFault(const Instr& instr) {
  constexpr size_t kParts = kLeftParts + kRightParts;
  if (instr.operands.size() != kParts + 1) return "operands are missing";
  const DType left = instr.operands[0].dtype(), right = instr.operands[kLeftParts].dtype();
  if (!IsMatrixType(left)) return "elements must be f16, bf16, f32, s8 or u8";
  if (left != right && !(IsByte(left) && IsByte(right))) {
    return absl::StrCat("multiplies ", ir::DTypeName(left), " by ", ir::DTypeName(right));
  }
  const int lanes = PartLanes(ir::DTypeBytes(left));
  for (size_t i = 0; i < kParts; ++i) {
    const DType dtype = i < kLeftParts ? left : right;
    if (!(instr.operands[i].type() == Type{dtype, lanes})) {
      return absl::StrCat("part ", i, " is not ", ir::DTypeName(dtype), " x ", lanes);
    }
  }
  const DType sums = IsByte(left) ? DType::kS32 : DType::kF32;
  return instr.operands[kParts].type() == Type{sums, kSumLanes}
             ? ""
             : absl::StrCat("the sums are not ", ir::DTypeName(sums), " x ", kSumLanes);
}

std::string DotBytesFault(const Instr& instr) {
  if (instr.operands.size() != 3) return "operands are missing";
  const int lanes = instr.operands[2].lanes();
  for (size_t i = 0; i < 2; ++i) {
    const DType dtype = instr.operands[i].dtype();
    if (!IsByte(dtype) || !(instr.operands[i].type() == Type{dtype, 4 * lanes})) {
      return absl::StrCat("operand ", i, " is not ", 4 * lanes, " bytes");
    }
  }
  return instr.operands[2].type() == Type{DType::kS32, lanes} ? "" : "the sums are not s32";
}

std::string WarpgroupFault(const Kernel& kernel, const Instr& instr) {
  const bool has_map = instr.code == Code::kAcquireTensor || instr.code == Code::kCopyTensor;
  if (has_map &&
      (instr.immediate < 0 || instr.immediate >= static_cast<int64_t>(kernel.tensor_maps.size()))) {
    return absl::StrCat("tensor map ", instr.immediate, " of ", kernel.tensor_maps.size());
  }
  switch (instr.code) {
    case Code::kRoles:
      return RolesFault(kernel, instr);
    case Code::kBeginProduct:
      return ProductFault(instr);
    case Code::kWaitForProducts:
      return WaitFault(instr);
    case Code::kCopyTensor:
      return CopyFault(kernel, instr);
    case Code::kArrive:
    case Code::kInitSignal:
    case Code::kWaitForSignal: {
      const size_t count = instr.operands.size();
      const bool fits = instr.code == Code::kArrive       ? count == 2 || count == 3
                        : instr.code == Code::kInitSignal ? count == 2
                                                          : count == 3;
      if (!fits || !IsSignals(instr.operands[0])) return "must name a signal in shared memory";
      for (size_t i = 1; i < count; ++i) {
        if (!IsIndex(instr.operands[i])) return "an index is not an s64 scalar";
      }
      return instr.code == Code::kInitSignal &&
                     (instr.immediate < 1 || instr.immediate > kMostSignalBytes)
                 ? absl::StrCat(instr.immediate, " arrivals")
                 : "";
    }
    default:
      return "";
  }
}

std::string TensorMapFault(const Kernel& kernel, const TensorMap& map) {
  const auto& buffers = kernel.buffers();
  if (map.buffer < 0 || map.buffer >= static_cast<int>(buffers.size())) {
    return absl::StrCat("a tensor map of buffer ", map.buffer);
  }
  const BufferInfo& buffer = buffers[static_cast<size_t>(map.buffer)];
  if (buffer.written) return absl::StrCat("a tensor map of ", buffer.name, ", which is written");
  if (map.sizes.size() != kTensorRank || map.strides.size() != kTensorRank - 1 ||
      map.box.size() != kTensorRank) {
    return "a tensor map has three dimensions";
  }
  const int bytes = ir::DTypeBytes(buffer.dtype);
  for (int size : map.box) {
    if (size < 1 || size > kMostBox) return absl::StrCat("a box of ", size, " elements");
  }
  if (map.box[0] * bytes != kSharedRowBytes) return "the rows of a box must have 128 bytes";
  for (const ir::Dim& stride : map.strides) {
    if (ir::Mod(stride, kChunkBytes / bytes) != ir::Dim(0)) {
      return absl::StrCat("stride ", stride.ToString(), " is not whole chunks of 16 bytes");
    }
  }
  return "";
}

}  // namespace tektite::loop
