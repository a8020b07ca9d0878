// files: lines of credential files: crypt hashes of shadow and htpasswd, .pgpass, .netrc, Kubernetes secrets, docker logins.
#include <re2/re2.h>
#include <algorithm>
#include <array>
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/shape.h"
#include "privacy/detect/secrets/tokens.h"

namespace credential {

namespace {

size_t line_end(std::string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

// $6$salt$hash, $2b$10$…, $apr1$…, $argon2id$v=19$…: from "$" to the end of the hash.
class HashFinder {
 public:
  void find(std::string_view text, std::vector<Hit>& out) const {
    size_t done = 0;
    for (size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
      if (at < done || (at > 0 && text[at - 1] == '$')) continue;
      const std::string_view rest = text.substr(at, 300);
      re2::StringPiece got, input(rest.data(), rest.size());
      if (!pattern_.Match(input, 0, input.size(), RE2::ANCHOR_START, &got, 1)) continue;
      if (got.size() < 20 || is_stand_in(rest.substr(3, got.size() - 3))) continue;
      done = at + got.size();
      out.push_back({PrivacyClass::secret, "password_hash", at, done, 0.95F, true});
    }
  }

 private:
  RE2 pattern_{
      R"(\$(?:[156]\$(?:rounds=\d{1,9}\$)?[\w./-]{1,20}\$[\w./]{20,90}|y\$[\w./]{1,8}\$[\w./]{1,90}\$[\w./]{40,50}|gy\$[\w./$]{40,120}|2[abxy]\$\d\d\$[\w./]{53}|apr1\$[\w./]{1,8}\$[\w./]{22}|argon2(?:id|i|d)\$v=\d+\$[\w=,]{5,40}\$[\w+/]{8,90}\$[\w+/]{16,130}|pbkdf2(?:-\w+)?\$\d+\$[\w+/.]{8,60}\$[\w+/.]{16,90}|scrypt\$[\w=,]{3,40}\$[\w+/]{8,60}\$[\w+/=]{16,130}|7\$[\w./$]{40,120}|P\$[\w./]{31}|H\$[\w./]{31})=?)"};
};

// host:port:database:user:password, alone on its line.
void find_pgpass(std::string_view text, size_t begin, size_t end, std::vector<Hit>& out) {
  std::array<size_t, 4> colons{};
  size_t n = 0;
  for (size_t at = begin; at < end && n < 4; ++at) {
    const char c = text[at];
    if (is_space(static_cast<unsigned char>(c)) || c == '"' || c == '/' || c == '(' || c == ',') return;
    if (c == ':' && (at == begin || text[at - 1] != '\\')) colons[n++] = at;
  }
  if (n < 4) return;
  const std::string_view host = text.substr(begin, colons[0] - begin), port = text.substr(colons[0] + 1, colons[1] - colons[0] - 1),
                         password = text.substr(colons[3] + 1, end - colons[3] - 1);
  const bool star = port == "*";
  const bool number = port.size() >= 4 && port.size() <= 5 && std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!(star || number) || host.empty() || colons[2] == colons[1] + 1 || colons[3] == colons[2] + 1) return;
  if (password.empty() || password.size() > 128 || password.find_first_of(" \t:") != std::string_view::npos || password[0] == '$' || password[0] == '<') return;
  if (host[0] == '[' || (star && host == "*" && password == "*")) return;
  out.push_back({PrivacyClass::secret, "pgpass", colons[3] + 1, end, 0.9F, true});
}

// The indented lines behind "data:" and "stringData:" of a manifest whose kind is Secret.
void find_kubernetes(std::string_view text, std::vector<Hit>& out) {
  constexpr size_t reach = 32 << 10;
  size_t read_to = 0;
  for (size_t kind = text.find("kind: Secret"); kind != std::string_view::npos; kind = text.find("kind: Secret", std::max(kind + 12, read_to))) {
    // The manifest reaches from one "---" line to the next.
    const size_t from = std::max(read_to, kind > reach ? kind - reach : 0);
    const size_t before = text.substr(from, kind - from).rfind("\n---");
    const size_t begin = before == std::string_view::npos ? from : from + before;
    const size_t end = std::min({text.substr(0, std::min(text.size(), kind + reach)).find("\n---", kind), text.size(), kind + reach});
    bool inside = false;
    size_t indent = 0;
    for (size_t at = begin; at < end; at = line_end(text, at) + 1) {
      const std::string_view line = text.substr(at, std::min(line_end(text, at), end) - at);
      const size_t start = line.find_first_not_of(' ');
      if (start == std::string_view::npos || line[start] == '#') continue;
      const std::string_view content = line.substr(start);
      if (content.starts_with("data:") || content.starts_with("stringData:")) { inside = true; indent = start; continue; }
      if (inside && start <= indent) inside = false;
      const size_t colon = content.find(": ");
      if (!inside || colon == std::string_view::npos) continue;
      std::string_view value = content.substr(colon + 2);
      while (!value.empty() && (is_space(static_cast<unsigned char>(value.back())) || value.back() == '"' || value.back() == '\'')) value.remove_suffix(1);
      while (!value.empty() && (is_space(static_cast<unsigned char>(value.front())) || value.front() == '"' || value.front() == '\'')) value.remove_prefix(1);
      if (value.size() < 4 || is_stand_in(value) || value[0] == '|' || value[0] == '>') continue;
      const size_t from = static_cast<size_t>(value.data() - text.data());
      out.push_back({PrivacyClass::secret, "kubernetes_secret", from, from + value.size(), 0.9F});
    }
    read_to = end;
  }
}

// "auth": "BASE64 of user:password"
void find_docker(std::string_view text, std::vector<Hit>& out) {
  for (size_t at = text.find("\"auth\""); at != std::string_view::npos; at = text.find("\"auth\"", at + 6)) {
    size_t begin = at + 6;
    while (begin < text.size() && begin < at + 16 && (is_space(static_cast<unsigned char>(text[begin])) || text[begin] == ':')) ++begin;
    if (begin >= text.size() || text[begin] != '"') continue;
    const size_t end = text.substr(0, std::min(text.size(), begin + 4096)).find('"', begin + 1);
    if (end == std::string_view::npos || end - begin < 9) continue;
    const std::string_view value = text.substr(begin + 1, end - begin - 1);
    if (decode_base64(value).find(':') == std::string::npos) continue;
    out.push_back({PrivacyClass::secret, "docker_auth", begin + 1, end, 0.95F, true});
  }
}

// The private members of a JSON Web Key.
void find_web_key(std::string_view text, std::vector<Hit>& out) {
  size_t done = 0;
  for (size_t type = text.find("\"kty\""); type != std::string_view::npos; type = text.find("\"kty\"", type + 5)) {
    const size_t begin = std::max(done, type > 4096 ? type - 4096 : 0), end = std::min(text.size(), type + 4096);
    for (const std::string_view member : {"\"d\"", "\"p\"", "\"q\"", "\"dp\"", "\"dq\"", "\"qi\"", "\"k\""}) {
      for (size_t at = text.substr(0, end).find(member, begin); at != std::string_view::npos; at = text.substr(0, end).find(member, at + 1)) {
        size_t open = at + member.size();
        while (open < end && (is_space(static_cast<unsigned char>(text[open])) || text[open] == ':')) ++open;
        if (open >= end || text[open] != '"') continue;
        const size_t close = text.substr(0, std::min(text.size(), open + 2048)).find('"', open + 1);
        if (close == std::string_view::npos || close - open < 20 || is_stand_in(text.substr(open + 1, close - open - 1))) continue;
        out.push_back({PrivacyClass::secret, "json_web_key", open + 1, close, 0.95F, true});
      }
    }
    done = end;
    type = std::max(type, end > 5 ? end - 5 : 0);
  }
}

class FileDetector final : public Detector {
 public:
  std::string_view name() const override { return "credential_file"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    hashes_.find(page.text, out);
    for (size_t at = 0; at < page.text.size();) {
      size_t end = line_end(page.text, at);
      const size_t next = end + 1;
      if (end > at && page.text[end - 1] == '\r') --end;
      if (end - at >= 9 && end - at <= 400 && page.text[at] != '#') find_pgpass(page.text, at, end, out);
      at = next;
    }
    find_kubernetes(page.text, out);
    find_docker(page.text, out);
    find_web_key(page.text, out);
  }

 private:
  HashFinder hashes_;
};

}  // namespace

std::unique_ptr<Detector> make_file_detector() { return std::make_unique<FileDetector>(); }

}  // namespace credential
