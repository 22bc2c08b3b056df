#include "c_printer.h"

#include <cmath>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace backend_c {
namespace {

using tektite::Unimplemented;
using tektite::ir::Attr;
using tektite::ir::Dim;
using tektite::ir::Dims;
using tektite::ir::DType;
using tektite::ir::Graph;
using tektite::ir::Node;
using tektite::ir::Op;
using tektite::ir::Shape;
using tektite::ir::Value;
using Names = std::vector<std::string>;

constexpr int64_t kAlignment = 64;       // of arrays in scratch
constexpr int64_t kMostConstant = 4096;  // elements that are printed

// Empty: no type of C's.
std::string TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "uint8_t";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
    case DType::kBF16:
      return "";
    default: {
      const std::string name(tektite::ir::DTypeName(dtype));  // s32, u8
      return absl::StrCat(name[0] == 'u' ? "uint" : "int", name.substr(1), "_t");
    }
  }
}

const char* SuffixOf(DType dtype) { return dtype == DType::kF32 ? "f" : ""; }

// What C has of an op's name: "exp(x)" for f64.
std::string Unary(Op op, DType dtype, const std::string& x) {
  const bool is_float = tektite::ir::IsFloat(dtype);
  switch (op) {
    case Op::kNeg:
      return absl::StrCat("-", x);
    case Op::kAbs:
      if (is_float) return absl::StrCat("fabs", SuffixOf(dtype), "(", x, ")");
      return tektite::ir::DTypeName(dtype)[0] == 's' ? absl::StrCat(x, " < 0 ? -", x, " : ", x) : x;
    case Op::kNot:
      return dtype == DType::kBool ? absl::StrCat("!", x) : absl::StrCat("~", x);
    case Op::kIsFinite:
      return absl::StrCat("isfinite(", x, ") != 0");
    case Op::kCeil:
    case Op::kCos:
    case Op::kExp:
    case Op::kFloor:
    case Op::kLog:
    case Op::kSin:
    case Op::kSqrt:
    case Op::kTanh:
      return is_float ? absl::StrCat(tektite::ir::OpName(op), SuffixOf(dtype), "(", x, ")") : "";
    default:
      return "";
  }
}

// NaN if either is.
std::string Extreme(const char* compare, const std::string& x, const std::string& y) {
  return absl::StrCat(x, " ", compare, " ", y, " || ", x, " != ", x, " ? ", x, " : ", y);
}

std::string Binary(Op op, DType dtype, const std::string& x, const std::string& y) {
  const auto infix = [&](const char* sign) { return absl::StrCat(x, " ", sign, " ", y); };
  const bool is_float = tektite::ir::IsFloat(dtype), is_bool = dtype == DType::kBool;
  switch (op) {
    case Op::kAdd:
      return is_bool ? "" : infix("+");
    case Op::kSub:
      return is_bool ? "" : infix("-");
    case Op::kMul:
      return is_bool ? "" : infix("*");
    case Op::kDiv:
      return is_float ? infix("/") : "";
    case Op::kMax:
      return Extreme(">", x, y);
    case Op::kMin:
      return Extreme("<", x, y);
    case Op::kAnd:
      return is_float ? "" : infix("&");
    case Op::kOr:
      return is_float ? "" : infix("|");
    case Op::kXor:
      return is_float ? "" : infix("^");
    default:
      return "";
  }
}

class Printer {
 public:
  explicit Printer(const Graph& region) : region_(region) {
    printed_.sizes = tektite::ir::DimProgram(tektite::ir::SymbolsOf(region));
  }

  absl::StatusOr<PrintedKernel> Run() {
    for (int i = 0; i < region_.num_parameters(); ++i) {
      TEKTITE_RETURN_IF_ERROR(
          Declare(region_.parameter(i)->result(), absl::StrCat("buffers[", i, "]")));
    }
    for (const auto& node : region_.nodes()) {
      if (node->op() == Op::kParameter) continue;
      if (node->num_results() != 1) return Refused(*node);
      TEKTITE_RETURN_IF_ERROR(Print(*node));
    }
    for (size_t i = 0; i < region_.outputs().size(); ++i) {
      const Value output = region_.outputs()[i];
      absl::StrAppend(&body_, "  memcpy(buffers[", region_.num_parameters() + i, "], ",
                      arrays_.at(output), ", ", Size(BytesOf(output.shape())), ");\n");
    }
    printed_.scratch_bytes = printed_.sizes.Add(scratch_);
    printed_.work = printed_.sizes.Add(work_);
    if (!printed_.sizes.complete()) return Unimplemented("a size of no parameter's");
    printed_.text = absl::StrCat(
        "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n",
        "void kernel(void* const* buffers, const int64_t* s, char* scratch) {\n", body_, "}\n");
    return std::move(printed_);
  }

