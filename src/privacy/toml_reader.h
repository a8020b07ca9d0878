// toml_reader: what a key of a configuration file may hold, and errors that say FILE:LINE: KEY: what is expected there.
#pragma once
#include <toml++/toml.h>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

// A value of the file and the way to it: "privacy.classes.person", or "" for the file itself.
struct TomlPlace {
  const std::string* file;
  const toml::node* node;
  std::string key;

  std::string where() const;                                    // "FILE:LINE: KEY"
  Error error(std::string_view message) const;
  TomlPlace at(const toml::node& inner, std::string_view name) const;
  TomlPlace at(const toml::node& inner, size_t index) const;    // "privacy.rule[0]"
};
using TomlHandler = std::function<Status(const TomlPlace&)>;
struct TomlKey { std::string_view name; TomlHandler read; };

// Members of a table in the order of the file.
Result<std::vector<std::pair<std::string, TomlPlace>>> members(const TomlPlace& place);
// Entries of a list; a table stands for a list of one where `one_will_do`.
Result<std::vector<TomlPlace>> entries(const TomlPlace& place, bool one_will_do = false);
// Every member by its handler; a key that is not in `keys` is an error, with the one that may have been meant.
Status read_table(const TomlPlace& place, std::span<const TomlKey> keys);
inline Status read_table(const TomlPlace& place, std::initializer_list<TomlKey> keys) { return read_table(place, std::span(keys.begin(), keys.size())); }
Error unknown_word(const TomlPlace& place, std::string_view what, std::string_view word, std::span<const std::string> known);

Result<std::string> read_text(const TomlPlace& place);          // not empty, no control characters
Result<std::vector<std::string>> read_texts(const TomlPlace& place);
Result<int64_t> read_whole(const TomlPlace& place, int64_t low, int64_t high);
Result<double> read_number(const TomlPlace& place, double low, double high);
Result<size_t> read_choice(const TomlPlace& place, std::span<const std::string> words);  // which of `words` it is

// Handlers that store what they read.
TomlHandler into(std::string& out);
TomlHandler into(std::vector<std::string>& out);
TomlHandler into(bool& out);
template <class T> TomlHandler into(T& out, int64_t low, int64_t high) {
  return [&out, low, high](const TomlPlace& place) -> Status {
    TRY(const int64_t value, read_whole(place, low, high));
    out = static_cast<T>(value);
    return ok_status();
  };
}
// The word's place in the list is the value's.
template <class E> TomlHandler into_choice(E& out, std::vector<std::string> words) {
  return [&out, words = std::move(words)](const TomlPlace& place) -> Status {
    TRY(const size_t word, read_choice(place, words));
    out = static_cast<E>(word);
    return ok_status();
  };
}
