// gguf vocabulary: a minimal reader of a GGUF's tokenizer.ggml keys, so that the text room's tests need no other room.
#pragma once
#include <cstring>
#include "core/mapped_file.h"
#include "text/text.h"

class GgufVocabulary {
 public:
  static std::unique_ptr<GgufVocabulary> open(const std::string& path) {
    auto file = MappedFile::open(path);
    if (!file) return nullptr;
    std::unique_ptr<GgufVocabulary> out(new GgufVocabulary);
    out->file_ = std::move(*file);
    return out->read() ? std::move(out) : nullptr;
  }
  VocabularyTable table;

 private:
  template <class T> T take() {
    T value{};
    if (at_ + sizeof(T) <= file_->bytes().size()) std::memcpy(&value, file_->bytes().data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string_view take_string() {
    const auto length = take<uint64_t>();
    if (length > file_->bytes().size() || at_ + length > file_->bytes().size()) return {};
    const std::string_view text(reinterpret_cast<const char*>(file_->bytes().data()) + at_, length);
    at_ += length;
    return text;
  }
  int64_t take_number(uint32_t type) {
    switch (type) {
      case 0: case 7: return take<uint8_t>();
      case 1: return take<int8_t>();
      case 2: case 3: return take<uint16_t>();
      case 4: case 5: return take<int32_t>();
      case 6: return static_cast<int64_t>(take<float>());
      default: return take<int64_t>();
    }
  }
  void take_array(std::string_view key) {
    const auto type = take<uint32_t>();
    for (auto n = take<uint64_t>(); n > 0 && at_ < file_->bytes().size(); --n) {
      if (type == 8) {
        const auto text = take_string();
        if (key == "tokens") table.tokens.push_back(text);
        if (key == "merges") table.merges.push_back(text);
      } else if (type == 6) {
        const float value = take<float>();
        if (key == "scores") table.scores.push_back(value);
      } else {
        const int64_t value = take_number(type);
        if (key == "token_type") table.types.push_back(static_cast<int32_t>(value));
      }
    }
  }
  bool read() {
    if (take<uint32_t>() != 0x46554747) return false;
    take<uint32_t>(), take<uint64_t>();
    for (auto n = take<uint64_t>(); n > 0 && at_ < file_->bytes().size(); --n) {
      std::string_view key = take_string();
      const auto type = take<uint32_t>();
      key = key.starts_with("tokenizer.ggml.") ? key.substr(15) : std::string_view();
      if (type == 9) {
        take_array(key);
      } else if (type == 8) {
        const auto text = take_string();
        if (key == "model") table.model = text;
        if (key == "pre") table.pre = text;
      } else {
        const int64_t value = take_number(type);
        if (key == "bos_token_id") table.bos = static_cast<TokenId>(value);
        if (key == "eos_token_id") table.eos = static_cast<TokenId>(value);
        if (key == "unknown_token_id") table.unknown = static_cast<TokenId>(value);
        if (key == "add_bos_token") table.add_bos = value != 0;
        if (key == "add_eos_token") table.add_eos = value != 0;
        if (key == "add_space_prefix") table.add_space_prefix = value != 0;
      }
    }
    return !table.tokens.empty();
  }
  std::unique_ptr<MappedFile> file_;
  size_t at_ = 0;
};