 private:
  static absl::Status Refused(const Node& node) {
    return Unimplemented(node.Describe(), ": no C for it");
  }

  // ---- sizes and arrays ----

  std::string Size(const Dim& dim) {
    if (dim.is_constant()) return absl::StrCat("INT64_C(", dim.value(), ")");
    return absl::StrCat("s[", printed_.sizes.Add(dim), "]");
  }
  static Dim BytesOf(const Shape& shape) {
    return shape.NumElements() * Dim(tektite::ir::DTypeBytes(shape.dtype()));
  }

  absl::Status Declare(Value value, const std::string& address) {
    const std::string type = TypeOf(value.dtype());
    if (type.empty()) return Unimplemented("no C for ", value.shape().ToString());
    const std::string name = absl::StrCat("v", arrays_.size());
    absl::StrAppend(&body_, "  ", type, "* const ", name, " = (", type, "*)(", address, ");\n");
    arrays_.emplace(value, name);
    return absl::OkStatus();
  }
  absl::Status DeclareResult(Node& node) {
    const Dim at = scratch_;
    scratch_ = scratch_ + CeilDiv(BytesOf(node.shape()), kAlignment) * Dim(kAlignment);
    work_ = work_ + node.shape().NumElements();
    return Declare(node.result(), absl::StrCat("scratch + ", Size(at)));
  }

  // "v3[(i0 * 4) + i1]"
  std::string At(Value value, const Names& index) {
    std::string at = "0";
    for (int d = 0; d < value.shape().rank(); ++d) {
      at = absl::StrCat("(", at, ") * ", Size(value.shape().dim(d)), " + (",
                        index[static_cast<size_t>(d)], ")");
    }
    return absl::StrCat(arrays_.at(value), "[", at, "]");
  }
  // Of the same array, whatever its dimensions.
  std::string Element(Value value, const std::string& at) {
    return absl::StrCat(arrays_.at(value), "[", at, "]");
  }

  // Loops over all of `dims`: i0, i1, ...
  static Names Indices(int rank, const char* letter = "i") {
    Names names;
    for (int d = 0; d < rank; ++d) names.push_back(absl::StrCat(letter, d));
    return names;
  }
  void Loops(const Dims& dims, const Names& names, const std::string& body) {
    for (size_t d = 0; d < dims.size(); ++d) {
      absl::StrAppend(&body_, "  for (int64_t ", names[d], " = 0; ", names[d], " < ", Size(dims[d]),
                      "; ++", names[d], ")\n");
    }
    absl::StrAppend(&body_, "  {\n", body, "  }\n");
  }
  // result[index] = value
  void Each(Node& node, const std::string& value) {
    Loops(
        node.shape().dims(), Indices(node.shape().rank()),
        absl::StrCat("    ", At(node.result(), Indices(node.shape().rank())), " = ", value, ";\n"));
  }

  // ---- ops ----

  absl::Status Print(Node& node) {
    if (node.op() == Op::kReshape) {  // the same elements in the same order
      arrays_.emplace(node.result(), arrays_.at(node.operand(0)));
      return absl::OkStatus();
    }
    TEKTITE_RETURN_IF_ERROR(DeclareResult(node));
    switch (node.op()) {
      case Op::kConstant:
        return PrintConstant(node);
      case Op::kConvert:
        return PrintConvert(node);
      case Op::kBroadcastInDim:
        return PrintBroadcast(node);
      case Op::kTranspose:
        return PrintTranspose(node);
      case Op::kIota:
        Each(node, absl::StrCat("i", node.Int(Attr::dimension)));
        return absl::OkStatus();
      case Op::kReduce:
        return PrintReduce(node);
      case Op::kDotGeneral:
        return PrintDot(node);
      default:
        return PrintElementwise(node);
    }
  }

