#include "jit/ir/dim_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "jit/ir/dim_expr.h"

namespace tektite::ir {
namespace {

using Code = DimProgram::Code;

Code CodeOf(char function) {
  switch (function) {
    case '/':
      return Code::kFloorDiv;
    case '%':
      return Code::kMod;
    case '>':
      return Code::kMax;
    default:
      return Code::kMin;
  }
}

}  // namespace

DimProgram::DimProgram(std::vector<std::string> symbols, std::vector<Step> steps)
    : symbols_(std::move(symbols)) {
  for (size_t i = 0; i < symbols_.size(); ++i) places_[symbols_[i]] = static_cast<int>(i);
  for (const Step& step : steps) Emit(step);
}

int DimProgram::Emit(Step step) {
  auto [it, added] =
      known_.try_emplace(std::tuple(step.code, step.a, step.b, step.value), table_size());
  if (added) {
    steps_.push_back(step);
    constants_fit_ &= !IsSaturated(step.value);
  }
  return it->second;
}

int DimProgram::Add(const Dim& dim) {
  const DimExpr* expr = DimExpr::Of(dim);
  if (expr == nullptr) return Emit({Code::kConstant, 0, 0, dim.value()});
  if (auto it = places_.find(expr->text); it != places_.end()) return it->second;
  int sum = -1;
  for (const DimTerm& term : expr->terms) {
    int product = -1;
    for (const auto& atom : term.atoms) {
      auto it = places_.find(atom->text);
      if (it == places_.end()) {
        int place;
        if (atom->function == 0) {
          complete_ = false;
          place = Emit({Code::kConstant, 0, 0, 0});
        } else {
          const int a = Add(atom->a), b = Add(atom->b);
          place = Emit({CodeOf(atom->function), a, b, 0});
        }
        it = places_.emplace(atom->text, place).first;
      }
      product = product < 0 ? it->second : Emit({Code::kMul, product, it->second, 0});
    }
    if (term.coefficient != 1) product = Emit({Code::kScale, product, 0, term.coefficient});
    sum = sum < 0 ? product : Emit({Code::kAdd, sum, product, 0});
  }
  if (expr->constant != 0) sum = Emit({Code::kAddConstant, sum, 0, expr->constant});
  places_[expr->text] = sum;
  return sum;
}

bool DimProgram::Run(const int64_t* symbols, int64_t* table) const {
  if (!symbols_.empty()) std::memcpy(table, symbols, symbols_.size() * sizeof(int64_t));
  int64_t* out = table + symbols_.size();
  bool wraps = false;
  for (const Step& step : steps_) {
    switch (step.code) {
      case Code::kConstant:
        *out = step.value;
        break;
      case Code::kAddConstant:
        wraps |= __builtin_add_overflow(table[step.a], step.value, out);
        break;
      case Code::kScale:
        wraps |= __builtin_mul_overflow(table[step.a], step.value, out);
        break;
      case Code::kAdd:
        wraps |= __builtin_add_overflow(table[step.a], table[step.b], out);
        break;
      case Code::kMul:
        wraps |= __builtin_mul_overflow(table[step.a], table[step.b], out);
        break;
      case Code::kFloorDiv:
        *out = DivideFloor(table[step.a], table[step.b]);
        break;
      case Code::kMod:
        *out = ModuloFloor(table[step.a], table[step.b]);
        break;
      case Code::kMax:
        *out = std::max(table[step.a], table[step.b]);
        break;
      case Code::kMin:
        *out = std::min(table[step.a], table[step.b]);
        break;
    }
    ++out;
  }
  return constants_fit_ && !wraps;
}

void DimProgram::Write(ByteWriter* out) const {
  out->U64(symbols_.size());
  for (const std::string& symbol : symbols_) out->String(symbol);
  out->U64(steps_.size());
  for (const Step& step : steps_) {
    out->U32(static_cast<uint32_t>(step.code));
    out->U32(static_cast<uint32_t>(step.a));
    out->U32(static_cast<uint32_t>(step.b));
    out->I64(step.value);
  }
}

bool DimProgram::Read(ByteReader* in) {
  std::vector<std::string> symbols(in->Count(sizeof(uint64_t)));
  for (std::string& symbol : symbols) symbol = std::string(in->String());
  std::vector<Step> steps(in->Count(3 * sizeof(uint32_t) + sizeof(int64_t)));
  for (size_t i = 0; i < steps.size(); ++i) {
    const uint32_t code = in->U32(), a = in->U32(), b = in->U32();
    // Only what stands before a step in the table may be read by it.
    const size_t before = symbols.size() + i;
    const bool reads = code != static_cast<uint32_t>(Code::kConstant);
    if (code > static_cast<uint32_t>(Code::kMin) || (reads && (a >= before || b >= before))) {
      return false;
    }
    steps[i] = {static_cast<Code>(code), static_cast<int32_t>(a), static_cast<int32_t>(b),
                in->I64()};
  }
  if (!in->ok()) return false;
  // Not through the constructor, which leaves out equal steps: places must stay.
  *this = DimProgram();
  symbols_ = std::move(symbols);
  steps_ = std::move(steps);
  for (const Step& step : steps_) constants_fit_ &= !IsSaturated(step.value);
  return true;
}

}  // namespace tektite::ir
