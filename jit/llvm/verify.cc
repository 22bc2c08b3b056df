// Verify: every operand is there, defined before its use, and of the type its instruction requires.
#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "jit/base/status.h"
#include "jit/llvm/alignment.h"
#include "jit/llvm/instr.h"
#include "jit/llvm/verify_warpgroup.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::loop {

namespace {

// Chunks are the host's, threads and what they share a device's.
constexpr Code kOfHost[] = {Code::kChunkBegin, Code::kChunkEnd,     Code::kCopy,
                            Code::kDotPairs,   Code::kDotShorts,    Code::kTileConfigure,
                            Code::kTileLoad,   Code::kTileMultiply, Code::kTileRelease,
                            Code::kTileStore,  Code::kTileZero,     Code::kZero};
constexpr Code kOfDevice[] = {Code::kBarrier,       Code::kBlockCount, Code::kBlockIndex,
                              Code::kCommitCopies,  Code::kCopyAsync,  Code::kLoadMatrices,
                              Code::kRoles,         Code::kShared,     Code::kThreadIndex,
                              Code::kWaitForCopies, Code::kWarpDown,   Code::kWarpMultiply,
                              Code::kWarpRead,      Code::kWarpVote,   Code::kWarpXor};

template <size_t n>
bool IsIn(const Code (&codes)[n], Code code) {
  return std::find(codes, codes + n, code) != codes + n;
}

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  absl::Status CheckBlock(const Block& block) {
    std::vector<Value> defined;
    auto define = [&](const Instr* instr) {
      for (size_t i = 0; i < instr->results.size(); ++i) {
        defined.emplace_back(const_cast<Instr*>(instr), static_cast<int>(i));
        visible_.insert({instr, static_cast<int>(i)});
      }
    };
    if (block.arguments != nullptr) define(block.arguments);
    for (const Instr* instr : block.instrs) {
      for (Value v : instr->operands) TEKTITE_RETURN_IF_ERROR(CheckVisible(*instr, v));
      TEKTITE_RETURN_IF_ERROR(CheckInstr(*instr));
      define(instr);
    }
    for (Value v : block.results) {
      if (!v || !IsVisible(v)) {
        return Internal("kernel ", kernel_.name(),
                        ": a block yields a value that is not defined there");
      }
      TEKTITE_RETURN_IF_ERROR(CheckPlace(*v.instr(), v.instr()->code));
    }
    for (Value v : defined) visible_.erase({v.instr(), v.result()});
    return absl::OkStatus();
  }

 private:
  template <typename... Args>
  absl::Status Error(const Instr& instr, const Args&... what) {
    const bool has_op = instr.code == Code::kUnary || instr.code == Code::kBinary ||
                        instr.code == Code::kReduceLanes || instr.code == Code::kWarpVote;
    return Internal("kernel ", kernel_.name(), ": instruction ", instr.number, " (",
                    CodeName(instr.code), has_op ? " " : "",
                    has_op ? ir::OpName(instr.op) : absl::string_view(), "): ", what...);
  }

  bool IsVisible(Value v) { return IsLeafValue(v) || visible_.contains({v.instr(), v.result()}); }
  static bool IsLeafValue(Value v) {
    return IsLeaf(v.instr()->code) && v.instr()->code != Code::kArguments;
  }

  absl::Status CheckPlace(const Instr& instr, Code code) {
    if (IsIn(kOfHost, code) && kernel_.is_for_device()) {
      return Error(instr, CodeName(code), " in a kernel of a device");
    }
    if ((IsIn(kOfDevice, code) || IsWarpgroupCode(code)) && !kernel_.is_for_device()) {
      return Error(instr, CodeName(code), " in a kernel of the host, which has no threads");
    }
    return absl::OkStatus();
  }

  absl::Status CheckVisible(const Instr& instr, Value v) {
    if (!v) return Error(instr, "an operand is missing");
    if (!IsVisible(v)) return Error(instr, "an operand is not defined where it is used");
    const Instr& def = *v.instr();
    TEKTITE_RETURN_IF_ERROR(CheckPlace(instr, def.code));
    if (def.code == Code::kShared && def.immediate >= kernel_.launch.shared_bytes) {
      return Error(instr, "shared memory ends at byte ", kernel_.launch.shared_bytes);
    }
    if (def.code == Code::kBuffer &&
        (def.immediate < 0 || def.immediate >= static_cast<int64_t>(kernel_.buffers().size()))) {
      return Error(instr, "buffer ", def.immediate, " of ", kernel_.buffers().size());
    }
    return absl::OkStatus();
  }

