// Messages of integers: packed and repeated, and bytes that are none.
#include "clustering/graph_def/integer_fields.h"

#include <gmock/gmock.h>

#include <string>

namespace tektite::graph_def {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(IntegerFields, PackedAndRepeatedReadTheSame) {
  // Field 1 packed as 2, 300; field 2 as 5; field 4 as -1, in two parts.
  const std::string bytes(
      "\x0a\x03\x02\xac\x02\x10\x05\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x07", 20);
  const auto fields = ReadIntegerFields(bytes);
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_THAT(*fields, ElementsAre(Pair(1, ElementsAre(2, 300)), Pair(2, ElementsAre(5)),
                                   Pair(4, ElementsAre(-1, 7))));
  EXPECT_TRUE(ReadIntegerFields("")->empty());
}

TEST(IntegerFields, OtherBytesAreErrors) {
  const std::string bytes("\x0a\x03\x02\xac\x02\x10\x05", 7);
  for (size_t end : {1, 2, 3, 4, 6}) {
    EXPECT_FALSE(ReadIntegerFields(bytes.substr(0, end)).ok()) << end;
  }
  EXPECT_FALSE(ReadIntegerFields(std::string("\x0d\x00\x00\x00\x00", 5)).ok());  // a float
  EXPECT_FALSE(ReadIntegerFields(std::string("\x0a\x02\xff\xff", 4)).ok());      // a number's end
}

}  // namespace
}  // namespace tektite::graph_def
