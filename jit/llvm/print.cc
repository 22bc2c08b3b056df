// Kernel::ToString: one instruction a line, leaves (constants, buffers, the frame) inline.
//
//   kernel scale(x: f32, y: f32 written) scratch 0 {
//     for %0 = chunk_begin to chunk_end step 1 {
//       %1 = mul s64 %0, 16
//       %2 = load f32x16 @x, %1
//       ...
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "jit/llvm/instr.h"

namespace tektite::loop {

namespace {

std::string TypeText(const Type& type) {
  std::string text(ir::DTypeName(type.dtype));
  if (type.pointer) return absl::StrCat(text, "*");
  return type.lanes == 1 ? text : absl::StrCat(text, "x", type.lanes);
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string Print() {
    out_ = absl::StrCat("kernel ", kernel_.name(), "(",
                        absl::StrJoin(kernel_.buffers(), ", ",
                                      [](std::string* s, const BufferInfo& b) {
                                        absl::StrAppend(s, b.name, ": ", ir::DTypeName(b.dtype),
                                                        b.written ? " written" : "",
                                                        b.may_alias ? " may_alias" : "");
                                      }),
                        ") scratch ", kernel_.scratch_bytes.ToString(), LaunchText(), " {\n");
    for (size_t i = 0; i < kernel_.tensor_maps.size(); ++i) PrintTensorMap(i);
    PrintBlock(kernel_.body(), 1);
    absl::StrAppend(&out_, "}\n");
    return std::move(out_);
  }

 private:
  std::string Name(Value v) {
    auto [it, added] = names_.try_emplace(std::make_pair(v.instr(), v.result()), names_.size());
    return absl::StrCat("%", it->second);
  }

  std::string Constant(const Instr& c) {
    const Type type = c.results[0];
    if (type == Type()) return absl::StrCat(c.immediate);
    // Hexadecimal bits say exactly which float; the decimal is for the reader.
    if (ir::IsFloat(type.dtype)) {
      return absl::StrFormat("%s %g[%x]", TypeText(type), FloatOf(c),
                             static_cast<uint64_t>(c.immediate));
    }
    return absl::StrCat(TypeText(type), " ", c.immediate);
  }

  std::string Operand(Value v) {
    if (!v) return "none";
    const Instr& instr = *v.instr();
    switch (instr.code) {
      case Code::kConstant:
        return Constant(instr);
      case Code::kBuffer: {
        const size_t i = static_cast<size_t>(instr.immediate);
        return i < kernel_.buffers().size() ? absl::StrCat("@", kernel_.buffers()[i].name)
                                            : absl::StrCat("@", instr.immediate);
      }
      case Code::kIota:
        return absl::StrCat("iota ", TypeText(v.type()));
      case Code::kScratch:
        return absl::StrCat("scratch+", instr.immediate);
      case Code::kSize:
        return absl::StrCat("size", instr.immediate);
      case Code::kShared:
        return absl::StrCat("shared+", instr.immediate);
      case Code::kBlockCount:
      case Code::kBlockIndex:
      case Code::kChunkBegin:
      case Code::kChunkEnd:
      case Code::kThreadIndex:
        return std::string(CodeName(instr.code));
      default:
        return Name(v);
    }
  }

  std::string LaunchText() {
    const Launch& launch = kernel_.launch;
    if (!kernel_.is_for_device()) return "";
    return absl::StrCat(" threads ", launch.threads, " blocks ", launch.blocks.ToString(),
                        " shared ", launch.shared_bytes, " resident ", launch.resident_threads);
  }

  void PrintTensorMap(size_t number) {
    const TensorMap& map = kernel_.tensor_maps[number];
    const auto dims = [](std::string* s, const ir::Dim& d) { absl::StrAppend(s, d.ToString()); };
    Line(1, absl::StrCat("map ", number, " of buffer ", map.buffer, ": sizes ",
                         absl::StrJoin(map.sizes, " ", dims), ", strides ",
                         absl::StrJoin(map.strides, " ", dims), ", box ",
                         absl::StrJoin(map.box, " ")));
  }

  std::string Operands(absl::Span<const Value> values) {
    return absl::StrJoin(values, ", ",
                         [this](std::string* s, Value v) { absl::StrAppend(s, Operand(v)); });
  }

  std::string Results(const Instr& instr) {
    std::string text;
    for (size_t i = 0; i < instr.results.size(); ++i) {
      absl::StrAppend(&text, i > 0 ? ", " : "",
                      Name(Value(const_cast<Instr*>(&instr), static_cast<int>(i))));
    }
    return text.empty() ? text : absl::StrCat(text, " = ");
  }

  void Line(int depth, const std::string& text) {
    absl::StrAppend(&out_, std::string(2 * depth, ' '), text, "\n");
  }

  void PrintFor(const Instr& instr, int depth) {
    const std::string results = Results(instr);
    const std::string name = Name(Value(instr.body->arguments, 0));
    std::string carried;
    for (size_t i = 2; i < instr.operands.size(); ++i) {
      absl::StrAppend(&carried, i > 2 ? ", " : " carry ",
                      Name(Value(instr.body->arguments, static_cast<int>(i) - 1)), " = ",
                      Operand(instr.operands[i]));
    }
    const std::string range = absl::StrCat(Operand(instr.operands[0]), " to ",
                                           Operand(instr.operands[1]), " step ", instr.immediate);
    Line(depth, absl::StrCat(results, "for ", name, " = ", range, carried, " {"));
    PrintBlock(*instr.body, depth + 1);
    Line(depth, "}");
  }

  void PrintIf(const Instr& instr, int depth) {
    Line(depth, absl::StrCat(Results(instr), "if ", Operand(instr.operands[0]), " {"));
    PrintBlock(*instr.body, depth + 1);
    if (!instr.otherwise->instrs.empty() || !instr.otherwise->results.empty()) {
      Line(depth, "} else {");
      PrintBlock(*instr.otherwise, depth + 1);
    }
    Line(depth, "}");
  }

  void PrintBlock(const Block& block, int depth) {
    for (const Instr* instr : block.instrs) {
      if (instr->code == Code::kFor) {
        PrintFor(*instr, depth);
      } else if (instr->code == Code::kIf) {
        PrintIf(*instr, depth);
      } else if (instr->code == Code::kRoles) {
        Line(depth, absl::StrCat("roles of ", instr->immediate, " threads, registers ",
                                 absl::StrJoin(instr->lanes, " and "), " {"));
        PrintBlock(*instr->body, depth + 1);
        Line(depth, "} and {");
        PrintBlock(*instr->otherwise, depth + 1);
        Line(depth, "}");
      } else {
        PrintPlain(*instr, depth);
      }
    }
    if (!block.results.empty()) Line(depth, absl::StrCat("yield ", Operands(block.results)));
  }

  void PrintPlain(const Instr& instr, int depth) {
    std::string text = Results(instr);
    const bool has_op = instr.code == Code::kUnary || instr.code == Code::kBinary;
    absl::StrAppend(&text, has_op ? ir::OpName(instr.op) : CodeName(instr.code));
    if (instr.code == Code::kBinary && instr.immediate != 0) absl::StrAppend(&text, " narrow");
    if (instr.code == Code::kReduceLanes || instr.code == Code::kWarpVote) {
      absl::StrAppend(&text, " ", ir::OpName(instr.op));
    }
    if (instr.code == Code::kCompare) {
      absl::StrAppend(&text, " ", DirectionName(static_cast<Direction>(instr.immediate)));
    }
    if (!instr.results.empty()) {
      absl::StrAppend(&text, " ", TypeText(instr.results[0]));
    } else if (instr.code == Code::kStore || instr.code == Code::kScatter) {
      absl::StrAppend(&text, " ", TypeText(instr.operands[2].type()));
    } else if (instr.code == Code::kPrefetch || instr.code == Code::kCopyAsync ||
               instr.code == Code::kCopyTensor || instr.code == Code::kTileLoad ||
               instr.code == Code::kTileStore) {
      absl::StrAppend(&text, " ", ir::DTypeName(instr.access));
    }
    if (!instr.operands.empty()) absl::StrAppend(&text, " ", Operands(instr.operands));
    if (instr.code == Code::kWarpDown || instr.code == Code::kWarpXor) {
      absl::StrAppend(&text, ", ", instr.immediate);
    }
    if (instr.code == Code::kPrefetch && instr.immediate != 0) {
      absl::StrAppend(&text, ", second cache");
    }
    if (instr.code == Code::kLoadMatrices && instr.immediate != 0) {
      absl::StrAppend(&text, ", transposed");
    }
    if (instr.code == Code::kWaitForCopies) absl::StrAppend(&text, " ", instr.immediate);
    if (instr.code == Code::kWaitForProducts || instr.code == Code::kInitSignal ||
        instr.code == Code::kBeginProduct) {
      absl::StrAppend(&text, "; ", instr.immediate);
    }
    if (instr.code == Code::kAcquireTensor || instr.code == Code::kCopyTensor) {
      absl::StrAppend(&text, instr.operands.empty() ? " " : ", ", "map ", instr.immediate);
    }
    if (instr.code == Code::kExtractLane || instr.code == Code::kInsertLane) {
      absl::StrAppend(&text, ", lane ", instr.immediate);
    }
    if (instr.code == Code::kTileLoad || instr.code == Code::kTileStore ||
        instr.code == Code::kTileZero) {
      absl::StrAppend(&text, instr.operands.empty() ? " " : ", ", "tile ", instr.immediate);
    }
    if (instr.code == Code::kShuffle || instr.code == Code::kTileConfigure ||
        instr.code == Code::kTileMultiply)
      absl::StrAppend(&text, " [", absl::StrJoin(instr.lanes, " "), "]");
    if (instr.code == Code::kTileMultiply) {
      absl::StrAppend(&text, " of ", ir::DTypeName(instr.access));
    }
    Line(depth, text);
  }

  const Kernel& kernel_;
  std::string out_;
  absl::flat_hash_map<std::pair<const Instr*, int>, int> names_;
};

}  // namespace

std::string Kernel::ToString() const { return Printer(*this).Print(); }

}  // namespace tektite::loop
