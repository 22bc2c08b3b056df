// The lists: sorted, without doubles, and all of it reachable.
#include <algorithm>

#include "clustering/importer/import_table.h"
#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

TEST(Tables, ImportListIsSortedAndParsed) {
  const std::vector<std::string> ops = {
#define TEKTITE_IMPORT(op, function, compile_time) #op,
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
  };
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end()));
  EXPECT_EQ(std::adjacent_find(ops.begin(), ops.end()), ops.end());
  for (const std::string& op : ops) EXPECT_NE(importer::FindImportRule(op), nullptr) << op;
  EXPECT_EQ(importer::FindImportRule("NoSuchOp"), nullptr);
}

TEST(Tables, EveryReasonHasASentence) {
  const std::vector<std::string> codes = {
#define TEKTITE_REASON(code, sentence) #code,
#include "clustering/reason_list.inc"
#undef TEKTITE_REASON
  };
  EXPECT_TRUE(std::is_sorted(codes.begin(), codes.end()));
  for (size_t i = 0; i < codes.size(); ++i) {
    const Reason reason = static_cast<Reason>(i + 1);
    EXPECT_EQ(ReasonCode(reason), codes[i]);
    EXPECT_EQ(ReasonSentence(reason).back(), '.');
  }
}

}  // namespace
}  // namespace tektite::clustering
