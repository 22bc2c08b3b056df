#include "jit/llvm/instr.h"

#include <cstring>

namespace tektite::loop {

namespace {
constexpr absl::string_view kCodeNames[] = {
#define TEKTITE_LOOP_CODE(enumerator, text) text,
#include "jit/llvm/code_list.inc"
#undef TEKTITE_LOOP_CODE
};
constexpr absl::string_view kDirectionNames[] = {"eq", "ne", "lt", "le", "gt", "ge", "invalid"};
}  // namespace

absl::string_view CodeName(Code code) { return kCodeNames[static_cast<int>(code)]; }

absl::string_view DirectionName(Direction direction) {
  return kDirectionNames[static_cast<int>(direction)];
}

Direction DirectionFromName(absl::string_view name) {
  for (int i = 0; i < static_cast<int>(Direction::kInvalid); ++i) {
    if (kDirectionNames[i] == name) return static_cast<Direction>(i);
  }
  return Direction::kInvalid;
}

bool IsLeaf(Code code) { return code <= Code::kThreadIndex; }

bool IsWarpgroupCode(Code code) {
  switch (code) {
    case Code::kAcquireTensor:
    case Code::kArrive:
    case Code::kBeginProduct:
    case Code::kCopyTensor:
    case Code::kInitSignal:
    case Code::kWaitForProducts:
    case Code::kWaitForSignal:
    case Code::kWarpBarrier:
      return true;
    default:
      return false;
  }
}

Type Value::type() const { return instr_ == nullptr ? Type() : instr_->results[result_]; }

bool Value::IsConstantIndex() const {
  return instr_ != nullptr && instr_->code == Code::kConstant && type() == Type();
}

int64_t Value::constant_index() const { return instr_->immediate; }

Instr* Block::Arena::New(Code code) {
  Instr& instr = instrs.emplace_back();
  instr.code = code;
  instr.number = static_cast<int>(instrs.size()) - 1;
  return &instr;
}

Instr* Block::Arena::Leaf(Code code, Type type, int64_t immediate) {
  Instr*& leaf = leaves[LeafKey(code, type.dtype, type.lanes, type.pointer, immediate)];
  if (leaf == nullptr) {
    leaf = New(code);
    leaf->results.push_back(type);
    leaf->immediate = immediate;
  }
  return leaf;
}

const Instr* ConstantOf(Value v) {
  const Instr* instr = v.instr();
  return instr != nullptr && instr->code == Code::kConstant ? instr : nullptr;
}

double FloatOf(const Instr& constant) {
  switch (constant.results[0].dtype) {
    case DType::kF64: {
      double v;
      std::memcpy(&v, &constant.immediate, sizeof(v));
      return v;
    }
    case DType::kF32: {
      float v;
      std::memcpy(&v, &constant.immediate, sizeof(v));
      return v;
    }
    case DType::kF16: {
      ir::Half v;
      v.bits = static_cast<uint16_t>(constant.immediate);
      return static_cast<float>(v);
    }
    case DType::kBF16: {
      ir::BFloat16 v;
      v.bits = static_cast<uint16_t>(constant.immediate);
      return static_cast<float>(v);
    }
    default:
      return static_cast<double>(constant.immediate);
  }
}

int64_t IntOf(const Instr& constant) { return constant.immediate; }

uint64_t BitsOfFloat(DType dtype, double v) {
  uint64_t bits = 0;
  if (dtype == DType::kF64) {
    std::memcpy(&bits, &v, sizeof(v));
  } else if (dtype == DType::kF32) {
    const float f = static_cast<float>(v);
    std::memcpy(&bits, &f, sizeof(f));
  } else if (dtype == DType::kF16) {
    bits = ir::Half(static_cast<float>(v)).bits;
  } else {
    bits = ir::BFloat16(static_cast<float>(v)).bits;
  }
  return bits;
}

// Integer constants are kept as the s64 they mean, so that equal values have equal bits.
uint64_t BitsOfInt(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::kBool:
      return v != 0;
    case DType::kS8:
      return static_cast<int64_t>(static_cast<int8_t>(v));
    case DType::kS16:
      return static_cast<int64_t>(static_cast<int16_t>(v));
    case DType::kS32:
      return static_cast<int64_t>(static_cast<int32_t>(v));
    case DType::kU8:
      return static_cast<uint8_t>(v);
    case DType::kU16:
      return static_cast<uint16_t>(v);
    case DType::kU32:
      return static_cast<uint32_t>(v);
    default:
      return static_cast<uint64_t>(v);
  }
}

}  // namespace tektite::loop
