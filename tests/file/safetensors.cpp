// safetensors: files and folders that open, and every lie that must not.
#include "bytes.h"

namespace {

std::string file_of(const std::string& header, const std::string& data) { return raw<uint64_t>(header.size()) + header + data; }

std::string object(const std::string& members) {
  std::string all(1, '{');
  return all.append(members).append(1, '}');
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets + "]}";
}

const std::string good = file_of(object("\"__metadata__\":null," + entry("b", "U8", "3", "4,7") + "," + entry("a", "BF16", "1,2", "0,4") + "," + entry("s", "F32", "", "7,11")),
                                 std::string(11, '\1'));

TEST(safetensors, opens_in_any_order_at_any_alignment) {
  const Scratch scratch;
  const auto file = open_weights(scratch.write("x.safetensors", good));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->container(), Container::safetensors);
  EXPECT_EQ((*file)->tensors().size(), 3u);
  EXPECT_EQ((*file)->weight_bytes(), 11u);
  const StoredTensor* a = (*file)->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->format, find_format("BF16"));
  EXPECT_EQ(a->shape, (Shape{1, 2}));
  EXPECT_EQ((*file)->find("s")->shape.rank, 0);
  EXPECT_EQ((*file)->find("c"), nullptr);
  EXPECT_EQ((*file)->config(), "");
}

TEST(safetensors, folds_a_fifth_extent) {
  const Scratch scratch;
  const auto file = open_weights(scratch.write("x.safetensors", file_of(object(entry("a", "U8", "2,3,2,4,5", "0,240")), std::string(240, 'x'))));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->tensors()[0].shape, (Shape{2, 3, 2, 20}));
}

TEST(safetensors, every_truncation_is_refused) {
  const Scratch scratch;
  for (size_t n = 0; n < good.size(); n++) expect_refused(scratch.write("x.safetensors", good.substr(0, n)), "x.safetensors");
  expect_refused(scratch.write("x.safetensors", good + "x"), "the tensors end at byte 11 of the data area, which has 12");
}

TEST(safetensors, lies_are_refused) {
  const Scratch scratch;
  const auto refused = [&](const std::string& entries, size_t data_bytes, const std::string& part) {
    expect_refused(scratch.write("x.safetensors", file_of(object(entries), std::string(data_bytes, 'x'))), part);
  };
  refused(entry("a", "F32", "2", "0,4"), 4, "tensor a: F32 2 needs 8 bytes, data_offsets span 4");
  refused(entry("a", "F32", "1", "0,400"), 4, "ends at byte 400, the data area has 4 bytes");
  refused(entry("a", "F32", "1", "4,0"), 4, "end 0 lies before begin 4");
  refused(entry("a", "F32", "1", "-4,0"), 4, "whole numbers");
  refused(entry("a", "F32", "1.5", "0,4"), 4, "whole numbers");
  refused(entry("a", "F32", "1", "0,4,8"), 8, "at most 2 numbers");
  refused(entry("a", "F32", "1", "0"), 4, "two numbers expected, 1 found");
  refused(entry("a", "Q4_0", "32", "0,18"), 18, "unknown dtype Q4_0");
  refused(entry("a", "C64", "1", "0,8"), 8, "unknown dtype C64");
  refused(entry("a", "F4", "3", "0,1"), 1, "do not fill whole bytes");
  refused(entry("a", "F32", "4294967296,4294967296", "0,4"), 4, "overflow");
  refused(entry("a", "F32", "0,4294967296,4294967296", "0,0"), 0, "overflow");
  refused(entry("a", "F32", "18446744073709551615", "0,4"), 4, "overflow");
  refused(entry("a", "F32", "1,1,1,1,1,1,1,1,1", "0,4"), 4, "at most 8 numbers");
  refused(entry("a", "U8", "4", "0,4") + "," + entry("b", "U8", "4", "2,6"), 6, "tensor b: begins at byte 2, inside");
  refused(entry("a", "U8", "4", "0,4") + "," + entry("b", "U8", "4", "6,10"), 10, "belong to no tensor");
  refused(entry("a", "U8", "4", "1,5"), 5, "belong to no tensor");
  refused(entry("a", "U8", "4", "0,4") + "," + entry("a", "U8", "4", "4,8"), 8, "a is in the header twice");
  refused(entry("a", "U8", "4", "0,4") + "," + entry("\\u0061", "U8", "4", "4,8"), 8, "a is in the header twice");
  refused("\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}", 1, "dtype is there twice");
  refused("\"a\":{\"dtype\":\"U8\",\"shape\":[1]}", 1, "dtype, shape and data_offsets expected");
  refused("\"a\":7", 1, "an object expected");
  refused("\"__metadata__\":{\"a\":1}", 0, "a string expected");
  refused("\"__metadata__\":[]", 0, "an object or null expected");
  refused(entry("", "U8", "1", "0,1"), 1, "without a name");
  refused(entry("a\\nb", "U8", "1", "0,2"), 2, "tensor a?b");
}

