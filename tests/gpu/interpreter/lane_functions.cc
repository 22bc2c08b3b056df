#include "tests/gpu/interpreter/lane_functions.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::gpu {

using loop::Code;
using loop::Instr;
using loop::Value;

bool IsElementwise(const Instr& instr) {
  switch (instr.code) {
    case Code::kUnary:
    case Code::kBinary:
    case Code::kFma:
    case Code::kCompare:
    case Code::kConvert:
    case Code::kBitcast:
      return true;
    case Code::kSelect:
      return !instr.results[0].pointer && instr.operands[0].lanes() == instr.results[0].lanes;
    default:
      return false;
  }
}

namespace {

Value Apply(loop::Builder& b, const Instr& instr, const std::vector<Value>& x) {
  switch (instr.code) {
    case Code::kUnary:
      return b.Unary(instr.op, x[0]);
    case Code::kBinary:
      return b.Binary(instr.op, x[0], x[1]);
    case Code::kFma:
      return b.Fma(x[0], x[1], x[2]);
    case Code::kCompare:
      return b.Compare(loop::DirectionName(static_cast<loop::Direction>(instr.immediate)), x[0],
                       x[1]);
    case Code::kConvert:
      return b.Convert(x[0], instr.results[0].dtype);
    case Code::kBitcast:
      return b.Bitcast(x[0], instr.results[0].dtype);
    case Code::kSelect:
      return b.Select(x[0], x[1], x[2]);
    default:
      return b.ReduceLanes(instr.op, x[0]);
  }
}

// What tells the code of one instruction from another's.
std::string KeyOf(const Instr& instr, int lanes) {
  const bool has_op =
      instr.code == Code::kUnary || instr.code == Code::kBinary || instr.code == Code::kReduceLanes;
  std::string key(loop::CodeName(instr.code));
  if (has_op) absl::StrAppend(&key, "_", ir::OpName(instr.op));
  if (instr.code == Code::kCompare) {
    absl::StrAppend(&key, "_", loop::DirectionName(static_cast<loop::Direction>(instr.immediate)));
  }
  for (const Value& v : instr.operands) absl::StrAppend(&key, "_", ir::DTypeName(v.dtype()));
  return absl::StrCat(key, "_", ir::DTypeName(instr.results[0].dtype), "_", lanes);
}

}  // namespace

absl::StatusOr<HostFunction> LaneFunctions::For(const Instr& instr) {
  const bool elementwise = IsElementwise(instr);
  const int lanes = elementwise ? kLanesAtOnce : instr.operands[0].lanes();
  const std::string key = KeyOf(instr, lanes);
  std::lock_guard<std::mutex> lock(mutex_);
  HostCode& code = known_[key];
  if (code.run != nullptr) return code.run;

  std::vector<loop::BufferInfo> buffers;
  for (const Value& v : instr.operands) {
    buffers.push_back({v.dtype(), absl::StrCat("x", buffers.size())});
  }
  buffers.push_back({instr.results[0].dtype, "y", /*written=*/true});
  loop::Kernel kernel(key, buffers);
  loop::Builder b(&kernel);
  b.For(b.ChunkBegin(), b.ChunkEnd(), 1, [&](Value chunk) {
    const Value at = b.Mul(chunk, b.Index(lanes));
    std::vector<Value> x;
    for (const Value& v : instr.operands) {
      x.push_back(b.Load(b.Buffer(static_cast<int>(x.size())), v.dtype(), at, lanes));
    }
    b.Store(b.Buffer(static_cast<int>(x.size())), elementwise ? at : chunk, Apply(b, instr, x));
  });
  TEKTITE_ASSIGN_OR_RETURN(code, compile_(kernel));
  return code.run;
}

}  // namespace tektite::gpu