  absl::Status Same(const Instr& instr, Value a, Value b) {
    if (!(a.type() == b.type())) {
      return Error(instr, "operands have types ", ir::DTypeName(a.dtype()), "x", a.lanes(), " and ",
                   ir::DTypeName(b.dtype()), "x", b.lanes());
    }
    return absl::OkStatus();
  }

  absl::Status Count(const Instr& instr, size_t fewest, size_t most) {
    if (instr.operands.size() < fewest || instr.operands.size() > most) {
      return Error(instr, "has ", instr.operands.size(), " operands, expected ", fewest, " to ",
                   most);
    }
    return absl::OkStatus();
  }

  absl::Status IsIndex(const Instr& instr, Value v) {
    return v.type() == Type() ? absl::OkStatus() : Error(instr, "an index is not an s64 scalar");
  }

  absl::Status IsMask(const Instr& instr, Value v, int lanes) {
    return v.type() == Type{DType::kBool, lanes, false}
               ? absl::OkStatus()
               : Error(instr, "the mask is not bool x ", lanes);
  }

  absl::Status CheckArithmetic(const Instr& instr) {
    const Value x = instr.operands[0];
    for (Value v : instr.operands) TEKTITE_RETURN_IF_ERROR(Same(instr, x, v));
    if (x.type().pointer) return Error(instr, "arithmetic on a pointer");
    if (ir::IsFloat(x.dtype()) && ir::DTypeBytes(x.dtype()) < 4) {
      return Error(instr, "no arithmetic on ", ir::DTypeName(x.dtype()), ": convert to f32");
    }
    if (instr.code == Code::kFma && !ir::IsFloat(x.dtype()))
      return Error(instr, "operands must be floats");
    return absl::OkStatus();
  }

  absl::Status CheckMemory(const Instr& instr) {
    const bool writes = instr.code == Code::kStore || instr.code == Code::kScatter;
    const bool indexed = instr.code == Code::kGather || instr.code == Code::kScatter;
    TEKTITE_RETURN_IF_ERROR(Count(instr, writes ? 3 : 2, writes ? 4 : 3));
    if (!instr.operands[0].type().pointer) return Error(instr, "the first operand is no pointer");
    const Type value = writes ? instr.operands[2].type() : instr.results[0];
    const Value index = instr.operands[1];
    if (!indexed) {
      TEKTITE_RETURN_IF_ERROR(IsIndex(instr, index));
    } else if ((index.dtype() != DType::kS32 && index.dtype() != DType::kS64) ||
               index.lanes() != value.lanes) {
      return Error(instr, "indices must be s32 or s64, one for each lane");
    }
    if (instr.operands.size() == (writes ? 4u : 3u)) {
      return IsMask(instr, instr.operands.back(), value.lanes);
    }
    return absl::OkStatus();
  }

  absl::Status CheckFor(const Instr& instr) {
    if (instr.operands.size() < 2) return Error(instr, "a range is missing");
    TEKTITE_RETURN_IF_ERROR(IsIndex(instr, instr.operands[0]));
    TEKTITE_RETURN_IF_ERROR(IsIndex(instr, instr.operands[1]));
    if (instr.immediate <= 0) return Error(instr, "step ", instr.immediate, " is not positive");
    TEKTITE_RETURN_IF_ERROR(CheckBlock(*instr.body));
    const std::vector<Value>& next = instr.body->results;
    if (next.size() != instr.results.size()) {
      return Error(instr, "carries ", instr.results.size(), " values, its body returns ",
                   next.size());
    }
    for (size_t i = 0; i < next.size(); ++i) {
      TEKTITE_RETURN_IF_ERROR(Same(instr, instr.operands[i + 2], next[i]));
    }
    return absl::OkStatus();
  }

