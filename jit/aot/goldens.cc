#include "jit/aot/goldens.h"

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

}  // namespace

absl::StatusOr<Goldens> RunGoldens(runtime::Executable& executable,
                                   const runtime::OutputRoles& roles, const Library& library) {
  ir::SymbolMap values;
  for (size_t i = 0; i < library.sizes.size(); ++i) {
    values.emplace(library.graph.program.symbols()[i], library.graph.typical_sizes[i]);
  }
  std::vector<Literal> arguments;
  for (size_t p = 0; p < library.arguments.size(); ++p) {
    const ir::Shape shape = library.arguments[p].shape.Substitute(values);
    const std::string bytes =
        FillArgument(shape.dtype(), shape.num_elements(), static_cast<int>(p));
    arguments.push_back(Literal::CopyOf(shape.dtype(), shape.sizes(), bytes.data()));
  }
  std::vector<runtime::Argument> raw;
  for (const Literal& argument : arguments) {
    raw.push_back({argument.raw(), 0, argument.sizes().data()});
  }
  GoldenHost host(&arguments);
  TEKTITE_RETURN_IF_ERROR(executable.Run(raw, host));
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
    const auto found = host.updated.find(static_cast<int>(p));
    const Literal& argument = arguments[p];
    goldens.state.push_back(BytesOf(found == host.updated.end() ? argument : found->second));
  }
  return goldens;
}

}  // namespace tektite::aot
