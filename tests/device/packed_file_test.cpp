// packed_file: what was written is read back bit for bit, and whatever else lies under that name is noticed and written anew.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/hash.h"
#include "device/cpu/packed_file.h"
#include "device/cpu/team.h"
#include "packed_bytes.h"

namespace {

namespace fs = std::filesystem;
using namespace cpu;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kKey(kPackedKeyBytes, 'k');

class Packed : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "calla-packed-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "deep" / "model.calla";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Two small matrices under their names.
  static std::vector<MatrixSource> sources() {
    static const TestMatrix a = integer_matrix("Q4_0", 40, 64, 1), b = integer_matrix("Q6_K", 17, 512, 2);
    MatrixSource first{{a.stored}, {}, 1}, second{{b.stored}, {}, 1};
    first.name = "a", second.name = "b";
    return {first, second};
  }
  // As a device does it; the notes of the end.
  std::vector<std::string> pass(const std::string& key = kKey, const std::vector<MatrixSource>& all = sources()) {
    PackedCache cache(path_, key);
    Team team(2, false);
    found_ = 0;
    for (const MatrixSource& source : all) {
      auto fresh = pack(source, team);
      PackedMatrix m = plan_matrix(source);
      if (cache.find(source, m)) found_++;
      else {
        m.data = (*fresh)->data, m.memory = (*fresh)->memory;
        cache.keep(source, m);
      }
      const bool same = std::ranges::equal(std::span(m.data, m.bytes), std::span((*fresh)->data, (*fresh)->bytes));
      EXPECT_TRUE(same) << source.name;
    }
    return cache.finish();
  }
  void change(const std::function<void(std::string&)>& edit) {
    std::ifstream in(path_, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    in.close();
    edit(bytes);
    fs::remove(path_);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  size_t files_there() const {
    return fs::exists(path_.parent_path()) ? static_cast<size_t>(std::distance(fs::directory_iterator(path_.parent_path()), fs::directory_iterator{})) : 0;
  }

  fs::path folder_, path_;
  int found_ = 0;
};

TEST(Hash, IsXxh64) {
  const auto of = [](std::string_view text) { return xxh64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(""), 0xef46db3751d8e999u);
  EXPECT_EQ(of("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(of("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST_F(Packed, EveryFormatComesBackBitForBit) {
  std::vector<TestMatrix> matrices;
  std::vector<MatrixSource> all;
  for (const std::string& format : weight_formats()) matrices.push_back(integer_matrix(format, 37, 768, 5));
  for (const TestMatrix& m : matrices) {
    MatrixSource s{{m.stored}, {}, 1};
    s.name = m.stored.format->name;
    all.push_back(s);
    s.row_order = {5, 3, 36, 0};
    all.push_back(s);
  }
  EXPECT_THAT(pass(kKey, all), IsEmpty());
  EXPECT_EQ(found_, 0);
  EXPECT_THAT(pass(kKey, all), IsEmpty());
  EXPECT_EQ(found_, static_cast<int>(all.size()));
  EXPECT_EQ(files_there(), 1u);
  EXPECT_TRUE(verify_packed(path_));
}

TEST_F(Packed, AnotherStateOfTheModelIsPackedAgain) {
  pass();
  EXPECT_THAT(pass(std::string(kPackedKeyBytes, 'n')), testing::ElementsAre(HasSubstr("it belongs to an earlier state of the model; it is written anew")));
  EXPECT_EQ(found_, 0);
  EXPECT_THAT(pass(std::string(kPackedKeyBytes, 'n')), IsEmpty());
  EXPECT_EQ(found_, 2);
}

TEST_F(Packed, AMatrixOfAnotherNameShapeOrOrderIsNotTaken) {
  pass();
  std::vector<MatrixSource> other = sources();
  other[0].name = "c";
  other[1].row_order = {1, 0};
  pass(kKey, other);
  EXPECT_EQ(found_, 0);
}

TEST_F(Packed, EveryByteOfHeaderAndTableMatters) {
  pass();
  const size_t table = 2 * sizeof(PackedEntry);
  for (size_t i = 0; i < sizeof(PackedHeader) + table; i++) {
    SCOPED_TRACE(i);
    change([&](std::string& file) { file[i < sizeof(PackedHeader) ? i : file.size() - (i - sizeof(PackedHeader)) - 1] ^= 0x21; });
    EXPECT_FALSE(PackedFile::open(path_, kKey));
    EXPECT_THAT(pass(), testing::ElementsAre(HasSubstr("it is written anew")));
    EXPECT_EQ(found_, 0);
  }
  pass();
  EXPECT_EQ(found_, 2);
}

TEST_F(Packed, ATruncatedOrForeignFileIsPackedAgain) {
  for (const size_t bytes : {size_t{0}, size_t{1}, sizeof(PackedHeader), kPackedDataStart, kPackedDataStart + 5000}) {
    pass();
    change([&](std::string& file) { file.resize(bytes); });
    EXPECT_THAT(pass(), testing::ElementsAre(HasSubstr("it is written anew"))) << bytes;
  }
  change([](std::string& file) { file += '\0'; });
  EXPECT_THAT(pass(), testing::ElementsAre(HasSubstr("bytes expected")));
  change([](std::string& file) { file.assign(3 << 20, 'x'); });
  EXPECT_THAT(pass(), testing::ElementsAre(HasSubstr("no packed file of Calla")));
}

// Entries that point outside are refused even when their checksum is right.
TEST_F(Packed, EntriesStayInside) {
  pass();
  const auto with = [&](const std::function<void(PackedEntry&)>& edit) {
    std::string seen;
    change([&](std::string& file) {
      std::string copy = file;
      PackedHeader h;
      std::memcpy(&h, copy.data(), sizeof h);
      auto* const entry = reinterpret_cast<PackedEntry*>(copy.data() + h.table_start);
      edit(entry[1]);
      h.checksum = 0;
      const auto bytes = std::as_bytes(std::span(copy));
      h.checksum = xxh64(bytes.subspan(h.table_start), xxh64(std::as_bytes(std::span(&h, 1))));
      std::memcpy(copy.data(), &h, sizeof h);
      const auto table = read_packed_table(std::as_bytes(std::span(copy)), kKey);
      seen = table ? "taken" : table.error().message;
    });
    return seen;
  };
  EXPECT_EQ(with([](PackedEntry&) {}), "taken");
  EXPECT_THAT(with([](PackedEntry& e) { e.start = 0; }), HasSubstr("expected"));
  EXPECT_THAT(with([](PackedEntry& e) { e.start += 64; }), HasSubstr("expected"));
  EXPECT_THAT(with([](PackedEntry& e) { e.start = ~uint64_t{0} / 4096 * 4096; }), HasSubstr("expected"));
  EXPECT_THAT(with([](PackedEntry& e) { e.bytes = ~uint64_t{0}; }), HasSubstr("expected"));
}

TEST_F(Packed, VerifyFindsAChangedMatrix) {
  pass();
  change([](std::string& file) { file[kPackedDataStart + 100] ^= 1; });
  EXPECT_TRUE(PackedFile::open(path_, kKey));  // starting checks header and table only
  const auto verified = verify_packed(path_);
  ASSERT_FALSE(verified);
  EXPECT_THAT(verified.error().message, HasSubstr("1 of 2 matrices have changed"));
}

TEST_F(Packed, WithoutFinishNothingRemains) {
  {
    PackedCache cache(path_, kKey);
    Team team(1, false);
    auto m = pack(sources()[0], team);
    cache.keep(sources()[0], **m);
  }
  EXPECT_EQ(files_there(), 0u);
}

TEST_F(Packed, AFolderThatCannotBeWrittenCostsANote) {
  std::ofstream(folder_ / "deep") << "a file where the folder should be";
  EXPECT_THAT(pass(), testing::Contains(HasSubstr("the model runs without a packed file")));
  EXPECT_EQ(pass().size(), 2u);  // cannot be opened, cannot be created
}

TEST_F(Packed, AFullDiskLeavesNoFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{kPackedDataStart + 4096, kPackedDataStart + 4096};  // the second matrix does not fit
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto notes = pass();
    const bool right = notes.size() == 1 && notes[0].starts_with("cannot write packed file ") && notes[0].ends_with("; the model runs without a packed file");
    ::_exit(right && !HasFailure() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files_there(), 0u);
}

TEST_F(Packed, SeveralWritersAtOnceLeaveOneGoodFile) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; i++) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(pass().empty() && !HasFailure() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files_there(), 1u);
  EXPECT_THAT(pass(), IsEmpty());
  EXPECT_EQ(found_, 2);
}

}  // namespace