  absl::Status CheckIf(const Instr& instr) {
    TEKTITE_RETURN_IF_ERROR(IsMask(instr, instr.operands[0], 1));
    TEKTITE_RETURN_IF_ERROR(CheckBlock(*instr.body));
    TEKTITE_RETURN_IF_ERROR(CheckBlock(*instr.otherwise));
    const auto& a = instr.body->results;
    const auto& b = instr.otherwise->results;
    if (a.size() != b.size())
      return Error(instr, "branches return ", a.size(), " and ", b.size(), " values");
    for (size_t i = 0; i < a.size(); ++i) TEKTITE_RETURN_IF_ERROR(Same(instr, a[i], b[i]));
    return absl::OkStatus();
  }

  absl::Status CheckLanes(const Instr& instr) {
    const Value v = instr.operands[0];
    const int lanes = v.lanes();
    if (instr.code != Code::kShuffle) {
      if (instr.immediate < 0 || instr.immediate >= lanes) {
        return Error(instr, "lane ", instr.immediate, " of ", lanes);
      }
      if (instr.code == Code::kInsertLane &&
          !(instr.operands[1].type() == Type{v.dtype(), 1, false})) {
        return Error(instr, "the scalar is not of the vector's dtype");
      }
      return absl::OkStatus();
    }
    int total = lanes;
    if (instr.operands.size() == 2) {
      TEKTITE_RETURN_IF_ERROR(Same(instr, v, instr.operands[1]));
      total += lanes;
    }
    for (int i : instr.lanes) {
      if (i < 0 || i >= total) return Error(instr, "lane ", i, " of ", total);
    }
    return absl::OkStatus();
  }

  absl::Status CheckExchange(const Instr& instr) {
    TEKTITE_RETURN_IF_ERROR(Count(instr, 1, instr.code == Code::kWarpRead ? 2 : 1));
    if (instr.operands[0].type().pointer) return Error(instr, "exchanges a pointer");
    if (instr.code == Code::kWarpRead) {
      TEKTITE_RETURN_IF_ERROR(Count(instr, 2, 2));
      return IsIndex(instr, instr.operands[1]);
    }
    if (instr.code == Code::kWarpVote) return IsMask(instr, instr.operands[0], 1);
    if (instr.immediate < 0 || instr.immediate >= kWarpThreads) {
      return Error(instr, instr.immediate, " is no number of a thread of a warp");
    }
    return absl::OkStatus();
  }

  // Rows of 16 bytes of shared memory.
  absl::Status CheckRow(const Instr& instr, bool shared, Value pointer, Value index) {
    if (!pointer.type().pointer || pointer.type().shared != shared) {
      return Error(instr, "the first operand must be a pointer into ",
                   shared ? "shared memory" : "a buffer");
    }
    TEKTITE_RETURN_IF_ERROR(IsIndex(instr, index));
    const int64_t alignment = KnownAlignment(pointer, instr.access, index);
    if (alignment >= kMatrixRowBytes) return absl::OkStatus();
    return Error(instr, "an address is known to be a multiple of ", alignment, " only");
  }

  absl::Status Sound(const Instr& instr, const std::string& fault) {
    return fault.empty() ? absl::OkStatus() : Error(instr, fault);
  }

  absl::Status CheckLoadMatrices(const Instr& instr) {
    TEKTITE_RETURN_IF_ERROR(Count(instr, 2, 2));
    if (!IsMatrixType(instr.access)) {
      return Error(instr, "elements must be f16, bf16, f32, s8 or u8");
    }
    if (instr.access == DType::kF32 && instr.immediate != 0) {
      return Error(instr, "elements of 32 bits cannot be transposed");
    }
    const size_t count = instr.results.size();
    if (count != 1 && count != 2 && count != 4) return Error(instr, count, " matrices");
    return CheckRow(instr, /*shared=*/true, instr.operands[0], instr.operands[1]);
  }

  absl::Status CheckCopyAsync(const Instr& instr) {
    TEKTITE_RETURN_IF_ERROR(Count(instr, 4, 5));
    TEKTITE_RETURN_IF_ERROR(CheckRow(instr, true, instr.operands[0], instr.operands[1]));
    TEKTITE_RETURN_IF_ERROR(CheckRow(instr, false, instr.operands[2], instr.operands[3]));
    return instr.operands.size() == 4 ? absl::OkStatus() : IsMask(instr, instr.operands[4], 1);
  }

