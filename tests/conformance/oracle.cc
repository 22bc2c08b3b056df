#include "tests/conformance/oracle.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "jit/base/hash.h"
#include "jit/reference/interpreter.h"

namespace tektite::testing {
namespace {

using Results = absl::StatusOr<std::vector<ir::Literal>>;

std::string KeyOf(const ir::Graph& graph, const std::vector<ir::Literal>& inputs) {
  std::string key = ir::Print(graph);
  for (const ir::Literal& input : inputs) {
    const absl::string_view bytes(static_cast<const char*>(input.raw()),
                                  static_cast<size_t>(input.num_bytes()));
    const Checksum checksum = ChecksumOf(bytes);
    absl::StrAppend(&key, input.shape().ToString(), " ");
    key.append(checksum.bytes.begin(), checksum.bytes.end());
  }
  return key;
}

}  // namespace

absl::StatusOr<std::vector<ir::Literal>> EvaluateOnce(const ir::Graph& graph,
                                                      const std::vector<ir::Literal>& inputs) {
  static auto& known = *new std::map<std::string, Results>;
  static auto& of = *new std::string;
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  name = name.substr(0, name.find('/'));
  if (name != of) known.clear();
  of = name;
  const auto [entry, is_new] =
      known.try_emplace(KeyOf(graph, inputs), absl::UnknownError("not evaluated"));
  if (is_new) entry->second = reference::Evaluate(graph, inputs);
  return entry->second;
}

}  // namespace tektite::testing
