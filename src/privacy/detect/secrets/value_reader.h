// value_reader: finds the value that a name introduces, in code, configuration, markup, tables and sentences.
#pragma once
#include <cstddef>
#include <string_view>

namespace credential {

enum class Cue : uint8_t {
  assigned,   // = := => ==, ("name", "value")
  labelled,   // "name: value"
  said,       // "is", "was changed to", 是
  adjacent,   // nothing between: "--password value", "password value"
};
struct Candidate {
  size_t begin = 0, end = 0;
  Cue cue = Cue::assigned;
  char quote = 0;        // the closing quote's first byte; 0: none
  bool spaced = false;   // a space stood around "="
  bool flag = false;     // the name is a flag of a command line
  bool listed = false;   // only a comma stood between
  bool markup = false;   // between tags, or in a cell of a table
  char next = 0;         // what follows an unquoted value; 0: a space or the end
};
// `name_begin`, `name_end`: the whole identifier or word that names the secret. False where nothing follows.
bool read_value(std::string_view text, size_t name_begin, size_t name_end, Candidate& out);
// The value in front: "hunter2 is the password", "use hunter2 as password".
bool read_value_before(std::string_view text, size_t name_begin, Candidate& out);
// Words in quotes, or to the sentence's end: a passphrase.
bool read_phrase(std::string_view text, const Candidate& first, Candidate& out);

}  // namespace credential