  absl::Status PrintElementwise(Node& node) {
    Names x;
    for (int i = 0; i < node.num_operands(); ++i) {
      x.push_back(Element(node.operand(i), "i0"));
    }
    const DType dtype = node.num_operands() > 0 ? node.operand(0).dtype() : node.shape().dtype();
    std::string value;
    if (node.op() == Op::kCompare) {
      static const std::map<std::string, const char*> signs = {
          {"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
      value = absl::StrCat(x[0], " ", signs.at(node.String(Attr::direction)), " ", x[1]);
    } else if (node.op() == Op::kSelect) {
      value = absl::StrCat(x[0], " ? ", x[1], " : ", x[2]);
    } else if (x.size() == 1) {
      value = Unary(node.op(), dtype, x[0]);
    } else if (x.size() == 2) {
      value = Binary(node.op(), dtype, x[0], x[1]);
    }
    if (value.empty()) return Refused(node);
    Loops({node.shape().NumElements()}, {"i0"},
          absl::StrCat("    ", Element(node.result(), "i0"), " = ", value, ";\n"));
    return absl::OkStatus();
  }

  absl::Status PrintConstant(Node& node) {
    const tektite::ir::Literal& literal = node.attrs().GetLiteral(Attr::value);
    if (literal.num_elements() > kMostConstant) return Refused(node);
    Names elements;
    for (int64_t i = 0; i < literal.num_elements(); ++i) {
      const double x = literal.AsDouble(i);
      // A double holds all numbers of these types but the largest of s64 and u64.
      if (std::fabs(x) > 9e15 && !tektite::ir::IsFloat(literal.dtype())) return Refused(node);
      elements.push_back(std::isnan(x)   ? "NAN"
                         : std::isinf(x) ? (x < 0 ? "-INFINITY" : "INFINITY")
                                         : absl::StrFormat("%.17g", x));
    }
    if (elements.empty()) return absl::OkStatus();
    const std::string name = absl::StrCat("c", arrays_.size());
    absl::StrAppend(&body_, "  static const ", TypeOf(literal.dtype()), " ", name, "[] = {",
                    absl::StrJoin(elements, ", "), "};\n  memcpy(", arrays_.at(node.result()), ", ",
                    name, ", sizeof(", name, "));\n");
    return absl::OkStatus();
  }

  // A float that an integer has no room for is not C's.
  absl::Status PrintConvert(Node& node) {
    const DType from = node.operand(0).dtype(), to = node.shape().dtype();
    if (tektite::ir::IsFloat(from) && !tektite::ir::IsFloat(to)) return Refused(node);
    Loops({node.shape().NumElements()}, {"i0"},
          absl::StrCat("    ", Element(node.result(), "i0"), " = ", Element(node.operand(0), "i0"),
                       to == DType::kBool ? " != 0" : "", ";\n"));
    return absl::OkStatus();
  }

  absl::Status PrintBroadcast(Node& node) {
    Names index;
    const std::vector<int64_t>& dimensions = node.Ints(Attr::dimensions);
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const bool is_one = node.operand_shape(0).dim(static_cast<int>(d)) == Dim(1);
      index.push_back(is_one ? "0" : absl::StrCat("i", dimensions[d]));
    }
    Each(node, At(node.operand(0), index));
    return absl::OkStatus();
  }

  absl::Status PrintTranspose(Node& node) {
    const std::vector<int64_t>& permutation = node.Ints(Attr::permutation);
    Names index(permutation.size());
    for (size_t d = 0; d < permutation.size(); ++d) {
      index[static_cast<size_t>(permutation[d])] = absl::StrCat("i", d);
    }
    Each(node, At(node.operand(0), index));
    return absl::OkStatus();
  }

  // Sums of f32 are added up in double, as the interpreter does.
  absl::Status PrintReduce(Node& node) {
    if (node.num_regions() > 0 || node.num_operands() != 1) return Refused(node);
    static const std::map<std::string, Op> ops = {{"add", Op::kAdd}, {"mul", Op::kMul},
                                                  {"max", Op::kMax}, {"min", Op::kMin},
                                                  {"and", Op::kAnd}, {"or", Op::kOr}};
    const DType dtype = node.shape().dtype();
    const auto op = ops.find(node.String(Attr::reducer));
    const std::string start = op == ops.end() ? "" : StartOf(op->second, dtype);
    const DType sum = tektite::ir::IsFloat(dtype) ? DType::kF64 : dtype;
    const std::string element = absl::StrCat("(", TypeOf(sum), ")x");
    const std::string next = op == ops.end() ? "" : Binary(op->second, sum, "sum", element);
    if (start.empty() || next.empty()) return Refused(node);
    const Shape& from = node.operand_shape(0);
    Names index(static_cast<size_t>(from.rank()));
    const std::vector<int64_t>& reduced = node.Ints(Attr::dimensions);
    for (size_t i = 0; i < reduced.size(); ++i) {
      index[static_cast<size_t>(reduced[i])] = absl::StrCat("r", i);
    }
    int kept = 0;
    for (std::string& name : index) {
      if (name.empty()) name = absl::StrCat("i", kept++);
    }
    std::string body = absl::StrCat("    ", TypeOf(sum), " sum = ", start, ";\n");
    for (size_t i = 0; i < reduced.size(); ++i) {
      const Dim& size = from.dim(static_cast<int>(reduced[i]));
      absl::StrAppend(&body, "    for (int64_t r", i, " = 0; r", i, " < ", Size(size), "; ++r", i,
                      ")\n");
    }
    absl::StrAppend(&body, "    {\n      const ", TypeOf(dtype),
                    " x = ", At(node.operand(0), index), ";\n      sum = ", next, ";\n    }\n    ",
                    At(node.result(), Indices(node.shape().rank())), " = sum;\n");
    Loops(node.shape().dims(), Indices(node.shape().rank()), body);
    return absl::OkStatus();
  }

  // Empty: not for this type.
  static std::string StartOf(Op op, DType dtype) {
    if (op == Op::kAdd || op == Op::kOr) return "0";
    if (op == Op::kMul) return "1";
    if (dtype == DType::kBool) return op == Op::kAnd || op == Op::kMin ? "1" : "0";
    if (!tektite::ir::IsFloat(dtype)) return "";
    return op == Op::kMax ? "-INFINITY" : op == Op::kMin ? "INFINITY" : "";
  }

  absl::Status PrintDot(Node& node) {
    const DType dtype = node.shape().dtype();
    if (dtype == DType::kBool || node.operand(0).dtype() != dtype ||
        node.operand(1).dtype() != dtype) {
      return Refused(node);
    }
    const tektite::ops::DotDims dims = tektite::ops::GetDotDims(node);
    Names lhs(static_cast<size_t>(node.operand_shape(0).rank()));
    Names rhs(static_cast<size_t>(node.operand_shape(1).rank()));
    int at = 0;
    for (size_t i = 0; i < dims.lhs_batch.size(); ++i, ++at) {
      lhs[static_cast<size_t>(dims.lhs_batch[i])] = absl::StrCat("i", at);
      rhs[static_cast<size_t>(dims.rhs_batch[i])] = absl::StrCat("i", at);
    }
    for (int64_t d : dims.lhs_free) lhs[static_cast<size_t>(d)] = absl::StrCat("i", at++);
    for (int64_t d : dims.rhs_free) rhs[static_cast<size_t>(d)] = absl::StrCat("i", at++);
    const std::string sum = TypeOf(tektite::ir::IsFloat(dtype) ? DType::kF64 : dtype);
    std::string body = absl::StrCat("    ", sum, " sum = 0;\n");
    for (size_t i = 0; i < dims.lhs_contracting.size(); ++i) {
      const std::string k = absl::StrCat("k", i);
      lhs[static_cast<size_t>(dims.lhs_contracting[i])] = k;
      rhs[static_cast<size_t>(dims.rhs_contracting[i])] = k;
      const Dim& size = node.operand_shape(0).dim(static_cast<int>(dims.lhs_contracting[i]));
      absl::StrAppend(&body, "    for (int64_t ", k, " = 0; ", k, " < ", Size(size), "; ++", k,
                      ")\n");
    }
    absl::StrAppend(&body, "      sum += (", sum, ")", At(node.operand(0), lhs), " * ",
                    At(node.operand(1), rhs), ";\n    ",
                    At(node.result(), Indices(node.shape().rank())), " = sum;\n");
    Loops(node.shape().dims(), Indices(node.shape().rank()), body);
    return absl::OkStatus();
  }

  const Graph& region_;
  PrintedKernel printed_;
  std::string body_;
  absl::flat_hash_map<Value, std::string> arrays_;
  Dim scratch_ = 0, work_ = 0;
};

}  // namespace

absl::StatusOr<PrintedKernel> PrintC(const Graph& region) { return Printer(region).Run(); }

}  // namespace backend_c
