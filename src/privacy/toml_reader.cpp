// toml_reader: values of a configuration file, checked against what is expected; a value is never repeated, for it may be a secret put in the wrong place.
#include "privacy/toml_reader.h"

#include <fmt/format.h>
#include <algorithm>
#include <tuple>
#include "core/nearest.h"

namespace {

bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= 65536 && std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Only what looks like a word of the language of policies is shown again: no key, no password.
bool may_be_shown(std::string_view word) {
  return !word.empty() && word.size() <= 24 && std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '-'; });
}

}  // namespace

std::string TomlPlace::where() const { return fmt::format("{}:{}: {}", *file, node->source().begin.line, key); }
Error TomlPlace::error(std::string_view message) const { return {Code::invalid_request, fmt::format("{}: {}", where(), message)}; }
TomlPlace TomlPlace::at(const toml::node& inner, std::string_view name) const { return {file, &inner, key.empty() ? std::string(name) : key + "." + std::string(name)}; }
TomlPlace TomlPlace::at(const toml::node& inner, size_t index) const { return {file, &inner, fmt::format("{}[{}]", key, index)}; }

Result<std::vector<std::pair<std::string, TomlPlace>>> members(const TomlPlace& place) {
  const toml::table* table = place.node->as_table();
  if (table == nullptr) return place.error("a table expected");
  std::vector<std::pair<std::string, TomlPlace>> out;
  for (const auto& [key, node] : *table) {
    const std::string name(std::string_view{key});
    out.emplace_back(name, place.at(node, is_plain(name) && name.size() <= 64 ? name : "?"));
  }
  std::ranges::sort(out, {}, [](const auto& member) {
    const auto& begin = member.second.node->source().begin;
    return std::tuple(begin.line, begin.column, std::string_view(member.first));
  });
  return out;
}

Result<std::vector<TomlPlace>> entries(const TomlPlace& place, bool one_will_do) {
  std::vector<TomlPlace> out;
  if (const toml::array* list = place.node->as_array()) {
    for (const toml::node& node : *list) out.push_back(place.at(node, out.size()));
  } else if (one_will_do && place.node->is_table()) {
    out.push_back(place);
  } else {
    return place.error("a list expected");
  }
  return out;
}

Status read_table(const TomlPlace& place, std::span<const TomlKey> keys) {
  TRY(const auto all, members(place));
  for (const auto& [name, inner] : all) {
    const auto key = std::ranges::find(keys, std::string_view(name), &TomlKey::name);
    if (key != keys.end()) {
      TRY_STATUS(key->read(inner));
      continue;
    }
    std::vector<std::string> known;
    for (const TomlKey& one : keys) known.emplace_back(one.name);
    const std::string near = nearest(name, known);
    return inner.error(near.empty() ? "no such key" : fmt::format("no such key, did you mean {}?", near));
  }
  return ok_status();
}

Error unknown_word(const TomlPlace& place, std::string_view what, std::string_view word, std::span<const std::string> known) {
  const std::string near = nearest(word, known), shown = may_be_shown(word) ? fmt::format("'{}': ", word) : "";
  return place.error(near.empty() ? fmt::format("{}no such {}; known: {}", shown, what, fmt::join(known, ", ")) : fmt::format("{}no such {}, did you mean {}?", shown, what, near));
}

Result<std::string> read_text(const TomlPlace& place) {
  const auto text = place.node->value_exact<std::string>();
  if (!text) return place.error("a text in quotes expected");
  if (!is_plain(*text)) return place.error(text->empty() ? "a text expected, it is empty" : "a text without control characters expected");
  return *text;
}

Result<std::vector<std::string>> read_texts(const TomlPlace& place) {
  TRY(const auto list, entries(place));
  std::vector<std::string> out;
  for (const TomlPlace& entry : list) {
    TRY(std::string text, read_text(entry));
    out.push_back(std::move(text));
  }
  return out;
}

Result<int64_t> read_whole(const TomlPlace& place, int64_t low, int64_t high) {
  const auto value = place.node->value_exact<int64_t>();
  if (!value || *value < low || *value > high) return place.error(fmt::format("a whole number from {} to {} expected", low, high));
  return *value;
}

Result<double> read_number(const TomlPlace& place, double low, double high) {
  const auto whole = place.node->value_exact<int64_t>();
  const auto value = whole ? std::optional(static_cast<double>(*whole)) : place.node->value_exact<double>();
  if (!value || !(*value >= low && *value <= high)) return place.error(fmt::format("a number from {:g} to {:g} expected", low, high));
  return *value;
}

Result<size_t> read_choice(const TomlPlace& place, std::span<const std::string> words) {
  TRY(const std::string word, read_text(place));
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return unknown_word(place, "choice", word, words);
  return static_cast<size_t>(found - words.begin());
}

TomlHandler into(std::string& out) {
  return [&out](const TomlPlace& place) -> Status {
    TRY(out, read_text(place));
    return ok_status();
  };
}

TomlHandler into(std::vector<std::string>& out) {
  return [&out](const TomlPlace& place) -> Status {
    TRY(out, read_texts(place));
    return ok_status();
  };
}

TomlHandler into(bool& out) {
  return [&out](const TomlPlace& place) -> Status {
    const auto value = place.node->value_exact<bool>();
    if (!value) return place.error("true or false expected");
    out = *value;
    return ok_status();
  };
}
