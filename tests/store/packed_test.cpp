// packed: the place of a packed file follows the model's path, its key the state of the model's files.
#include "fixture.h"
#include "file/file.h"

namespace {

class PackedPlaceTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.packed_dir = "/packed";
    write("0000");
  }
  // A safetensors file with one tensor of four bytes of U8.
  void write(const std::string& bytes, const std::string& name = "a") {
    const std::string header = "{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
    const uint64_t size = header.size();
    put(root_ / "model.safetensors", std::string(reinterpret_cast<const char*>(&size), 8) + header + bytes);
    fs::last_write_time(root_ / "model.safetensors", fs::file_time_type{} + std::chrono::seconds(1'700'000'000));
  }
  PackedPlace place() {
    const auto file = open_weights((root_ / "model.safetensors").string());
    EXPECT_TRUE(file) << file.error().message;
    const auto place = packed_place(**file, options_);
    EXPECT_TRUE(place);
    return *place;
  }
};

TEST_F(PackedPlaceTest, IsTheSameForTheSameFile) {
  const PackedPlace a = place(), b = place();
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.key.size(), 64u);
  EXPECT_THAT(a.path, testing::MatchesRegex("/packed/model-[0-9a-f]{16}\\.calla"));
}

TEST_F(PackedPlaceTest, ContentTimeAndTensorsChangeTheKeyAndNotThePlace) {
  const PackedPlace first = place();
  write("0001");
  const PackedPlace content = place();
  write("0000", "b");
  const PackedPlace tensors = place();
  write("0000");
  EXPECT_EQ(place().key, first.key);
  fs::last_write_time(root_ / "model.safetensors", fs::file_time_type{} + std::chrono::seconds(1'700'000'001));
  const PackedPlace time = place();
  for (const PackedPlace& other : {content, tensors, time}) {
    EXPECT_EQ(other.path, first.path);
    EXPECT_NE(other.key, first.key);
  }
}

TEST_F(PackedPlaceTest, TheFolderFollowsTheEnvironment) {
  ::setenv("CALLA_CACHE", "/somewhere", 1);
  EXPECT_EQ(store_options_from_environment().packed_dir, "/somewhere/packed");
  ::unsetenv("CALLA_CACHE");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(store_options_from_environment().packed_dir, "/xdg/calla/packed");
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
