// tokens: credentials that begin with a text of their own ("AKIA", "ghp_"): found by their literals, read by a row's pattern, then checked.
#include "privacy/detect/secrets/tokens.h"
#include <re2/re2.h>
#include <algorithm>
#include <array>
#include <memory>
#include "privacy/aho_corasick.h"
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/shape.h"
#include "privacy/detect/secrets/token_rows.h"

namespace credential {

namespace {

constexpr std::string_view base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr size_t window = 640;  // bytes a pattern reads; what goes on behind in the same alphabet belongs to the match

uint32_t crc32(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

bool is_base64url(char c) { return base64_value(c) >= 0 && c != '+' && c != '/'; }

class TokenDetector final : public Detector {
 public:
  TokenDetector() {
    for (const TokenRow& row : token_rows()) {
      RE2::Options options;
      options.set_log_errors(false);
      options.set_max_mem(2 << 20);
      const uint32_t id = static_cast<uint32_t>(patterns_.size());
      patterns_.push_back(std::make_unique<RE2>(re2::StringPiece(row.pattern.data(), row.pattern.size()), options));
      CHECK(patterns_.back()->ok());
      for (size_t at = 0; at < row.literals.size();) {
        const size_t end = std::min(row.literals.find(' ', at), row.literals.size());
        literals_.add(row.literals.substr(at, end - at), id << 8 | static_cast<uint32_t>(end - at));
        at = end + 1;
      }
    }
    for (const std::string_view start : {"eyJ", "eyA", "ewo", "ewA"}) literals_.add(start, web_token << 8 | 3);
    literals_.build();
  }
  std::string_view name() const override { return "token"; }
  bool reads(ViewKind kind) const override { return kind != ViewKind::numerals && kind != ViewKind::squeezed; }  // reversed too

  void find(const Page& page, std::vector<Hit>& out) const override {
    std::vector<size_t> done(patterns_.size() + 1, 0);  // by row: what a match has covered is not read again
    literals_.scan(page.text, [&](uint32_t id, size_t end) {
      const size_t row = id >> 8, literal = end - (id & 0xFF);
      if (row == web_token) return find_web_token(page.text, literal, done.back(), out);
      if (literal >= done[row]) find_row(page.text, row, literal, done[row], out);
    });
  }

 private:
  static constexpr uint32_t web_token = 0xFFFF;

  void find_row(std::string_view text, size_t index, size_t literal, size_t& done, std::vector<Hit>& out) const {
    const TokenRow& row = token_rows()[index];
    for (int back = row.back; back >= 0; back -= row.back > 16 ? row.back : 1) {
      if (static_cast<size_t>(back) > literal) continue;
      const size_t begin = literal - static_cast<size_t>(back);
      if (begin < done || !token_may_begin(text, begin)) continue;
      if (const size_t end = match(text, index, begin); end > literal) {
        done = end;
        return check(row, text, begin, end, out);
      }
      if (back == 0) break;
    }
  }

  size_t match(std::string_view text, size_t index, size_t begin) const {
    constexpr size_t shortest = 14;  // most words that begin like a token are shorter than any
    if (text.size() - begin < shortest ||
        std::any_of(
            text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(begin + shortest),
            [](char c) { return is_space(static_cast<unsigned char>(c)); }))
      return 0;
    const std::string_view rest = text.substr(begin, window);
    re2::StringPiece got, input(rest.data(), rest.size());
    if (!patterns_[index]->Match(input, 0, input.size(), RE2::ANCHOR_START, &got, 1)) return 0;
    size_t end = begin + got.size();
    if (got.size() == window) while (end < text.size() && (base64_value(text[end]) >= 0 || text[end] == '.' || text[end] == '=')) ++end;
    const bool longer =
        end < text.size() && text[end] != '\x1b' && (is_alnum(static_cast<unsigned char>(text[end])) || (text[end] == '_' && text[end - 1] != '='));
    return longer ? 0 : end;
  }

  static void check(const TokenRow& row, std::string_view text, size_t begin, size_t end, std::vector<Hit>& out) {
    while (end > begin && (text[end - 1] == '.' || text[end - 1] == '-')) --end;  // the sentence's
    const std::string_view token = text.substr(begin, end - begin);
    Hit hit{PrivacyClass::secret, row.kind, begin, end, row.score};
    const size_t mark = token.find_first_of("_-");
    const std::string_view body = mark != std::string_view::npos && mark < 12 ? token.substr(mark + 1) : token;
    if (row.check != TokenCheck::github && (is_stand_in(body) || is_stand_in(token))) return;
    switch (row.check) {
      case TokenCheck::none: break;
      case TokenCheck::random:
        if (const Shape shape = shape_of(body); shape.entropy < 2.5F || (shape.digits == 0 && shape.upper == 0 && !looks_random(body))) return;
        break;
      case TokenCheck::github:
        if (body.size() == 36) hit.validated = crc32_base62_holds(body);
        hit.score = hit.validated ? 0.99F : body.size() == 36 ? 0.7F : 0.85F;
        if (!hit.validated && (shape_of(body).entropy < 2.5F || is_stand_in(body))) return;
        break;
      case TokenCheck::aws_id:
        if (token.ends_with("EXAMPLE")) return;
        if (std::any_of(token.begin(), token.end(), [](char c) { return c == '0' || c == '1' || c == '8' || c == '9'; })) hit.score = 0.7F;
        break;
      case TokenCheck::anthropic:
        if (token.size() >= 100 && token.ends_with("AA")) hit.score = 0.98F, hit.validated = true;
        break;
    }
    out.push_back(hit);
    if (row.check == TokenCheck::aws_id) find_aws_secret(text, end, out);
  }

  // Forty characters of base64 soon after an access key id are its secret.
  static void find_aws_secret(std::string_view text, size_t from, std::vector<Hit>& out) {
    const size_t limit = std::min(text.size(), from + 320);
    for (size_t at = from; at < limit;) {
      if (base64_value(text[at]) < 0) { ++at; continue; }
      size_t end = at;
      while (end < text.size() && end - at <= 64 && base64_value(text[end]) >= 0 && text[end] != '-' && text[end] != '_') ++end;
      const std::string_view run = text.substr(at, end - at);
      const Shape shape = shape_of(run);
      if (run.size() == 40 && shape.digits > 0 && shape.upper > 0 && shape.lower > 0 && shape.entropy > 4 && !is_hex(run)) {
        out.push_back({PrivacyClass::secret, "aws_secret", at, end, 0.95F});
        return;
      }
      at = end + 1;
    }
  }

  static void find_web_token(std::string_view text, size_t begin, size_t& done, std::vector<Hit>& out) {
    if (begin < done || !token_may_begin(text, begin)) return;
    bool header_read = false;
    const size_t end = json_web_token_end(text, begin, header_read);
    if (end == 0) return;
    done = end;
    out.push_back({PrivacyClass::secret, "jwt", begin, end, header_read ? 0.98F : 0.6F, header_read});
  }

  std::vector<std::unique_ptr<RE2>> patterns_;
  AhoCorasick literals_;
};

}  // namespace

bool token_may_begin(std::string_view text, size_t at) {
  if (at == 0 || !is_alnum(static_cast<unsigned char>(text[at - 1]))) return true;
  // Behind the escape sequence of a colour.
  if (text[at - 1] == 'm') {
    size_t escape = at - 1;
    while (escape > 0 && at - escape < 12 && ((text[escape - 1] >= '0' && text[escape - 1] <= '9') || text[escape - 1] == ';')) --escape;
    if (escape > 0 && text[escape - 1] == '[') return true;
  }
  // "\nAKIA…" inside a string of a program.
  return at >= 2 && text[at - 2] == '\\' && (text[at - 1] == 'n' || text[at - 1] == 't' || text[at - 1] == 'r');
}

std::string crc32_base62(std::string_view random_part) {
  std::string out(6, '0');
  uint32_t rest = crc32(random_part);
  for (size_t i = 6; i-- > 0; rest /= 62) out[i] = base62[rest % 62];
  return out;
}

bool crc32_base62_holds(std::string_view body) { return body.size() == 36 && body.substr(30) == crc32_base62(body.substr(0, 30)); }

std::string decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int value = base64_value(c);
    if (value < 0) return {};
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xFFFFFF;
    held += 6;
    if (held >= 8) held -= 8, out += static_cast<char>(bits >> held & 0xFF);
  }
  return out;
}

size_t json_web_token_end(std::string_view text, size_t begin, bool& header_read) {
  size_t dots = 0, end = begin, first_dot = 0;
  while (end < text.size() && (is_base64url(text[end]) || (text[end] == '.' && dots < 4))) {
    if (text[end] == '.' && ++dots == 1) first_dot = end;
    ++end;
  }
  if (dots < 1 || first_dot - begin < 12) return 0;
  const std::string header = decode_base64(text.substr(begin, std::min<size_t>(first_dot - begin, 4096)));
  header_read = header.starts_with('{') && (header.find("\"alg\"") != std::string::npos || header.find("\"enc\"") != std::string::npos);
  const bool payload_is_json = text.substr(first_dot + 1).starts_with("eyJ") || text.substr(first_dot + 1).starts_with("ey");
  if (!header_read && !(dots >= 2 && payload_is_json)) return 0;
  while (end > first_dot + 1 && (text[end - 1] == '.' || text[end - 1] == '-') && dots < 2) --end;
  return end > first_dot + 8 ? end : 0;
}

std::unique_ptr<Detector> make_token_detector() { return std::make_unique<TokenDetector>(); }

}  // namespace credential
