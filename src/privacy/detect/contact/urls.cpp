// urls: addresses of the web, the secrets in their queries, and hosts of an organisation's own network.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include "privacy/aho_corasick.h"
#include "privacy/detect/contact/contact.h"

namespace contact {
namespace {

constexpr size_t longest_url = 8192;

bool url_byte(char c) {
  return alnum(c) || (static_cast<unsigned char>(c) < 0x80 && std::string_view("-._~:/?#[]@!$&'()*+,;=%").find(c) != std::string_view::npos);
}

// Names of query fields whose values open doors.
constexpr std::string_view secret_fields[] = {"token",
                                              "access_token",
                                              "accesstoken",
                                              "id_token",
                                              "refresh_token",
                                              "auth_token",
                                              "authtoken",
                                              "auth",
                                              "authkey",
                                              "api_key",
                                              "apikey",
                                              "api-key",
                                              "key",
                                              "secret",
                                              "client_secret",
                                              "app_secret",
                                              "sig",
                                              "signature",
                                              "x-amz-signature",
                                              "x-amz-security-token",
                                              "x-amz-credential",
                                              "x-goog-signature",
                                              "awsaccesskeyid",
                                              "password",
                                              "passwd",
                                              "pwd",
                                              "pass",
                                              "code",
                                              "sas",
                                              "session",
                                              "sessionid",
                                              "session_id",
                                              "sid",
                                              "jwt",
                                              "ticket",
                                              "credential",
                                              "oauth_token",
                                              "oauth_signature",
                                              "hmac",
                                              "otp",
                                              "reset_token",
                                              "invite",
                                              "invitation",
                                              "magic",
                                              "nonce",
                                              "sharedaccesssignature",
                                              "subscription-key",
                                              "private_token",
                                              "state",
                                              "pat",
                                              "x-api-key",
                                              "user_token",
                                              "confirmation_token",
                                              "hash",
                                              "se_sig",
                                              "policy"};

bool equal_folded(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

// Drawn by a machine, or a password of a field that says so.
bool is_secret(std::string_view field, std::string_view value) {
  const bool password = field == "password" || field == "passwd" || field == "pwd" || field == "pass";
  const bool weak = field == "code" || field == "state" || field == "key" || field == "hash" || field == "nonce" || field == "session" ||
                    field == "policy" || field == "invite" || field == "ticket" || field == "auth" || field == "sid";
  if (value.find_first_of("<>{}$*[]") != std::string_view::npos || value.find("...") != std::string_view::npos ||
      value.find("%7B") != std::string_view::npos || value.find("%3C") != std::string_view::npos)
    return false;
  size_t digits = 0, upper = 0, lower = 0;
  for (const char c : value) digits += digit(c), upper += c >= 'A' && c <= 'Z', lower += c >= 'a' && c <= 'z';
  if (password) return value.size() >= 5 && (digits > 0 || (upper > 0 && lower > 0)) && !equal_folded(value, field);
  if (value.size() < (weak ? 16u : 10u)) return false;
  if (entropy(value) < 2.8F) return false;
  return digits >= 2 && (upper + lower > 1 || value.size() >= 20);
}

class UrlDetector final : public Detector {
 public:
  std::string_view name() const override { return "url"; }
  char tier() const override { return 'c'; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    size_t done = 0;
    for (size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
      if (at < done) continue;
      size_t begin = at;
      while (begin > 0 && at - begin < 24 && (alnum(text[begin - 1]) || text[begin - 1] == '+' || text[begin - 1] == '-')) --begin;
      size_t end = at + 3;
      const size_t limit = std::min(text.size(), begin + longest_url);
      while (end < limit && url_byte(text[end])) ++end;
      while (end > at + 3 && std::string_view(".,;:!?)'*]").find(text[end - 1]) != std::string_view::npos &&
             !(text[end - 1] == ')' && text.substr(at, end - at).find('(') != std::string_view::npos))
        --end;
      done = end;
      if (begin == at || end < at + 6) continue;
      out.push_back({PrivacyClass::url, "url", begin, end, 0.9F});
    }
  }
};

// "?token=…", also of a path without a host.
class UrlSecretDetector final : public Detector {
 public:
  std::string_view name() const override { return "url_secret"; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    size_t run_end = 0, inside = 0;  // a value may hold fields itself; only the first few of them are read
    for (size_t equals = text.find('='); equals != std::string_view::npos; equals = text.find('=', equals + 1)) {
      size_t begin = equals;
      while (begin > 0 && equals - begin < 32 && (alnum(text[begin - 1]) || text[begin - 1] == '-' || text[begin - 1] == '_')) --begin;
      if (begin == equals || begin == 0 ||
          (text[begin - 1] != '?' && text[begin - 1] != '&' && text[begin - 1] != '#' &&
           !(text[begin - 1] == ';' && text.substr(0, begin).ends_with("&amp;"))))
        continue;
      const std::string_view name = text.substr(begin, equals - begin);
      const auto field = std::find_if(std::begin(secret_fields), std::end(secret_fields), [&](std::string_view known) { return equal_folded(name, known); });
      if (field == std::end(secret_fields)) continue;
      if (equals < run_end && ++inside > 8) continue;
      if (equals >= run_end) inside = 0;
      size_t end = equals + 1;
      const size_t limit = std::min(text.size(), end + 4096);
      while (end < limit && url_byte(text[end]) && text[end] != '&' && text[end] != '#' && text[end] != '\'' && text[end] != ')' &&
             text[end] != ',' && text[end] != ';')
        ++end;
      run_end = std::max(run_end, end);
      while (end > equals + 1 && (text[end - 1] == '.' || text[end - 1] == ':' || text[end - 1] == '!' || text[end - 1] == '?')) --end;
      if (!is_secret(*field, text.substr(equals + 1, end - equals - 1))) continue;
      out.push_back({PrivacyClass::secret, "url_token", equals + 1, end, 0.85F});
      equals = end - 1;
    }
  }
};

// Names that only an inner network resolves: db.internal, files.corp, printer.local.
class HostDetector final : public Detector {
 public:
  HostDetector() {
    for (const std::string_view ending : {".internal", ".corp", ".local", ".lan", ".intranet", ".intra", ".home.arpa", ".localdomain",
                                          ".svc.cluster.local", ".priv", ".private", ".home"})
      endings_.add(ending, static_cast<uint32_t>(ending.size()));
    endings_.build();
  }
  std::string_view name() const override { return "host"; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    size_t done = 0;
    endings_.scan(text, [&](uint32_t size, size_t end) {
      if (end < done || (end < text.size() && (alnum(text[end]) || text[end] == '-' || text[end] == '_' ||
                                               (text[end] == '.' && end + 1 < text.size() && alnum(text[end + 1])) || text[end] == '(')))
        return;
      size_t begin = end - size;
      while (begin > 0 && end - begin < 200 && (alnum(text[begin - 1]) || text[begin - 1] == '-' || text[begin - 1] == '.')) --begin;
      while (begin < end && !alnum(text[begin])) ++begin;
      if (begin + 2 > end - size) return;
      const char before = begin > 0 ? text[begin - 1] : ' ';
      if (before == '_' || before == '$' || before == '[') return;  // an attribute of a program
      const bool path = before == '/' && !(begin >= 3 && text.substr(begin - 3, 3) == "://");
      const bool url = begin >= 3 && text.substr(begin - 3, 3) == "://";
      const bool port = end + 1 < text.size() && text[end] == ':' && digit(text[end + 1]);
      const std::string_view host = text.substr(begin, end - begin), ending = host.substr(host.size() - size);
      // ".local", ".private", ".home" and ".internal" are also members and files; ask for more.
      const bool common = ending == ".local" || ending == ".private" || ending == ".home" || ending == ".priv" || ending == ".internal";
      const bool machine = host.find('-') != std::string_view::npos || std::any_of(host.begin(), host.end(), digit);
      if (path || before == '.' || (before == '@' && !port && !(end < text.size() && text[end] == '/'))) return;  // a mail's host is the mail's
      if ((ending == ".private" || ending == ".priv" || ending == ".home") && !url && !port && !machine) return;
      if (common && !url && !port && before != '@' && !stands_free(text, begin, end, std::count(host.begin(), host.end(), '.'), machine)) return;
      const std::string_view first = host.substr(0, host.find('.'));
      for (const std::string_view object : {"self", "this", "cls", "threading", "config", "module", "process", "settings", "window", "options",
                                            "storage", "state", "it", "root", "scope", "env", "var", "usr", "etc"}) {
        if (first == object && !url && !port) return;
      }
      if (ending == ".local" && !url && !port && !machine && before != '"' &&
          !speaks_of_hosts(text.substr(begin > 24 ? begin - 24 : 0, std::min<size_t>(24, begin))))
        return;
      out.push_back({PrivacyClass::host, "internal_host", begin, end, url || port ? 0.85F : 0.7F});
      done = end;
    });
    find_single_labels(text, out);
  }

 private:
  static bool speaks_of_hosts(std::string_view before) {
    for (const std::string_view word :
         {"host", "Host", "server", "Server", "ping", "ssh", "connect", "machine", "node", "printer", "browse", "主機", "主机", "伺服器", "服务器"}) {
      if (before.find(word) != std::string_view::npos) return true;
    }
    return false;
  }
  // Between spaces, quotes or brackets, not assigned to, and not a member of a member.
  static bool stands_free(std::string_view text, size_t begin, size_t end, std::ptrdiff_t dots, bool machine) {
    const char before = begin > 0 ? text[begin - 1] : ' ', after = end < text.size() ? text[end] : ' ';
    const bool left = std::string_view(" \t\n\"'(`").find(before) != std::string_view::npos || static_cast<unsigned char>(before) >= 0x80;
    const bool right = std::string_view(" \t\n\"')`.,;:!?").find(after) != std::string_view::npos || static_cast<unsigned char>(after) >= 0x80;
    size_t next = end;
    while (next < text.size() && text[next] == ' ') ++next;
    const bool assigned = next < text.size() && (text[next] == '=' || text[next] == ':' || text[next] == '?' || text[next] == '&' || text[next] == '|');
    return left && right && !assigned && (dots == 1 || machine);
  }

  // http://wiki/…: one label that is not localhost.
  static void find_single_labels(std::string_view text, std::vector<Hit>& out) {
    for (size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
      if (at < 3 || !letter(text[at - 1])) continue;
      size_t begin = at + 3, end = begin;
      while (end < text.size() && end - begin < 64 && (alnum(text[end]) || text[end] == '-')) ++end;
      if (end < begin + 3 || !letter(text[begin]) || end >= text.size() || (text[end] != '/' && text[end] != ':')) continue;
      if (text[end] == ':' && !(end + 1 < text.size() && digit(text[end + 1]))) continue;
      const std::string_view host = text.substr(begin, end - begin);
      const bool sample = host == "localhost" || host == "host" || host == "hostname" || host == "example" || host == "HOST" || host == "server" ||
                          host == "url" || host == "domain" || host == "foo" || host == "bar" || host == "test" || host == "your-host" ||
                          host == "myhost" || host.starts_with("xn--");
      const bool web = text.substr(at - 3, 3) == "ttp" || text.substr(at - 3, 3) == "tps" || text.substr(at - 3, 3) == "ssh";
      if (sample || !web) continue;
      out.push_back({PrivacyClass::host, "internal_host", begin, end, 0.6F});
    }
  }

  AhoCorasick endings_;
};

}  // namespace

std::unique_ptr<Detector> make_url_detector() { return std::make_unique<UrlDetector>(); }
std::unique_ptr<Detector> make_url_secret_detector() { return std::make_unique<UrlSecretDetector>(); }
std::unique_ptr<Detector> make_host_detector() { return std::make_unique<HostDetector>(); }

}  // namespace contact
