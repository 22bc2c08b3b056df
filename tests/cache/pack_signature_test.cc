// Packs that carry a signature: what was signed is loaded, and nothing else.
#include "jit/cache/pack_signature.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "jit/cache/disk_store.h"
#include "jit/cache/entry.h"
#include "jit/cache/location.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

class PackSignatureTest : public ::testing::Test {
 protected:
  PackSignatureTest() {
    DiskStoreOptions options;
    options.directory = pack_;
    auto store = DiskStore::Open(options);
    store->Store(TestKey("a"), "image of a");
    store->Store(TestKey("b"), "image of b");
    EXPECT_TRUE(MakeSigningKey(key_).ok());
    EXPECT_TRUE(MakeSigningKey(other_key_).ok());
  }

  absl::Status Sign(const std::string& key) const {
    auto directory = Directory::Open(pack_, Directory::Use::kReadWrite);
    return directory.ok() ? SignPack(**directory, key) : directory.status();
  }
  // Of `key`'s public half; null: the pack is refused.
  std::unique_ptr<DiskStore> Serve(const std::string& key) const {
    DiskStoreOptions options;
    options.packs = {pack_};
    options.pack_key = key + ".pub";
    return DiskStore::Open(options);
  }
  static std::optional<std::string> Load(DiskStore& store, const std::string& name) {
    const CacheKey key = TestKey(name);
    return store.Load(key.fingerprint, [&] { return key; });
  }
  std::string FileOf(const std::string& name) const {
    return absl::StrCat(pack_, "/", TestKey(name).fingerprint.Hex(), kEntrySuffix);
  }

  TestFolder folder_;
  const std::string pack_ = folder_ / "pack", key_ = folder_ / "key",
                    other_key_ = folder_ / "other";
};

TEST_F(PackSignatureTest, WhatIsSignedIsLoadedWhoeverOwnsIt) {
  ASSERT_TRUE(Sign(key_).ok());
  if (geteuid() == 0) {
    for (const auto& file : std::filesystem::directory_iterator(pack_)) {
      ASSERT_EQ(chown(file.path().c_str(), 65534, 65534), 0);
    }
    ASSERT_EQ(chown(pack_.c_str(), 65534, 65534), 0);
  }
  auto store = Serve(key_);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_EQ(Load(*store, "b"), "image of b");
}

TEST_F(PackSignatureTest, AnotherKeyOrNoSignatureIsRefused) {
  EXPECT_EQ(Serve(key_), nullptr);
  ASSERT_TRUE(Sign(other_key_).ok());
  EXPECT_EQ(Serve(key_), nullptr);
  EXPECT_NE(Serve(other_key_), nullptr);
  EXPECT_EQ(Serve(folder_ / "nowhere"), nullptr);
  ASSERT_TRUE(Sign(key_).ok());
  EXPECT_NE(Serve(key_), nullptr);
}

// The checksum in an entry is of no help here: any user computes one that fits.
TEST_F(PackSignatureTest, ForgedEntriesWithAChecksumThatFitsAreRefused) {
  ASSERT_TRUE(Sign(key_).ok());
  std::ofstream(FileOf("a"), std::ios::binary | std::ios::trunc)
      << EncodeEntry(TestKey("a"), "forged", 0);
  std::ofstream(FileOf("c"), std::ios::binary) << EncodeEntry(TestKey("c"), "added", 0);
  std::filesystem::copy_file(FileOf("b"), FileOf("d"));
  for (const char* name : {"a", "c", "d"}) {
    chmod(FileOf(name).c_str(), 0644);
  }
  auto store = Serve(key_);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Load(*store, "a"), std::nullopt);
  EXPECT_EQ(Load(*store, "c"), std::nullopt);
  EXPECT_EQ(Load(*store, "d"), std::nullopt);
  EXPECT_EQ(store->counters().refused, 3);
  EXPECT_EQ(Load(*store, "b"), "image of b");
}

TEST_F(PackSignatureTest, AChangedSignatureIsRefused) {
  ASSERT_TRUE(Sign(key_).ok());
  const std::string path = absl::StrCat(pack_, "/", kPackSignature);
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_NE(Serve(key_), nullptr);
  for (const std::string& changed :
       {std::string(), std::string("\n"), text.substr(0, text.size() / 2), text + "x",
        text.substr(text.find('\n') + 1), "x" + text, text + text}) {
    std::ofstream(path, std::ios::trunc) << changed;
    EXPECT_EQ(Serve(key_), nullptr) << changed;
  }
}

TEST_F(PackSignatureTest, KeysAreMadeOnceAndKeptToOneself) {
  struct stat info;
  ASSERT_EQ(stat(key_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(MakeSigningKey(key_).ok());
  // Neither half is the other.
  EXPECT_TRUE(absl::IsInvalidArgument(Sign(key_ + ".pub")));
  ASSERT_TRUE(Sign(key_).ok());
  auto directory = Directory::Open(pack_, Directory::Use::kReadOthers);
  EXPECT_TRUE(absl::IsInvalidArgument(PackSignature::Read(**directory, key_).status()));
}

}  // namespace
}  // namespace tektite::cache
