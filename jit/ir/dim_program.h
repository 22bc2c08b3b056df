// Dimension expressions compiled for evaluation: a table of values filled in one sweep.
//
//   DimProgram program({"n", "m"});
//   int area = program.Add(Dim::Symbol("n") * Dim::Symbol("m"));
//   std::vector<int64_t> table(program.table_size());
//   int64_t symbols[] = {8, 128};
//   if (!program.Run(symbols, table.data())) ...   // a value does not fit 64 bits
//   use(table[area]);                              // 1024
//
// Why: Dim::Substitute builds strings and maps, microseconds a piece; a step here takes a
// nanosecond or two.  Equal subexpressions are computed once.  The table starts with the symbols'
// values. A program is plain data: its symbols and steps are all there is to store.
#ifndef TEKTITE_JIT_IR_DIM_PROGRAM_H_
#define TEKTITE_JIT_IR_DIM_PROGRAM_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "jit/base/bytes.h"
#include "jit/ir/dim.h"

namespace tektite::ir {

class DimProgram {
 public:
  enum class Code : uint8_t {
    kConstant,     // value
    kAddConstant,  // a + value
    kScale,        // a * value
    kAdd,
    kMul,
    kFloorDiv,  // as FloorDiv and Mod of dim.h
    kMod,
    kMax,
    kMin,
  };
  struct Step {
    Code code = Code::kConstant;
    int32_t a = 0, b = 0;  // places in the table, before this step's own
    int64_t value = 0;
  };

  DimProgram() = default;
  explicit DimProgram(std::vector<std::string> symbols) : DimProgram(std::move(symbols), {}) {}
  DimProgram(std::vector<std::string> symbols, std::vector<Step> steps);

  // The place in the table where the value of `dim` will be.  A symbol the program does not have
  // counts as 0, and makes complete() false.
  int Add(const Dim& dim);
  bool complete() const { return complete_; }

  const std::vector<std::string>& symbols() const { return symbols_; }
  absl::Span<const Step> steps() const { return steps_; }
  int num_symbols() const { return static_cast<int>(symbols_.size()); }
  int table_size() const { return static_cast<int>(symbols_.size() + steps_.size()); }

  // `symbols` has num_symbols() values, `table` room for table_size().  False when a value does not
  // fit 64 bits: no size in the table may then be used.
  [[nodiscard]] bool Run(const int64_t* symbols, int64_t* table) const;

  void Write(ByteWriter* out) const;
  // False for bytes that are no program; any other program is safe to run.
  bool Read(ByteReader* in);

 private:
  int Emit(Step step);
  std::vector<std::string> symbols_;
  std::vector<Step> steps_;
  bool complete_ = true;
  bool constants_fit_ = true;
  std::map<std::string, int> places_;  // by text, of dimensions and their subexpressions
  std::map<std::tuple<Code, int32_t, int32_t, int64_t>, int> known_;
};

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_DIM_PROGRAM_H_
