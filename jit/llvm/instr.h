// The parts of a loop IR kernel: instructions, blocks, and the arena that owns them.
//
// Emitters use Builder and never look in here; the printer, the verifier and the lowering do.  An
// instruction is one row of code_list.inc; what its operands and immediate mean stands there.  A
// kernel is built once and then only read, so nothing here has a use list and nothing is removed.
//
//   for (const Instr* instr : block.instrs) ... CodeName(instr->code), instr->operands ...
#ifndef TEKTITE_JIT_LLVM_INSTR_H_
#define TEKTITE_JIT_LLVM_INSTR_H_

#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::loop {

enum class Code : uint8_t {
#define TEKTITE_LOOP_CODE(enumerator, text) enumerator,
#include "jit/llvm/code_list.inc"
#undef TEKTITE_LOOP_CODE
};

// Of a narrow division: the reciprocal counts units of 2^-kReciprocalBits.
inline constexpr int kReciprocalBits = 62;

// Tiles of a CPU.
inline constexpr int kTiles = 8, kTileRows = 16, kTileRowBytes = 64;

absl::string_view CodeName(Code code);

enum class Direction : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kInvalid };

Direction DirectionFromName(absl::string_view name);
absl::string_view DirectionName(Direction direction);

// Whether instructions of this code stand in no block.
bool IsLeaf(Code code);
// Whether it is of those that roles, signals, copies of tensors and products of warpgroups take
// (warpgroup.h), Code::kRoles itself left out.
bool IsWarpgroupCode(Code code);

struct Instr {
  Code code = Code::kConstant;
  ir::Op op = ir::Op::kAdd;    // kUnary, kBinary, kReduceLanes, kWarpVote
  DType access = DType::kS64;  // element type of the memory accessed
  int number = 0;              // order of creation within the kernel
  int64_t immediate = 0;
  absl::InlinedVector<Type, 1> results;
  absl::InlinedVector<Value, 3> operands;
  std::vector<int> lanes;      // kShuffle, kRoles, kTileConfigure, kTileMultiply
  Block* body = nullptr;       // kFor, kIf, kRoles
  Block* otherwise = nullptr;  // kIf, kRoles
};

struct Block {
  std::vector<Instr*> instrs;
  Instr* arguments = nullptr;  // of a loop's body
  std::vector<Value> results;  // next carried values, or an if's results

  // Owned by the kernel's outermost block only.
  struct Arena {
    std::deque<Instr> instrs;
    std::deque<Block> blocks;
    using LeafKey = std::tuple<Code, DType, int, bool, int64_t>;
    std::map<LeafKey, Instr*> leaves;
    Instr* New(Code code);
    Instr* Leaf(Code code, Type type, int64_t immediate);
  };
  std::unique_ptr<Arena> arena;
};

// `v`'s instruction if it is a constant (a vector constant repeats one value), or null.
const Instr* ConstantOf(Value v);
// The value of a float or integer constant as a double or integer.
double FloatOf(const Instr& constant);
int64_t IntOf(const Instr& constant);
// The bits of `v` as a constant of `dtype`.
uint64_t BitsOfFloat(DType dtype, double v);
uint64_t BitsOfInt(DType dtype, int64_t v);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_INSTR_H_
