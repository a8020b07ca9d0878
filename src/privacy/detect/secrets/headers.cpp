// headers: credentials in HTTP headers and on command lines: Authorization, X-Api-Key, cookies, "curl -u user:password".
#include <re2/re2.h>
#include <algorithm>
#include <array>
#include <memory>
#include "privacy/aho_corasick.h"
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/shape.h"

namespace credential {

namespace {

// What stands behind a literal: the first group is the secret. `literals` in lower case, "~" a space.
struct Rule { std::string_view kind, literals, pattern; float score; bool whole; };  // whole: the group is secret however it looks
constexpr std::string_view scheme_value =
    R"((?:\\?["'])?\s{0,4}(?:[:=]|=>|,)\s{0,4}[bfru]?(?:\\?["'])?\s{0,2}(?:basic|bearer|token|digest|negotiate|ntlm|apikey|api-key|key|oauth|hawk|aws4-hmac-sha256)\s{1,3}([^\s"'\\,;<>`]{6,}))";
constexpr std::string_view plain_value = R"((?:\\?["'])?\s{0,4}(?:[:=]|=>|,)\s{0,4}(?:\\?["'])?([^\s"'\\,;<>`]{8,}))";
constexpr std::string_view cookie_value = R"((?:\\?["'])?\s{0,2}:\s{0,4}(?:\\?["'])?([^\s=;"'<>]{1,64}=[^\r\n"'<>]{6,}))";
constexpr Rule rules[] = {
    {"authorization", "authorization", scheme_value, 0.9F, false},
    {"authorization", "authorization", plain_value, 0.75F, false},
    {"bearer", "bearer~", R"(([A-Za-z0-9._~+/-]{20,}=*))", 0.8F, false},
    {"api_key_header",
     "x-api-key x-auth-token x-access-token x-vault-token x-amz-security-token private-token x-goog-api-key ocp-apim-subscription-key "
     "x-functions-key x-csrf-token x-xsrf-token api-key x-shopify-access-token x-gitlab-token",
     plain_value, 0.85F, false},
    {"cookie", "cookie set-cookie", cookie_value, 0.85F, false},
    {"basic_login", "curl~", R"((?:[^\n;|]{0,200}?\s)?(?:-u|--user|--proxy-user|-U)[\s=]{0,2}["']?([^\s"':]{1,64}:[^\s"']{3,128}))", 0.9F, false},
    {"basic_login", "wget~", R"([^\n;|]{0,200}?--(?:http-|ftp-)?password[=\s]["']?([^\s"']{3,128}))", 0.9F, false},
    {"command_password", "sshpass~", R"(-p\s?["']?([^\s"']{3,128}))", 0.9F, false},
    {"command_password", "mysql mysqldump mysqladmin", R"((?:[^\n;|]{0,120}?\s)-p["']?([^\s"'-][^\s"']{3,128}))", 0.85F, false},
    {"command_password", "identified~by mysql_native_password~by", R"(\s{1,3}(?:password\s{1,3})?["']?([^\s"'`;,()]{4,128}))", 0.85F, false},
    {"command_password", "pass:", R"(([^\s"']{5,128}))", 0.7F, false},
    {"command_password", "convertto-securestring", R"((?:\s{1,3}-[a-z]+){0,3}\s{0,3}[(\\"'\s]{0,4}([^\s"'\\)$-][^\s"'\\)]{5,}))", 0.85F, false},
    {"command_password", "net~user~", R"([^\s/]{1,64}\s{1,3}([^\s/]{4,64}))", 0.8F, false},
};

class HeaderDetector final : public Detector {
 public:
  HeaderDetector() {
    for (const Rule& rule : rules) {
      RE2::Options options;
      options.set_log_errors(false);
      options.set_case_sensitive(false);
      const uint32_t id = static_cast<uint32_t>(patterns_.size());
      patterns_.push_back(std::make_unique<RE2>(re2::StringPiece(rule.pattern.data(), rule.pattern.size()), options));
      CHECK(patterns_.back()->ok());
      add_literals(rule, id);
    }
    literals_.build();
  }
  std::string_view name() const override { return "header"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    std::array<size_t, std::size(rules)> done{};
    literals_.scan(page.text, [&](uint32_t id, size_t end) {
      const size_t rule = id >> 8, begin = end - (id & 0xFF);
      if (rules[rule].literals == "pass:" && begin > 0 && std::string_view(" \"'=").find(page.text[begin - 1]) == std::string_view::npos) return;
      if (begin < done[rule] || (begin > 0 && is_alnum(static_cast<unsigned char>(page.text[begin - 1])) && !token_may_begin(page.text, begin))) return;
      find_value(page.text, rule, end, done[rule], out);
    });
  }

 private:
  static constexpr size_t window = 4096;

  void add_literals(const Rule& rule, uint32_t id) {
    for (size_t at = 0; at < rule.literals.size();) {
      const size_t end = std::min(rule.literals.find(' ', at), rule.literals.size());
      std::string literal(rule.literals.substr(at, end - at));
      std::replace(literal.begin(), literal.end(), '~', ' ');
      literals_.add(literal, id << 8 | static_cast<uint32_t>(literal.size()));
      at = end + 1;
    }
  }

  void find_value(std::string_view text, size_t index, size_t after, size_t& done, std::vector<Hit>& out) const {
    const Rule& rule = rules[index];
    const std::string_view rest = text.substr(after, window);
    re2::StringPiece groups[2], input(rest.data(), rest.size());
    if (!patterns_[index]->Match(input, 0, input.size(), RE2::ANCHOR_START, groups, 2)) return;
    const size_t begin = after + static_cast<size_t>(groups[1].data() - rest.data());
    size_t end = begin + groups[1].size();
    while (end > begin && (text[end - 1] == ',' || text[end - 1] == ')' || text[end - 1] == '.' || text[end - 1] == ';' || text[end - 1] == ' ')) --end;
    const std::string_view value = text.substr(begin, end - begin);
    if (end - begin > 256) done = end;  // read once, whatever it is
    if (!is_credential(rule, value)) return;
    done = end;
    out.push_back({PrivacyClass::secret, rule.kind, begin, end, rule.score});
  }

  static bool is_credential(const Rule& rule, std::string_view value) {
    if (rule.kind == "cookie") return cookie_holds_secret(value);
    if (rule.kind == "basic_login") {
      const size_t colon = value.find(':');
      const std::string_view password = colon == std::string_view::npos ? value : value.substr(colon + 1);
      return !is_stand_in(password) && password[0] != '$';
    }
    if (is_stand_in(value) || is_expression(value) || is_path_or_url(value) || is_algorithm(value.substr(0, value.find(':')))) return false;
    const Shape shape = shape_of(value);
    if (rule.kind == "command_password") return shape.digits > 0 || shape.inner_symbols > 0 || looks_random(value);
    // A header's own name or a scheme as a value ("authorization: required"), an identifier of a program.
    return (shape.digits > 0 && shape.entropy >= 2.5F && (shape.size >= 16 || shape.mixed())) || looks_random(value) || value.back() == '=';
  }

  static bool cookie_holds_secret(std::string_view value) {
    for (size_t at = 0; at < value.size();) {
      const size_t end = std::min(value.find(';', at), value.size());
      const std::string_view pair = value.substr(at, end - at);
      const size_t equals = pair.find('=');
      if (equals != std::string_view::npos) {
        const std::string_view content = pair.substr(equals + 1);
        const Shape shape = shape_of(content);
        if (content.size() >= 8 && shape.digits > 0 && shape.spaces == 0 && shape.entropy >= 2.5F && !is_stand_in(content)) return true;
        if (content.size() >= 12 && looks_random(content)) return true;
      }
      at = end + 1;
    }
    return false;
  }

  std::vector<std::unique_ptr<RE2>> patterns_;
  AhoCorasick literals_{AhoCorasick::lower_case()};
};

}  // namespace

std::unique_ptr<Detector> make_header_detector() { return std::make_unique<HeaderDetector>(); }

}  // namespace credential
