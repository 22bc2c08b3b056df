#include "tests/conformance/one_target.h"

#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/reference/interpreter.h"
#include "jit/reference/reference_backend.h"
#include "tests/conformance/targets.h"

namespace tektite::testing {
namespace {

// What was refused, by test; says so at the end.
class Refusals final : public ::testing::Environment {
 public:
  void Add(const std::string& test, int graphs) { graphs_[test] += graphs; }

 private:
  void TearDown() override {
    int whole = 0;
    std::string others;
    for (const auto& [test, graphs] : graphs_) {
      if (graphs == 0) ++whole;
      if (graphs > 0) absl::StrAppend(&others, "  ", test, ": ", graphs, " graphs\n");
    }
    std::printf("%d of %zu tests ran on kernels of the back end alone.\n%s", whole, graphs_.size(),
                others.empty() ? "" : ("Without a kernel for some part:\n" + others).c_str());
  }
  std::map<std::string, int> graphs_;
};
auto* const refusals = dynamic_cast<Refusals*>(::testing::AddGlobalTestEnvironment(new Refusals));

}  // namespace

const std::vector<ConformanceTarget>& ConformanceTargets() {
  static const auto& targets = *new std::vector<ConformanceTarget>([] {
    const std::unique_ptr<backend::Backend> backend = CreateBackendUnderTest();
    ConformanceTarget target;
    target.name = target.backend = std::string(backend->name());
    target.is_device = backend->device() != nullptr;
    target.may_refuse = true;
    return std::vector<ConformanceTarget>{target};
  }());
  return targets;
}

std::unique_ptr<backend::Backend> CreateTested(const ConformanceTarget&, const TestedOptions&) {
  return CreateBackendUnderTest();
}

compiler::BackendList BackendsBehind() {
  static constexpr compiler::BackendInfo kInterpreter[] = {
      {compiler::kReference, &reference::ReferenceBackend::Create}};
  return {kInterpreter, &reference::Evaluate};
}

void NoteRefusals(const ConformanceTarget&, const std::string& test, int graphs) {
  refusals->Add(test, graphs);
}

}  // namespace tektite::testing