  absl::Status CheckDotOfWords(const Instr& instr) {
    TEKTITE_RETURN_IF_ERROR(Count(instr, 3, 3));
    const int lanes = instr.operands[0].lanes();
    const Type pairs = {DType::kS32, lanes};
    const Type right = instr.code == Code::kDotShorts ? Type{DType::kS16, 2 * lanes} : pairs;
    const Type sums = {instr.code == Code::kDotPairs ? DType::kF32 : DType::kS32, lanes};
    if (lanes != 4 && lanes != 8 && lanes != 16) return Error(instr, lanes, " lanes");
    return instr.operands[0].type() == pairs && instr.operands[1].type() == right &&
                   instr.operands[2].type() == sums
               ? absl::OkStatus()
               : Error(instr, "words must be s32 and sums ", ir::DTypeName(sums.dtype));
  }

  absl::Status CheckTile(const Instr& instr) {
    const auto is_tile = [](int64_t i) { return i >= 0 && i < kTiles; };
    switch (instr.code) {
      case Code::kTileConfigure:
        if (instr.lanes.empty() || instr.lanes.size() > 2 * kTiles || instr.lanes.size() % 2 != 0) {
          return Error(instr, instr.lanes.size() / 2, " tiles");
        }
        for (size_t i = 0; i < instr.lanes.size(); i += 2) {
          const int rows = instr.lanes[i], bytes = instr.lanes[i + 1];
          if (rows < 1 || rows > kTileRows || bytes < 4 || bytes > kTileRowBytes ||
              bytes % 4 != 0) {
            return Error(instr, "a tile of ", rows, " rows of ", bytes, " bytes");
          }
        }
        return Count(instr, 0, 0);
      case Code::kTileMultiply:
        if (instr.lanes.size() != 3) return Error(instr, "must have three tiles");
        for (int tile : instr.lanes) {
          if (!is_tile(tile)) return Error(instr, "tile ", tile);
        }
        if (instr.access != DType::kBF16 && instr.access != DType::kS8 &&
            instr.access != DType::kU8) {
          return Error(instr, "tiles of ", ir::DTypeName(instr.access));
        }
        return Count(instr, 0, 0);
      case Code::kTileRelease:
        return Count(instr, 0, 0);
      case Code::kTileZero:
        if (!is_tile(instr.immediate)) return Error(instr, "tile ", instr.immediate);
        return Count(instr, 0, 0);
      default:
        break;
    }
    TEKTITE_RETURN_IF_ERROR(Count(instr, 3, 3));
    if (!is_tile(instr.immediate)) return Error(instr, "tile ", instr.immediate);
    if (!instr.operands[0].type().pointer) return Error(instr, "the first operand is no pointer");
    TEKTITE_RETURN_IF_ERROR(IsIndex(instr, instr.operands[1]));
    return IsIndex(instr, instr.operands[2]);
  }

  absl::Status CheckWarpgroup(const Instr& instr) {
    const std::string fault = WarpgroupFault(kernel_, instr);
    if (!fault.empty()) return Error(instr, fault);
    if (instr.code != Code::kRoles) return absl::OkStatus();
    TEKTITE_RETURN_IF_ERROR(CheckBlock(*instr.body));
    return CheckBlock(*instr.otherwise);
  }

