// vectors: decoders against ggml's and MLX's own results, bit by bit.
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include "format/format.h"

namespace {

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::vector<float> floats(std::istream& text) {
  std::vector<float> values;
  for (std::string word; text >> word;) values.push_back(std::strtof(word.c_str(), nullptr));
  return values;
}

// Equal as %.9g prints them: every bit but a zero's sign, which printing keeps too ("-0").
void expect_same(const std::vector<float>& expected, const std::vector<float>& seen, const std::string& what) {
  ASSERT_EQ(expected.size(), seen.size()) << what;
  for (size_t i = 0; i < seen.size(); i++) ASSERT_EQ(expected[i], seen[i]) << what << " element " << i;
}

std::vector<std::string> lines_of(const char* name) {
  std::ifstream file(std::string(CALLA_SOURCE_DIR) + "/tests/golden/format/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  return lines;
}

TEST(vectors, gguf_blocks) {
  const auto lines = lines_of("gguf.txt");
  ASSERT_EQ(lines.size(), 28u);
  for (const auto& line : lines) {
    std::istringstream text(line);
    std::string name, hex, colon;
    int block_bytes = 0, weights = 0;
    text >> name >> block_bytes >> weights >> hex >> colon;
    const Format* format = find_format(name);
    ASSERT_NE(format, nullptr) << name;
    EXPECT_EQ(format->block_bytes, block_bytes) << name;
    EXPECT_EQ(format->block_weights, weights) << name;
    const auto block = from_hex(hex);
    ASSERT_EQ(block.size(), static_cast<size_t>(block_bytes));
    std::vector<float> seen(static_cast<size_t>(weights));
    format->decode(block.data(), seen.data());
    expect_same(floats(text), seen, name);
  }
}

std::string trimmed(const std::string& text) {
  std::string out;
  for (char c : text)
    if (c != ' ') out += c;
  return out;
}

const Format* mlx_format(const std::string& mode, int bits, int group) {
  return mode == "affine" ? find_affine_format(bits, group) : find_format("mlx_" + mode);
}

// mode bits group rows cols | codes | scales(kind) | biases or - | values
void check_mlx_line(const std::string& line) {
  std::istringstream fields(line);
  std::string head, packed, scales, biases, values, mode;
  std::getline(fields, head, '|'), std::getline(fields, packed, '|'), std::getline(fields, scales, '|'), std::getline(fields, biases, '|');
  std::getline(fields, values, '|');
  int bits = 0, group = 0, rows = 0, cols = 0;
  std::istringstream(head) >> mode >> bits >> group >> rows >> cols;
  const auto codes = from_hex(trimmed(packed)), scale = from_hex(trimmed(scales.substr(0, scales.find('(')))),
             bias = from_hex(trimmed(biases) == "-" ? "" : trimmed(biases));
  StoredMatrix matrix{.format = mlx_format(mode, bits, group), .shape = {rows, cols}, .codes = codes, .scale = scale, .bias = bias};
  ASSERT_NE(matrix.format, nullptr) << head;
  if (mode != "affine") matrix.scale_type = DType::u8;
  const auto checked = check_matrix(matrix);
  ASSERT_TRUE(checked) << head << checked.error().message;
  std::vector<float> seen(static_cast<size_t>(rows * cols));
  for (int row = 0; row < rows; row++) decode_row(matrix, row, seen.data() + row * cols);
  std::istringstream text(values);
  expect_same(floats(text), seen, head);
}

TEST(vectors, mlx) {
  const auto lines = lines_of("mlx.txt");
  ASSERT_EQ(lines.size(), 21u);
  for (const auto& line : lines) check_mlx_line(line);
}

}  // namespace
