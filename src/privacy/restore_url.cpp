// restore_url: where URLs begin, where they end, and which host they have.
#include "privacy/restore_url.h"

#include <algorithm>
#include <array>

namespace {

constexpr size_t max_tail = 16, max_name = 80, max_host = 300;
constexpr char beyond_ascii = '\x7f';
constexpr std::array<std::string_view, 5> schemes = {"http:", "https:", "ftp:", "ws:", "wss:"};
constexpr std::array<std::string_view, 5> hostless_schemes = {"data:", "javascript:", "blob:", "file:", "vbscript:"};
constexpr std::array<std::string_view, 2> attributes = {"href=", "src="};  // wherever they stand
constexpr std::array<std::string_view, 7> tag_attributes = {"srcset=", "action=", "poster=", "background=", "ping=", "cite=", "data="};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool in_name(char c) { return is_alnum(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '@' || c == beyond_ascii; }

// "host.tld", "host.tld:8080", "10.0.0.1": what may stand before a path without a scheme in front.
bool is_host_name(std::string_view name) {
  if (name.size() >= max_name) return true;  // too long to tell
  if (const size_t port = name.rfind(':'); port != std::string_view::npos) name = name.substr(0, port);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view last = name.substr(dot + 1);
  const bool numeric = std::all_of(name.begin(), name.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  if (numeric) return std::count(name.begin(), name.end(), '.') == 3;
  return last.size() >= 2 && std::any_of(last.begin(), last.end(), [](char c) { return !(c >= '0' && c <= '9'); });
}

bool matches(std::string_view host, std::string_view listed) {
  if (listed.starts_with("*.")) listed.remove_prefix(1);
  std::string entry;
  for (const char c : listed) entry += lower(c);
  return entry.starts_with('.') ? host.ends_with(entry) && host.size() > entry.size() : host == entry;
}

}  // namespace

void UrlContext::leave() {
  where_ = Where::outside;
  reads_host_ = allowed_ = denied_ = false;
  tail_.clear();
  name_.clear();
}

void UrlContext::end() {
  leave();
  in_tag_ = false;
}

void UrlContext::begin(Where where, bool reads_host) {
  where_ = where;
  reads_host_ = reads_host;
  allowed_ = denied_ = false;
  host_.clear();
  depth_ = 0;
}

void UrlContext::read(char32_t code_point) {
  char c = code_point < 0x7f ? lower(static_cast<char>(code_point)) : beyond_ascii;
  if (c == '\\') c = '/';
  if (c == '>') in_tag_ = false;
  else if (tail_is("<") && is_alnum(c)) in_tag_ = true;
  if (where_ == Where::attribute_start && !is_space(c)) {
    where_ = Where::attribute;
    quote_ = c == '"' || c == '\'' || c == '`' ? c : '\0';
    if (quote_ != 0) return;
  }
  if (inside() && ended_by(c)) {
    leave();
    tail_ = c;
    return;
  }
  if (c == '=') {
    while (!tail_.empty() && is_space(tail_.back())) tail_.pop_back();
  }
  tail_ += c;
  if (tail_.size() > max_tail) tail_.erase(0, 1);
  if (!inside()) look_for_start(c);
  else look_for_host(c);
  if (!in_name(c)) name_.clear();
  else if (name_.size() < max_name) name_ += c;
}

bool UrlContext::ended_by(char c) {
  switch (where_) {
    case Where::bare: return is_space(c) || c == '"' || c == '<' || c == '>' || c == '`';
    case Where::link:
      if (c == '(') ++depth_;
      if (c == ')' && depth_-- == 0) return true;
      return c == '\n' && tail_is("\n");
    case Where::attribute: return quote_ != 0 ? c == quote_ : is_space(c) || c == '>';
    default: return false;
  }
}

void UrlContext::look_for_start(char c) {
  const auto ends = [&](std::string_view text) { return tail_is(text); };
  if (ends("](") || ends("url(")) return begin(Where::link, false);
  const bool loads = std::any_of(attributes.begin(), attributes.end(), ends) || (in_tag_ && std::any_of(tag_attributes.begin(), tag_attributes.end(), ends));
  if (loads) return begin(Where::attribute_start, false);
  if (ends("//") || std::any_of(schemes.begin(), schemes.end(), ends)) return begin(Where::bare, true);
  if (std::any_of(hostless_schemes.begin(), hostless_schemes.end(), ends)) {
    begin(Where::bare, false);
    denied_ = true;
    return;
  }
  if (ends("www.") && (name_ == "www" || (name_.size() > 3 && !is_alnum(name_[name_.size() - 4])))) {
    begin(Where::bare, true);
    host_ = "www.";
    return;
  }
  if ((c == '/' || c == '?' || c == '#') && is_host_name(name_)) {
    begin(Where::bare, true);
    host_ = name_;
    decide_host();
  }
}

void UrlContext::look_for_host(char c) {
  const auto ends = [&](std::string_view text) { return tail_is(text); };
  denied_ = denied_ || std::any_of(hostless_schemes.begin(), hostless_schemes.end(), ends);
  if (denied_) return;
  if (tail_is("//")) {  // also a URL inside a URL: whoever follows the outer one may be sent on
    reads_host_ = true;
    allowed_ = false;
    host_.clear();
    return;
  }
  if (!reads_host_) {  // a path, or a link's first characters: "//" or "scheme://" may yet come, unless it is of this very place
    const bool path = tail_.size() >= 2 && tail_[tail_.size() - 2] == '/' && c != '/';
    denied_ = !allowed_ && (path || c == '?' || c == '#');
    return;
  }
  if (c == '/' && host_.empty()) return;
  if (c == '/' || c == '?' || c == '#') return decide_host();
  host_ += c;
  denied_ = host_.size() > max_host;
}

void UrlContext::decide_host() {
  reads_host_ = false;
  std::string_view host = host_;
  if (const size_t at = host.rfind('@'); at != std::string_view::npos) host = host.substr(at + 1);
  if (const size_t port = host.find(':'); port != std::string_view::npos) host = host.substr(0, port);
  allowed_ = !host.empty() && rules_->urls_allowlist && std::any_of(rules_->url_hosts.begin(), rules_->url_hosts.end(), [&](const std::string& listed) { return matches(host, listed); });
  denied_ = !allowed_;
}
