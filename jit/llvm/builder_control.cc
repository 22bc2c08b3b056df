// Builder's loops and conditions: they fold, inline and unroll while they build.
#include <utility>

#include "jit/llvm/instr.h"

namespace tektite::loop {

namespace {

// Trips of a loop whose bounds are constants; -1 when they are not.
int64_t ConstantTrips(Value begin, Value end, int64_t step) {
  if (!begin.IsConstantIndex() || !end.IsConstantIndex() || step <= 0) return -1;
  const int64_t b = begin.constant_index(), e = end.constant_index();
  return e <= b ? 0 : (e - b + step - 1) / step;
}

}  // namespace

std::vector<Value> Builder::For(
    Value begin, Value end, int64_t step, std::vector<Value> carried,
    const std::function<std::vector<Value>(Value, absl::Span<const Value>)>& body,
    ForOptions options) {
  const int64_t trips = ConstantTrips(begin, end, step);
  if (trips == 0) return carried;
  const int64_t unroll =
      options.unroll > 1 && trips > 0 && trips % options.unroll == 0 ? options.unroll : 1;
  if (trips == unroll) {
    for (int64_t i = 0; i < trips; ++i)
      carried = body(Index(begin.constant_index() + i * step), carried);
    return carried;
  }

  Block::Arena& arena = *kernel_->body().arena;
  Block* inner = &arena.blocks.emplace_back();
  inner->arguments = arena.New(Code::kArguments);
  inner->arguments->results.push_back(Type());
  inner->arguments->operands = {begin};  // for what is known of the index
  inner->arguments->immediate = step * unroll;
  Instr* loop = arena.New(Code::kFor);
  loop->operands = {begin, end};
  loop->immediate = step * unroll;
  loop->body = inner;
  std::vector<Value> values;
  for (Value v : carried) {
    loop->operands.push_back(v);
    loop->results.push_back(v.type());
    inner->arguments->results.push_back(v.type());
    values.emplace_back(inner->arguments, static_cast<int>(values.size()) + 1);
  }
  Block* outer = std::exchange(block_, inner);
  for (int64_t i = 0; i < unroll; ++i) {
    values = body(Add(Value(inner->arguments, 0), Index(i * step)), values);
  }
  block_ = outer;
  inner->results = std::move(values);
  Emit(loop);
  std::vector<Value> results;
  for (size_t i = 0; i < carried.size(); ++i) results.emplace_back(loop, static_cast<int>(i));
  return results;
}

void Builder::For(Value begin, Value end, int64_t step, const std::function<void(Value)>& body,
                  ForOptions options) {
  For(
      begin, end, step, {},
      [&](Value i, absl::Span<const Value>) {
        body(i);
        return std::vector<Value>();
      },
      options);
}

std::vector<Value> Builder::IfElse(Value condition, const std::function<std::vector<Value>()>& then,
                                   const std::function<std::vector<Value>()>& otherwise) {
  if (const Instr* c = ConstantOf(condition)) return IntOf(*c) != 0 ? then() : otherwise();
  Block::Arena& arena = *kernel_->body().arena;
  Instr* instr = arena.New(Code::kIf);
  instr->operands = {condition};
  instr->body = &arena.blocks.emplace_back();
  instr->otherwise = &arena.blocks.emplace_back();
  Block* outer = std::exchange(block_, instr->body);
  instr->body->results = then();
  block_ = instr->otherwise;
  instr->otherwise->results = otherwise();
  block_ = outer;
  for (Value v : instr->body->results) instr->results.push_back(v.type());
  Emit(instr);
  std::vector<Value> results;
  for (size_t i = 0; i < instr->results.size(); ++i)
    results.emplace_back(instr, static_cast<int>(i));
  return results;
}

void Builder::If(Value condition, const std::function<void()>& then,
                 const std::function<void()>& otherwise) {
  IfElse(
      condition,
      [&] {
        then();
        return std::vector<Value>();
      },
      [&] {
        if (otherwise) otherwise();
        return std::vector<Value>();
      });
}

}  // namespace tektite::loop
