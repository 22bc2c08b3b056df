#include "jit/base/memory_limit.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "jit/base/saturating.h"

namespace tektite {
namespace {

class ControlGroups : public testing::Test {
 protected:
  ControlGroups() : mount_(testing::TempDir() + "/control_groups") {
    std::filesystem::remove_all(mount_);
  }
  ~ControlGroups() override { std::filesystem::remove_all(mount_); }

  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = mount_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  const std::string mount_;
};

TEST_F(ControlGroups, TheTightestOfAllAroundCounts) {
  Write("a/memory.max", "1000");
  Write("a/b/memory.max", "3000");
  EXPECT_EQ(ControlGroupLimit("0::/a/b\n", mount_), 1000);
  Write("a/b/memory.max", "500");
  EXPECT_EQ(ControlGroupLimit("0::/a/b\n", mount_), 500);
  Write("memory.max", "70");  // as a container sees its own group
  EXPECT_EQ(ControlGroupLimit("0::/\n", mount_), 70);
}

TEST_F(ControlGroups, Version1) {
  Write("memory/x/memory.limit_in_bytes", "4096");
  EXPECT_EQ(ControlGroupLimit("5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n", mount_), 4096);
}

TEST_F(ControlGroups, NoLimit) {
  Write("a/memory.max", "max");
  for (const char* groups : {"0::/a\n", "0::/gone\n", "", "nonsense", "::", "4:memory:/a"}) {
    EXPECT_EQ(ControlGroupLimit(groups, mount_), kMostInt64) << groups;
  }
}

TEST(MemoryLimit, IsThatOfSomeMachine) {
  EXPECT_GT(MemoryLimit(), int64_t{64} << 20);
  EXPECT_LT(MemoryLimit(), int64_t{1} << 47);
}

}  // namespace
}  // namespace tektite