  absl::Status CheckInstr(const Instr& instr) {
    TEKTITE_RETURN_IF_ERROR(CheckPlace(instr, instr.code));
    if (IsWarpgroupCode(instr.code) || instr.code == Code::kRoles) return CheckWarpgroup(instr);
    switch (instr.code) {
      case Code::kBarrier:
      case Code::kCommitCopies:
      case Code::kWaitForCopies:
        return Count(instr, 0, 0);
      case Code::kCopyAsync:
        return CheckCopyAsync(instr);
      case Code::kLoadMatrices:
        return CheckLoadMatrices(instr);
      case Code::kWarpMultiply:
        return Sound(instr, WarpMultiplyFault(instr));
      case Code::kDotBytes:
        return kernel_.is_for_device() ? Sound(instr, DotBytesFault(instr))
                                       : CheckDotOfWords(instr);
      case Code::kDotPairs:
      case Code::kDotShorts:
        return CheckDotOfWords(instr);
      case Code::kTileConfigure:
      case Code::kTileLoad:
      case Code::kTileMultiply:
      case Code::kTileRelease:
      case Code::kTileStore:
      case Code::kTileZero:
        return CheckTile(instr);
      case Code::kWarpDown:
      case Code::kWarpRead:
      case Code::kWarpVote:
      case Code::kWarpXor:
        return CheckExchange(instr);
      case Code::kUnary:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 1, 1));
        return CheckArithmetic(instr);
      case Code::kBinary:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 2, instr.immediate != 0 ? 3 : 2));
        if (instr.immediate != 0) TEKTITE_RETURN_IF_ERROR(IsIndex(instr, instr.operands[0]));
        return CheckArithmetic(instr);
      case Code::kFma:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 3, 3));
        return CheckArithmetic(instr);
      case Code::kReduceLanes:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 1, 1));
        return CheckArithmetic(instr);
      case Code::kCompare:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 2, 2));
        if (instr.immediate == static_cast<int64_t>(Direction::kInvalid)) {
          return Error(instr, "the direction is not one of eq, ne, lt, le, gt, ge");
        }
        if (instr.operands[0].type().pointer &&
            instr.immediate <= static_cast<int64_t>(Direction::kNe)) {
          return Same(instr, instr.operands[0], instr.operands[1]);
        }
        return CheckArithmetic(instr);
      case Code::kSelect:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 3, 3));
        TEKTITE_RETURN_IF_ERROR(Same(instr, instr.operands[1], instr.operands[2]));
        // A scalar condition chooses between whole vectors.
        return IsMask(instr, instr.operands[0],
                      instr.operands[0].lanes() == 1 ? 1 : instr.operands[1].lanes());
      case Code::kConvert:
        return Count(instr, 1, 1);
      case Code::kBitcast:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 1, 1));
        if (ir::DTypeBytes(instr.operands[0].dtype()) != ir::DTypeBytes(instr.results[0].dtype)) {
          return Error(instr, "the widths differ");
        }
        return absl::OkStatus();
      case Code::kSplat:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 1, 1));
        return instr.operands[0].lanes() == 1 ? absl::OkStatus()
                                              : Error(instr, "the operand must be a scalar");
      case Code::kMaskUpTo:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 1, 1));
        return IsIndex(instr, instr.operands[0]);
      case Code::kExtractLane:
      case Code::kInsertLane:
      case Code::kShuffle:
        TEKTITE_RETURN_IF_ERROR(Count(instr, instr.code == Code::kInsertLane ? 2 : 1, 2));
        return CheckLanes(instr);
      case Code::kLoad:
      case Code::kStore:
      case Code::kGather:
      case Code::kScatter:
        return CheckMemory(instr);
      case Code::kOffset:
      case Code::kPrefetch:
      case Code::kZero:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 2, 2));
        if (!instr.operands[0].type().pointer)
          return Error(instr, "the first operand is no pointer");
        return IsIndex(instr, instr.operands[1]);
      case Code::kCopy:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 3, 3));
        return IsIndex(instr, instr.operands[2]);
      case Code::kFor:
        return CheckFor(instr);
      case Code::kIf:
        TEKTITE_RETURN_IF_ERROR(Count(instr, 1, 1));
        return CheckIf(instr);
      default:
        return Error(instr, "a leaf stands in a block");
    }
  }

  const Kernel& kernel_;
  absl::flat_hash_set<std::pair<const Instr*, int>> visible_;
};

}  // namespace

absl::Status Verify(const Kernel& kernel) {
  const int threads = kernel.launch.threads;
  if (threads % kWarpThreads != 0 || threads < 0 || threads > kMostThreads) {
    return Internal("kernel ", kernel.name(), ": blocks of ", threads, " threads");
  }
  for (const TensorMap& map : kernel.tensor_maps) {
    const std::string fault = TensorMapFault(kernel, map);
    if (!fault.empty()) return Internal("kernel ", kernel.name(), ": ", fault);
  }
  return Verifier(kernel).CheckBlock(kernel.body());
}

}  // namespace tektite::loop
