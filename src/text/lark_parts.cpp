// lark parts: what Python's regular expressions write differently, and the library of terminals.
#include "text/lark_parts.h"

#include <algorithm>

#define ESCAPED "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""
#define DECIMAL "(?:[0-9]+\\.[0-9]*|\\.[0-9]+)"
#define EXPONENT "[eE][+-]?[0-9]+"
#define FLOAT "(?:[0-9]+" EXPONENT "|" DECIMAL "(?:" EXPONENT ")?)"

static constexpr std::pair<std::string_view, std::string_view> kCommon[] = {
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", DECIMAL},
    {"FLOAT", FLOAT},
    {"SIGNED_FLOAT", "[+-]?" FLOAT},
    {"NUMBER", "(?:" FLOAT "|[0-9]+)"},
    {"SIGNED_NUMBER", "[+-]?(?:" FLOAT "|[0-9]+)"},
    {"ESCAPED_STRING", ESCAPED},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[a-zA-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[a-zA-Z_][a-zA-Z0-9_]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"C_COMMENT", "/\\*(?:[^*]|\\*+[^*/])*\\*+/"},
    {"SQL_COMMENT", "--[^\\n]*"},
};

std::string_view common_terminal(std::string_view name) {
  const auto found = std::ranges::find(kCommon, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kCommon) ? "" : found->second;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Letters of ASCII in both cases; others have cases too, which a grammar would have to fold as Python does.
static std::string both_cases(char c, bool in_class) {
  const std::string two{static_cast<char>(c | 0x20), static_cast<char>(c & ~0x20)};
  return in_class ? two : "[" + two + "]";
}

// A range in a class, and what of it has another case.
static std::string folded_range(char first, char last) {
  std::string out{first, '-', last};
  for (const char base : {'a', 'A'}) {
    const char low = std::max(first, base), high = std::min(last, static_cast<char>(base + 25));
    if (low <= high) out += std::string{static_cast<char>(low ^ 0x20), '-', static_cast<char>(high ^ 0x20)};
  }
  return out;
}

Result<std::string> regex_of_python(std::string_view pattern, std::string_view flags, const NotationCursor& in) {
  for (const char flag : flags)
    if (flag != 'i' && flag != 's' && flag != 'u') return in.unsupported(std::string("the flag ") + flag + " of a regular expression");
  const bool fold = flags.find('i') != flags.npos, dot_all = flags.find('s') != flags.npos;
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i], next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (fold && static_cast<uint8_t>(c) >= 0x80) return in.unsupported("a regular expression with the flag i and letters beyond ASCII");
    if (c == '\\') {
      if (next == 'A' || next == 'Z') return in.unsupported(std::string("\\") + next + " in a regular expression");
      if (next == '/') out += '/';
      else out += c, out += next;
      // A class of letters has both cases; a letter in hexadecimal does not.
      if (fold && (next == 'x' || next == 'u' || next == 'U')) return in.unsupported("a regular expression with the flag i and escapes in hexadecimal");
      ++i;
    } else if (in_class) {
      if (c == ']' && out.back() != '[' && !out.ends_with("[^")) in_class = false;
      if (fold && next == '-' && i + 2 < pattern.size() && pattern[i + 2] != ']' && pattern[i + 2] != '\\' && c != '[') {
        out += folded_range(c, pattern[i + 2]);
        i += 2;
      } else {
        const bool literal_bracket = (c == ']' && in_class) || c == '[';  // Python takes a ] that comes first as itself
        out += fold && is_letter(c) ? both_cases(c, true) : (literal_bracket ? "\\" : "") + std::string(1, c);
      }
    } else if (c == '[') {
      in_class = true;
      out += c;
    } else if (c == '.') {
      out += dot_all ? "[\\s\\S]" : "[^\\n]";
    } else if (c == '(' && pattern.substr(i).starts_with("(?P<")) {
      const size_t end = pattern.find('>', i);
      if (end == pattern.npos) return in.invalid("the > of a group's name");
      out += "(?:";
      i = end;
    } else if (c == '(' && pattern.substr(i).starts_with("(?P")) {
      return in.unsupported("a reference to a group in a regular expression");
    } else {
      out += fold && is_letter(c) ? both_cases(c, false) : std::string(1, c);
    }
  }
  return out;
}
