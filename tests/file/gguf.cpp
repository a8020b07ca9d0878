// gguf: files and split sets that open, and every lie that must not.
#include "bytes.h"

namespace {

std::string text(const std::string& s) { return raw<uint64_t>(s.size()) + s; }
template <class T> std::string pair(const std::string& key, uint32_t type, T value) { return text(key) + raw(type) + raw(value); }
template <class T> std::string array(const std::string& key, uint32_t type, uint64_t count, std::initializer_list<T> values) {
  std::string bytes = text(key) + raw<uint32_t>(9) + raw(type) + raw(count);
  for (T value : values) bytes += raw(value);
  return bytes;
}
std::string tensor(const std::string& name, std::initializer_list<uint64_t> dims, uint32_t type, uint64_t offset) {
  std::string bytes = text(name) + raw<uint32_t>(static_cast<uint32_t>(dims.size()));
  for (uint64_t dim : dims) bytes += raw(dim);
  return bytes + raw(type) + raw(offset);
}

struct Gguf {
  std::vector<std::string> pairs, tensors;
  size_t data = 0, alignment = 32;
  uint32_t version = 3;
  std::string bytes() const {
    std::string all = "GGUF" + raw(version) + raw<uint64_t>(tensors.size()) + raw<uint64_t>(pairs.size());
    for (const auto& p : pairs) all += p;
    for (const auto& t : tensors) all += t;
    if (!tensors.empty()) all.resize((all.size() + alignment - 1) / alignment * alignment);
    return all + std::string(data, '\1');
  }
};

Gguf every_type() {
  Gguf g;
  g.pairs = {pair<uint8_t>("u8", 0, 200), pair<int8_t>("i8", 1, -2), pair<uint16_t>("u16", 2, 65535), pair<int16_t>("i16", 3, -3), pair<uint32_t>("u32", 4, 4000000000u),
             pair<int32_t>("i32", 5, -5), pair<float>("f32", 6, 1.5f), pair<uint8_t>("yes", 7, 1), text("name") + raw<uint32_t>(8) + text("x\0y\n"), pair<uint64_t>("u64", 10, 1ull << 62),
             pair<int64_t>("i64", 11, INT64_MIN), pair<double>("f64", 12, 0.1), array<int32_t>("ints", 5, 2, {-1, 7}), array<float>("floats", 6, 2, {0.5f, 2}), array<uint8_t>("bools", 7, 2, {0, 1}),
             array<int8_t>("none", 8, 0, {}), text("tokens") + raw<uint32_t>(9) + raw<uint32_t>(8) + raw<uint64_t>(2) + text("a") + text("bc"), pair<uint32_t>("general.alignment", 4, 64)};
  g.alignment = 64;
  g.tensors = {tensor("q", {32, 2, 3}, 8, 64 * 2), tensor("f", {4}, 0, 0)};
  g.data = 128 + 6 * 34;
  return g;
}

TEST(gguf, reads_every_value_type) {
  const Scratch scratch;
  for (uint32_t version : {2u, 3u}) {
    Gguf g = every_type();
    g.version = version;
    const auto opened = open_weights(scratch.write("x.gguf", g.bytes()));
    ASSERT_TRUE(opened) << opened.error().message;
    const WeightFile& f = **opened;
    EXPECT_EQ(meta_int(f, "u8"), 200);
    EXPECT_EQ(meta_int(f, "i8"), -2);
    EXPECT_EQ(meta_int(f, "u16"), 65535);
    EXPECT_EQ(meta_int(f, "i16"), -3);
    EXPECT_EQ(meta_int(f, "u32"), 4000000000);
    EXPECT_EQ(meta_int(f, "i32"), -5);
    EXPECT_EQ(meta_int(f, "u64"), int64_t{1} << 62);
    EXPECT_EQ(meta_int(f, "i64"), INT64_MIN);
    EXPECT_EQ(meta_double(f, "f32"), 1.5);
    EXPECT_EQ(meta_double(f, "f64"), 0.1);
    EXPECT_EQ(meta_bool(f, "yes"), true);
    EXPECT_EQ(meta_int(f, "yes"), std::nullopt);
    EXPECT_EQ(meta_int(f, "absent"), std::nullopt);
    EXPECT_EQ(std::get<std::vector<int64_t>>(f.meta("ints")->value), (std::vector<int64_t>{-1, 7}));
    EXPECT_EQ(std::get<std::vector<int64_t>>(f.meta("bools")->value), (std::vector<int64_t>{0, 1}));
    EXPECT_EQ(std::get<std::vector<double>>(f.meta("floats")->value), (std::vector<double>{0.5, 2}));
    EXPECT_EQ(std::get<std::vector<std::string_view>>(f.meta("tokens")->value), (std::vector<std::string_view>{"a", "bc"}));
    EXPECT_TRUE(std::get<std::vector<std::string_view>>(f.meta("none")->value).empty());
    EXPECT_EQ(f.meta_keys().size(), 18u);
    EXPECT_EQ(f.find("q")->shape, (Shape{3, 2, 32}));
    EXPECT_EQ(f.find("q")->bytes.size(), 6u * 34);
    EXPECT_EQ(f.find("f")->format, find_format("F32"));
    EXPECT_EQ(f.weight_bytes(), 6u * 34 + 16);
  }
}

TEST(gguf, every_truncation_is_refused) {
  const Scratch scratch;
  const std::string good = every_type().bytes();
  for (size_t n = 0; n < good.size(); n++) expect_refused(scratch.write("x.gguf", good.substr(0, n)), "x.gguf");
}

// No byte may crash the reader, whatever it is changed to.
TEST(gguf, every_changed_byte_is_survived) {
  const Scratch scratch;
  const std::string good = every_type().bytes();
  for (size_t at = 0; at < good.size(); at++)
    for (int change : {1, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const auto file = open_weights(scratch.write("x.gguf", bytes));
      EXPECT_TRUE(file || file.error().message.find('\n') == std::string::npos);
    }
}

TEST(gguf, heads_are_refused) {
  const Scratch scratch;
  const auto refused = [&](const std::string& bytes, const std::string& part) { expect_refused(scratch.write("x.gguf", bytes), part); };
  refused("ggjt" + std::string(40, 'x'), "magic GGUF expected, \"ggjt\" found");
  refused("FUGG" + std::string(40, 'x'), "big-endian");
  refused("GGUF" + raw<uint32_t>(0x03000000) + std::string(40, 'x'), "big-endian");
  refused("GGUF" + raw<uint32_t>(1) + std::string(40, 'x'), "version 2 or 3 expected, 1 found");
  refused("GGUF" + raw<uint32_t>(4) + std::string(40, 'x'), "version 2 or 3 expected, 4 found");
  refused("GGUF" + raw<uint32_t>(3) + raw<uint64_t>(0) + raw(~0ull), "18446744073709551615 metadata pairs announced, 0 bytes follow");
  refused("GGUF" + raw<uint32_t>(3) + raw(~0ull) + raw<uint64_t>(0), "18446744073709551615 tensors announced, 0 bytes follow");
}

TEST(gguf, metadata_lies_are_refused) {
  const Scratch scratch;
  const auto refused = [&](std::vector<std::string> pairs, const std::string& part) {
    expect_refused(scratch.write("x.gguf", Gguf{.pairs = std::move(pairs), .tensors = {}, .data = 64}.bytes()), part);
  };
  refused({pair<uint8_t>("a", 0, 1), pair<uint8_t>("a", 0, 1)}, "key a is there twice");
  refused({pair<uint8_t>("", 0, 1)}, "a key of 1 to 1024 bytes expected, 0 found");
  refused({pair<uint8_t>(std::string(2000, 'k'), 0, 1)}, "2000 found");
  refused({pair<uint8_t>("a", 7, 2)}, "a bool of 0 or 1 expected, 2 found");
  refused({pair<uint8_t>("a", 13, 2)}, "unknown value type 13");
  refused({pair<uint64_t>("a", 10, ~0ull)}, "at most 2^63 - 1");
  refused({text("a") + raw<uint32_t>(8) + raw(~0ull)}, "runs past the end");
  refused({array<uint8_t>("a", 9, 1, {})}, "arrays inside arrays");
  refused({array<uint8_t>("a", 77, 1, {})}, "unknown element type 77");
  refused({array<uint8_t>("a", 0, ~0ull, {})}, "18446744073709551615 elements announced");
  refused({array<uint8_t>("a", 8, 1ull << 61, {})}, "elements announced");
  refused({array<uint64_t>("a", 10, 1, {~0ull})}, "at most 2^63 - 1");
  for (uint32_t alignment : {0u, 3u, 33u, 131072u}) refused({pair<uint32_t>("general.alignment", 4, alignment)}, "power of two");
  refused({text("general.alignment") + raw<uint32_t>(8) + text("32")}, "power of two");
}

TEST(gguf, tensor_lies_are_refused) {
  const Scratch scratch;
  const auto refused = [&](std::vector<std::string> tensors, const std::string& part) {
    expect_refused(scratch.write("x.gguf", Gguf{.pairs = {}, .tensors = std::move(tensors), .data = 128}.bytes()), part);
  };
  refused({tensor("a", {4}, 0, 0), tensor("a", {4}, 0, 32)}, "tensor a: there already");
  refused({tensor("a", {16}, 0, 0), tensor("b", {4}, 0, 32)}, "tensor b: overlaps tensor a");
  refused({tensor("a", {4}, 0, 4)}, "offset 4 is no multiple of the alignment 32");
  refused({tensor("a", {4}, 0, 128)}, "16 bytes at offset 128 expected, the data area has 128");
  refused({tensor("a", {4}, 0, ~0ull - 31)}, "the data area has 128");
  refused({tensor("a", {33}, 0, 0)}, "132 bytes at offset 0");
  refused({tensor("a", {0}, 0, 0)}, "dimension 0 is 0");
  refused({tensor("a", {1, 1, 1, 1, 1}, 0, 0)}, "at most 4 dimensions expected, 5 found");
  refused({tensor("a", {16}, 8, 0)}, "rows of 16 weights are no multiple of 32 (Q8_0)");
  refused({tensor("a", {1ull << 32, 1ull << 32}, 0, 0)}, "overflow");
  refused({tensor("a", {~0ull}, 0, 0)}, "overflow");
  refused({tensor("a", {1ull << 62}, 0, 0)}, "overflow");
  refused({tensor("", {4}, 0, 0)}, "a tensor name of 1 to 1024 bytes");
  refused({tensor("a", {256}, 21, 0)}, "tensor a: encoded as IQ3_S, which cannot be read");
  refused({tensor("a", {256}, 139, 0)}, "type 139 (private to ik_llama.cpp)");
  refused({tensor("a", {256}, 31, 0)}, "Q4_0_4_4 (retired)");
  refused({tensor("a", {256}, 77, 0)}, "type 77");
  refused({tensor("a", {256}, 4000000000u, 0)}, "type 4000000000");
}

Gguf shard(uint16_t number, uint16_t count, int32_t tensors, const std::string& name) {
  return {.pairs = {pair<uint16_t>("split.no", 2, number), pair<uint16_t>("split.count", 2, count), pair<int32_t>("split.tensors.count", 5, tensors)},
          .tensors = {tensor(name, {4}, 0, 0)},
          .data = 16};
}

TEST(gguf, any_shard_opens_all) {
  const Scratch scratch;
  const std::string second = scratch.write("m-00002-of-00003.gguf", shard(1, 3, 3, "b").bytes());
  expect_refused(second, "2 of 3 shards missing: m-00001-of-00003.gguf, m-00003-of-00003.gguf");
  Gguf first = shard(0, 3, 3, "a");
  first.pairs.push_back(pair<uint32_t>("x", 4, 7));
  scratch.write("m-00001-of-00003.gguf", first.bytes());
  scratch.write("m-00003-of-00003.gguf", shard(2, 3, 3, "c").bytes());
  const auto file = open_weights(second);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->tensors().size(), 3u);
  EXPECT_EQ(meta_int(**file, "x"), 7);
  EXPECT_EQ((*file)->path(), second);
  scratch.write("m-00003-of-00003.gguf", shard(2, 3, 3, "a").bytes());
  expect_refused(second, "tensor a: there already in ");
  scratch.write("m-00003-of-00003.gguf", shard(1, 3, 3, "c").bytes());
  expect_refused(second, "shard 3 of 3 expected, it says 2 of 3");
  scratch.write("m-00003-of-00003.gguf", shard(2, 3, 3, "c").bytes());
  scratch.write("m-00002-of-00003.gguf", shard(1, 3, 4, "b").bytes());
  expect_refused(second, "split.tensors.count 4 expected, the shards hold 3");
  expect_refused(scratch.write("other.gguf", shard(1, 3, 3, "b").bytes()), "must end in -00002-of-00003.gguf");
  expect_refused(scratch.write("other.gguf", shard(5, 3, 3, "b").bytes()), "makes no sense");
}

}  // namespace
