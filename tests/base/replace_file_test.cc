// Files in folders where other users may have laid files or links.
#include "jit/base/replace_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tektite {
namespace {

namespace fs = std::filesystem;

class ReplaceFileTest : public ::testing::Test {
 protected:
  ReplaceFileTest() {
    std::string pattern = (fs::temp_directory_path() / "tektite_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ + "/precious") << "precious";
  }
  ~ReplaceFileTest() override { fs::remove_all(folder_); }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  int Files() const {
    return static_cast<int>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(ReplaceFileTest, TheNewFileTakesTheOldOnesPlace) {
  const std::string path = folder_ + "/a";
  for (const std::string text : {"one", "", "three"}) {
    ASSERT_TRUE(ReplaceFile(path, text).ok());
    EXPECT_EQ(Text("a"), text);
  }
  EXPECT_EQ(Files(), 2);
}

// The temporary name was "PATH.PID.tmp" and opened with truncation: a link laid there in time had
// its target overwritten.
TEST_F(ReplaceFileTest, LinksAreNotFollowed) {
  const std::string path = folder_ + "/a";
  fs::create_symlink("precious", path + "." + std::to_string(getpid()) + ".tmp");
  fs::create_symlink("precious", path);
  EXPECT_TRUE(ReplaceFile(path, "text").ok());  // our own link: replaced
  EXPECT_EQ(Text("a"), "text");
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_EQ(Text("precious"), "precious");
}

TEST_F(ReplaceFileTest, ALinkOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string path = folder_ + "/a";
  fs::create_symlink("precious", path);
  ASSERT_EQ(lchown(path.c_str(), 4242, 4242), 0);
  const absl::Status status = ReplaceFile(path, "text");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(Text("precious"), "precious");
  EXPECT_EQ(Files(), 2);
}

TEST_F(ReplaceFileTest, FailuresLeaveTheOldFileAndNothingElse) {
  EXPECT_FALSE(ReplaceFile(folder_ + "/nowhere/a", "text").ok());
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {16, 16};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    _exit(ReplaceFile(folder_ + "/precious", std::string(1000, 'x')).ok() ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Text("precious"), "precious");
  EXPECT_EQ(Files(), 1);
}

}  // namespace
}  // namespace tektite
