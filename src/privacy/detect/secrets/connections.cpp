// connections: logins inside connection strings: scheme://user:password@host, jdbc:oracle:thin:user/password@…
#include <algorithm>
#include <array>
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/shape.h"

namespace credential {

namespace {

constexpr size_t longest_login = 1024;

bool ends_login(char c) { return is_space(static_cast<unsigned char>(c)) || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' || c == '\\'; }

// A manual's way to write any login: "user:password@", "username:pass@".
bool is_sample_login(std::string_view user, std::string_view password) {
  if (is_stand_in(password)) {
    const bool root = equal_folded(user, "root") || equal_folded(user, "admin");
    return !root || equal_folded(password, "password") || password.find_first_not_of("*x.") == std::string_view::npos || password[0] == '$' ||
           password[0] == '<' || password[0] == '{';
  }
  return false;
}

class ConnectionDetector final : public Detector {
 public:
  std::string_view name() const override { return "connection_string"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    for (size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) find_login(text, at, out);
    for (size_t at = text.find("jdbc:oracle:"); at != std::string_view::npos; at = text.find("jdbc:oracle:", at + 12)) find_oracle(text, at + 12, out);
  }

 private:
  static void find_login(std::string_view text, size_t colon, std::vector<Hit>& out) {
    if (colon == 0 || !is_alnum(static_cast<unsigned char>(text[colon - 1]))) return;
    const size_t begin = colon + 3;
    const size_t limit = std::min(text.size(), begin + longest_login);
    // The login ends at the last "@" before the path, unless the password has a "/" of its own and a host follows the "@".
    size_t first_colon = 0, sign = 0, slash = 0, end = begin;
    for (; end < limit && !ends_login(text[end]); ++end) {
      const char c = text[end];
      if (c == ':' && first_colon != 0 && text.substr(end).starts_with("://")) break;  // another URL begins
      if (c == ':' && first_colon == 0) {  // a user may be an address of mail
        if (end + 2 < limit && text[end + 1] == '/' && text[end + 2] == '/') return;  // another URL begins
        first_colon = end;
      }
      if ((c == '/' || c == '?' || c == '#') && slash == 0 && first_colon == 0) break;
      if (c == '/' && slash == 0) slash = end;
      if (c == '@' && (slash == 0 || sign == 0)) sign = end;
      if ((c == '?' || c == '/') && sign != 0 && end > sign) break;
    }
    if (first_colon == 0 || sign <= first_colon + 1 || sign + 1 >= text.size()) return;
    const char host = text[sign + 1];
    if (!is_alnum(static_cast<unsigned char>(host)) && host != '[' && host != '/' && host != '{' && host != '$' && host != '%' && host != '<') return;
    // "host:8080/x@y": a port and a path, not a login.
    const std::string_view password = text.substr(first_colon + 1, sign - first_colon - 1), user = text.substr(begin, first_colon - begin);
    if (slash != 0 && slash < sign && all_digits(text.substr(first_colon + 1, slash - first_colon - 1))) return;
    if (password.size() < 4 || is_sample_login(user, password)) return;
    out.push_back({PrivacyClass::secret, "connection_string", begin, sign, 0.95F, true});
  }

  static bool all_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  // thin:scott/tiger@host
  static void find_oracle(std::string_view text, size_t after, std::vector<Hit>& out) {
    const std::string_view rest = text.substr(after, 256);
    const size_t colon = rest.find(':'), slash = rest.find('/'), sign = rest.find('@');
    if (colon == std::string_view::npos || slash == std::string_view::npos || sign == std::string_view::npos || !(colon < slash && slash + 1 < sign)) return;
    if (std::any_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(sign), ends_login)) return;
    if (is_stand_in(rest.substr(slash + 1, sign - slash - 1))) return;
    out.push_back({PrivacyClass::secret, "connection_string", after + colon + 1, after + sign, 0.95F, true});
  }
};

}  // namespace

std::unique_ptr<Detector> make_connection_detector() { return std::make_unique<ConnectionDetector>(); }

}  // namespace credential
