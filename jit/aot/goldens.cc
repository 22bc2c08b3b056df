#include "jit/aot/goldens.h"

#include <xmmintrin.h>

#include <map>
#include <string>
#include <utility>

#include "jit/base/status.h"
#include "jit/ir/literal.h"

namespace tektite::aot {
namespace {

using ir::Literal;

std::string BytesOf(const Literal& literal) {
  return {static_cast<const char*>(literal.raw()), static_cast<size_t>(literal.num_bytes())};
}

// Keeps results, and the new values of arguments.
class GoldenHost : public runtime::CallHost {
 public:
  explicit GoldenHost(std::vector<Literal>* arguments) : arguments_(*arguments) {}
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    Literal& literal =
        results.insert_or_assign(result, Literal::Allocate(type.dtype, type.dims)).first->second;
    return const_cast<void*>(literal.raw());
  }
  bool BeginUpdates(absl::Span<Update> updates) override {
    for (Update& update : updates) {
      const Literal& old = arguments_[update.argument];
      // What may be written in place keeps its memory.
      const Literal& fresh =
          updated
              .emplace(update.argument,
                       update.in_place ? old : Literal::Allocate(old.dtype(), old.sizes()))
              .first->second;
      update.memory = const_cast<void*>(fresh.raw());
    }
    return true;
  }

  std::map<int, Literal> results, updated;

 private:
  std::vector<Literal>& arguments_;
};

// Denormals are 0 in a library's calls.
class FlushDenormals {
 public:
  FlushDenormals() { _mm_setcsr(before_ | kDenormalsAreZeros | _MM_FLUSH_ZERO_ON); }
  ~FlushDenormals() { _mm_setcsr(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned kDenormalsAreZeros = 1 << 6;
  const unsigned before_ = _mm_getcsr();
};

}  // namespace

absl::StatusOr<Goldens> RunGoldens(runtime::Executable& executable,
                                   const runtime::OutputRoles& roles,
                                   const std::map<int, Literal>& bound, const Library& library) {
  ir::SymbolMap values;
  for (size_t i = 0; i < library.sizes.size(); ++i) {
    values.emplace(library.graph.program.symbols()[i], library.graph.typical_sizes[i]);
  }
  std::vector<Literal> arguments;
  const size_t num_parameters = library.arguments.size() + bound.size();
  arguments.reserve(num_parameters);
  std::vector<runtime::Argument> raw;
  std::vector<int> parameters;  // by argument of the library
  for (int p = 0; p < static_cast<int>(num_parameters); ++p) {
    if (const auto value = bound.find(p); value != bound.end()) {
      arguments.push_back(value->second);
      raw.push_back({value->second.raw(), 1, value->second.sizes().data()});
      continue;
    }
    const auto number = static_cast<int>(parameters.size());
    const ir::Shape shape = library.arguments[number].shape.Substitute(values);
    const std::string bytes = FillArgument(shape.dtype(), shape.num_elements(), number);
    arguments.push_back(Literal::CopyOf(shape.dtype(), shape.sizes(), bytes.data()));
    raw.push_back({arguments.back().raw(), 0, arguments.back().sizes().data()});
    parameters.push_back(p);
  }
  GoldenHost host(&arguments);
  {
    const FlushDenormals flush;
    TEKTITE_RETURN_IF_ERROR(executable.Run(raw, host));
  }
  Goldens goldens;
  for (size_t k = 0; k < library.results.size(); ++k) {
    const auto found = host.results.find(static_cast<int>(k));
    if (found != host.results.end()) {
      goldens.results.push_back(BytesOf(found->second));
      continue;
    }
    // How many rows of a result count is not for a host, but it has seen the rows.
    const size_t counted = k + roles.counted.size() - library.results.size();
    const int64_t rows = host.results.at(roles.counted[counted]).sizes().front();
    goldens.results.emplace_back(reinterpret_cast<const char*>(&rows), sizeof(rows));
  }
  for (size_t p = 0; p < library.arguments.size(); ++p) {
    if (!library.arguments[p].is_state) continue;
    const auto found = host.updated.find(parameters[p]);
    const Literal& argument = arguments[parameters[p]];
    goldens.state.push_back(BytesOf(found == host.updated.end() ? argument : found->second));
  }
  return goldens;
}

}  // namespace tektite::aot
