// key_blocks: private keys written between BEGIN and END, PuTTY's private lines. Without an END the rest of the text is the key.
#include <algorithm>
#include <array>
#include "privacy/aho_corasick.h"
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/shape.h"

namespace credential {

namespace {

constexpr size_t longest_label = 64;  // "-----BEGIN ENCRYPTED PRIVATE KEY-----" and its likes
constexpr size_t longest_key = 64 << 10;
constexpr size_t longest_head = 8 << 10;  // PuTTY's public half, before the private one

class KeyBlockDetector final : public Detector {
 public:
  KeyBlockDetector() {
    marks_.add("-----BEGIN", begin_mark);
    marks_.add("---- BEGIN", begin_mark);
    marks_.add("PuTTY-User-Key-File-", putty_mark);
    marks_.build();
  }
  std::string_view name() const override { return "private_key"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    size_t done = 0;
    marks_.scan(page.text, [&](uint32_t mark, size_t end) {
      if (end < done) return;
      const size_t found = mark == begin_mark ? find_block(page.text, end, out) : find_putty(page.text, end, out);
      done = std::max(done, found);
    });
  }

 private:
  static constexpr uint32_t begin_mark = 1, putty_mark = 2;

  static size_t find_block(std::string_view text, size_t after, std::vector<Hit>& out) {
    size_t begin = text.rfind('B', after - 1);  // of BEGIN
    while (begin > 0 && (text[begin - 1] == '-' || text[begin - 1] == ' ') && after - begin < 16) --begin;
    const size_t label_end = text.substr(0, std::min(text.size(), after + longest_label)).find("--", after);
    if (label_end == std::string_view::npos) return 0;
    const std::string_view label = text.substr(after, label_end - after);
    if (label.find("PRIVATE KEY") == std::string_view::npos || label.find('\n') != std::string_view::npos) return 0;
    size_t body = label_end;
    while (body < text.size() && (text[body] == '-' || text[body] == ' ')) ++body;
    const std::string_view rest = text.substr(body, longest_key);
    const size_t dashes = rest.find("----");
    if (dashes != std::string_view::npos && rest.substr(dashes, 12).find("END") <= 6) {
      if (!holds_key(rest.substr(0, dashes))) return 0;
      const size_t line = std::min(text.substr(0, std::min(text.size(), body + dashes + 128)).find("----", body + dashes + 7), text.size());
      size_t end = std::min(line, body + dashes + longest_label + 12);
      while (end < text.size() && text[end] == '-') ++end;
      out.push_back({PrivacyClass::secret, "pem", begin, end, 0.99F, true});
      return end;
    }
    if (!holds_key(rest.substr(0, dashes))) return 0;
    out.push_back({PrivacyClass::secret, "pem", begin, text.size(), 0.95F, true});
    return text.size();
  }

  // Some base64 stands there: not "..." of a manual, nor a sentence about the mark.
  static bool holds_key(std::string_view body) {
    size_t run = 0;
    for (const char c : body.substr(0, 2048)) {
      const bool base64 = is_alnum(static_cast<unsigned char>(c)) || c == '+' || c == '/' || c == '=';
      run = base64 ? run + 1 : 0;
      if (run >= 24) return true;
    }
    return false;
  }

  static size_t find_putty(std::string_view text, size_t after, std::vector<Hit>& out) {
    const size_t label = text.substr(0, std::min(text.size(), after + longest_head)).find("Private-Lines:", after);
    if (label == std::string_view::npos) return 0;
    const size_t begin = text.find('\n', label);
    if (begin == std::string_view::npos) return 0;
    size_t end = begin + 1;
    while (end < text.size() && end - begin < longest_key) {
      const size_t line = std::min(text.find('\n', end), text.size());
      const std::string_view content = text.substr(end, line - end);
      if (content.empty() || content.find_first_of(" :") != std::string_view::npos) break;
      end = std::min(line + 1, text.size());
    }
    if (end - begin < 24) return 0;
    out.push_back({PrivacyClass::secret, "putty_key", begin + 1, text[end - 1] == '\n' ? end - 1 : end, 0.98F, true});
    return end;
  }

  AhoCorasick marks_;
};

}  // namespace

std::unique_ptr<Detector> make_key_block_detector() { return std::make_unique<KeyBlockDetector>(); }

}  // namespace credential