TEST(safetensors, bad_headers_are_refused) {
  const Scratch scratch;
  expect_refused(scratch.write("x.safetensors", raw<uint64_t>(~0ull) + "{}"), "100000000");
  expect_refused(scratch.write("x.safetensors", raw<uint64_t>(99'999'999) + "{}"), "99999999 bytes announced, 2 bytes follow");
  expect_refused(scratch.write("x.safetensors", file_of("[]", "")), "does not begin with {");
  expect_refused(scratch.write("x.safetensors", file_of("{\"a\":", "")), "JSON");
  expect_refused(scratch.write("x.safetensors", file_of("{}}", "")), "JSON");
  expect_refused(scratch.write("x.safetensors", file_of("{\"\xff\":1}", "")), "JSON");
  expect_refused(scratch.write("x.safetensors", file_of(object("\"a\":" + std::string(5000, '[') + std::string(5000, ']')), "")), "JSON");
  expect_refused(scratch.write("x.bin", "neither of the two"), "neither magic nor name");
  EXPECT_EQ(open_weights(scratch.path("absent.safetensors")).error().code, Code::not_found);
}

std::string one(const std::string& name) { return file_of(object(entry(name, "U8", "1", "0,1")), "x"); }

TEST(safetensors, folder_by_glob) {
  const Scratch scratch;
  scratch.write("model-00001-of-00002.safetensors", one("a"));
  expect_refused(scratch.path(""), "config.json");
  scratch.write("config.json", "{\"x\":1}");
  expect_refused(scratch.path(""), "1 of 2 files missing: model-00002-of-00002.safetensors");
  scratch.write("model-00002-of-00002.safetensors", one("b"));
  scratch.write("other.safetensors", one("c"));
  const auto file = open_weights(scratch.path(""));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->config(), "{\"x\":1}");
  EXPECT_EQ((*file)->tensors().size(), 2u);
  EXPECT_EQ(*(*file)->sidecar("config.json", 100), "{\"x\":1}");
  EXPECT_EQ((*file)->sidecar("tokenizer.json", 100).error().code, Code::not_found);
  EXPECT_EQ((*file)->sidecar("config.json", 3).error().code, Code::too_large);
  EXPECT_EQ((*file)->sidecar("../config.json", 100).error().code, Code::invalid_request);
  scratch.write("model-00002-of-00002.safetensors", one("a"));
  expect_refused(scratch.path(""), "tensor a: there already in ");
}

TEST(safetensors, folder_by_index) {
  const Scratch scratch;
  scratch.write("config.json", "{}");
  const auto index = [&](const std::string& map) { scratch.write("model.safetensors.index.json", object("\"weight_map\":" + map)); };
  index("{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\",\"c\":\"three.safetensors\"}");
  scratch.write("one.safetensors", one("a"));
  expect_refused(scratch.path(""), "2 of 3 files missing: three.safetensors, two.safetensors");
  scratch.write("two.safetensors", one("b"));
  scratch.write("three.safetensors", one("d"));
  expect_refused(scratch.path(""), "are in no file: c (three.safetensors)");
  scratch.write("three.safetensors", one("c"));
  const auto file = open_weights(scratch.path(""));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->tensors().size(), 3u);
  for (const char* map : {"{\"a\":\"../one.safetensors\"}", "{\"a\":7}", "{\"a\":\"one.gguf\"}", "{}", "[]"}) {
    index(map);
    expect_refused(scratch.path(""), "weight_map");
  }
}

}  // namespace
