// networks: IPv4 and IPv6 addresses and ranges, hardware addresses.
#include <arpa/inet.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include "privacy/detect/contact/contact.h"

namespace contact {
namespace {

struct Address4 { std::array<uint8_t, 4> bytes; size_t end; };

// Four numbers up to 255 without needless zeros.
bool read_address4(std::string_view text, size_t at, Address4& out) {
  for (size_t part = 0; part < 4; ++part) {
    unsigned value = 0;
    size_t n = 0;
    while (at + n < text.size() && digit(text[at + n]) && n < 4) value = value * 10 + static_cast<unsigned>(text[at + n] - '0'), ++n;
    if (n == 0 || n > 3 || value > 255 || (n > 1 && text[at] == '0')) return false;
    out.bytes[part] = static_cast<uint8_t>(value);
    at += n;
    if (part == 3) break;
    if (at >= text.size() || text[at] != '.') return false;
    ++at;
  }
  out.end = at;
  return true;
}

bool is_internal4(const std::array<uint8_t, 4>& b) {
  return b[0] == 10 || b[0] == 127 || b[0] == 0 || (b[0] == 172 && b[1] >= 16 && b[1] < 32) || (b[0] == 192 && b[1] == 168) ||
         (b[0] == 169 && b[1] == 254) || (b[0] == 100 && b[1] >= 64 && b[1] < 128) || b[0] >= 224;
}

bool is_internal6(const std::array<uint8_t, 16>& b) {
  const bool zeros = std::all_of(b.begin(), b.begin() + 15, [](uint8_t x) { return x == 0; });
  if (zeros && b[15] <= 1) return true;  // :: and ::1
  const bool mapped = std::all_of(b.begin(), b.begin() + 10, [](uint8_t x) { return x == 0; }) && b[10] == 0xFF && b[11] == 0xFF;
  if (mapped) return is_internal4({b[12], b[13], b[14], b[15]});
  return (b[0] & 0xFE) == 0xFC || (b[0] == 0xFE && (b[1] & 0xC0) == 0x80) || b[0] == 0xFF;
}

// "/24" behind an address.
size_t range_end(std::string_view text, size_t end, unsigned most) {
  if (end + 1 >= text.size() || text[end] != '/' || !digit(text[end + 1])) return end;
  size_t at = end + 1;
  unsigned bits = 0;
  while (at < text.size() && digit(text[at]) && at - end < 4) bits = bits * 10 + static_cast<unsigned>(text[at++] - '0');
  return bits <= most && (at >= text.size() || !(alnum(text[at]) || text[at] == '.')) ? at : end;
}

class IpDetector final : public Detector {
 public:
  explicit IpDetector(LabelBook& book)
      : version_(book.add({"version",
                           "versions",
                           "versionadded",
                           "versionchanged",
                           "deprecated",
                           "objectidentifier",
                           "ver",
                           "release",
                           "build",
                           "firmware",
                           "driver",
                           "kernel",
                           "assemblyversion",
                           "fileversion",
                           "版本",
                           "版",
                           "oid",
                           "section",
                           "sec",
                           "chapter",
                           "§",
                           "rfc",
                           "chrome",
                           "edg",
                           "opr",
                           "safari",
                           "upgrade to",
                           "upgraded to",
                           "python",
                           "nuget",
                           "package"})),
        strict_(book.add({"ip", "ips", "ipv6", "ip address", "ipv6 address", "addr", "inet6", "gateway", "位址"})),
        label_(book.add({"ip",     "ips",    "ipv4",   "ipv6", "ip address", "address", "host", "hosts",  "server", "addr", "gateway", "dns",
                         "client", "remote", "subnet", "ping", "from",       "位址",    "地址", "伺服器", "服务器", "主機", "主机"})) {}
  std::string_view name() const override { return "ip"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    for (size_t dot = text.find('.'); dot != std::string_view::npos;) {
      const size_t next = find4(page, dot, out);
      dot = text.find('.', next);
    }
    for (size_t colon = text.find(':'); colon != std::string_view::npos;) {
      const size_t next = find6(page, colon, out);
      colon = text.find(':', next);
    }
  }

 private:
  // The address whose first dot is at `dot`. Gives where to read on.
  size_t find4(const Page& page, size_t dot, std::vector<Hit>& out) const {
    const std::string_view text = page.text;
    size_t begin = dot;
    while (begin > 0 && dot - begin < 4 && digit(text[begin - 1])) --begin;
    Address4 address;
    if (begin == dot || !read_address4(text, begin, address)) return dot + 1;
    const char before = begin > 0 ? text[begin - 1] : ' ';
    const char after = address.end < text.size() ? text[address.end] : ' ';
    const bool goes_on = (after == '.' && address.end + 1 < text.size() && alnum(text[address.end + 1])) ||
                         (after == '-' && address.end + 1 < text.size() && letter(text[address.end + 1])) || after == '_' || alnum(after) ||
                         after == '+';
    const bool preceded = alnum(before) || before == '_' || before == '.' || ((before == '-' || before == '+') && begin >= 2 && alnum(text[begin - 2]));
    if (preceded || goes_on) return address.end;
    if (is_version(page, begin, address)) return address.end;
    const bool internal = is_internal4(address.bytes);
    const size_t end = range_end(text, address.end, 32);
    const bool small = address.bytes[0] < 10 && address.bytes[1] < 20 && address.bytes[2] < 20 && address.bytes[3] < 20;  // 1.2.3.4: versions look so
    const bool labelled =
        page.labels.before(label_, begin, 24) || port_follows(text, end) || before == '@' || (begin >= 3 && text.substr(begin - 3, 3) == "://");
    const auto& b = address.bytes;
    const bool oid = (b[0] == 1 && b[1] == 3 && b[2] == 6) || (b[0] == 2 && b[1] == 5) ||
                     (b[0] == 0 && (b[1] | b[2] | b[3]) != 0);  // an object identifier, a version
    if (oid && !labelled) return address.end;
    if (small && !labelled && end == address.end && !(address.bytes[0] == 1 && address.bytes[1] == address.bytes[0]) &&
        !(address.bytes[0] == 8 && address.bytes[1] == 8))
      return address.end;
    out.push_back({PrivacyClass::ip, internal ? "ipv4_private" : "ipv4", begin, end, labelled ? 0.95F : 0.85F, true, internal});
    return end;
  }
  static bool port_follows(std::string_view text, size_t end) { return end + 1 < text.size() && text[end] == ':' && digit(text[end + 1]); }

  bool is_version(const Page& page, size_t begin, const Address4& address) const {
    const std::string_view text = page.text;
    if (begin > 0 && (text[begin - 1] == 'v' || text[begin - 1] == 'V' || text[begin - 1] == '~' || text[begin - 1] == '^' ||
                      text[begin - 1] == '>' || text[begin - 1] == '#'))
      return true;
    if (begin > 1 && text[begin - 1] == '=' && text[begin - 2] == '=') return true;
    if (begin > 1 && text[begin - 1] == '/' && letter(text[begin - 2])) return true;  // Chrome/120.0.0.0
    if (page.labels.before(version_, begin, 16) && !page.labels.before(label_, begin, 12)) return true;
    return address.end + 1 < text.size() && text.substr(address.end).starts_with(".tar");
  }

  size_t find6(const Page& page, size_t colon, std::vector<Hit>& out) const {
    const std::string_view text = page.text;
    size_t begin = colon;
    while (begin > 0 && colon - begin < 5 && hex_digit(text[begin - 1])) --begin;
    size_t end = begin, colons = 0, doubled = 0, digits = 0;
    while (end < text.size() && end - begin < 46 && (hex_digit(text[end]) || text[end] == ':' || (text[end] == '.' && colons >= 2))) {
      if (text[end] == ':') ++colons, doubled += end > begin && text[end - 1] == ':';
      else digits += digit(text[end]);
      ++end;
    }
    const size_t scanned = std::max(end, colon + 1);
    while (end > begin && (text[end - 1] == '.' || (text[end - 1] == ':' && (end < begin + 2 || text[end - 2] != ':')))) --end;
    const size_t length = end - begin;
    if (colons < 2 || length < 3 || doubled > 1 || (doubled == 0 && colons != 7 && text.substr(begin, length).find('.') == std::string_view::npos))
      return scanned;
    const char before = begin > 0 ? text[begin - 1] : ' ', after = end < text.size() ? text[end] : ' ';
    if (alnum(before) || before == '_' || before == ':' || before == '.' || alnum(after) || after == '_' || after == ':') return scanned;
    std::array<uint8_t, 16> bytes;
    char buffer[48];
    std::memcpy(buffer, text.data() + begin, length);
    buffer[length] = '\0';
    if (inet_pton(AF_INET6, buffer, bytes.data()) != 1) return scanned;
    // "a::b" of C++ and "::" alone are no addresses; "::1" is.
    const size_t groups = length - colons;
    const bool weak = doubled == 1 && (digits == 0 || groups < 3) && !page.labels.before(strict_, begin, 24);
    const bool loopback = text.substr(begin, length) == "::1";
    if (weak && !(loopback && (before == ' ' || before == '[' || before == '\n' || before == '"' || before == '\''))) return scanned;
    if (end < text.size() && text[end] == '%') {  // a zone
      size_t zone = end + 1;
      while (zone < text.size() && zone - end < 17 && (alnum(text[zone]) || text[zone] == '-' || text[zone] == '_')) ++zone;
      if (zone > end + 1) end = zone;
    }
    const bool internal = is_internal6(bytes);
    const size_t stop = range_end(text, end, 128);
    out.push_back({PrivacyClass::ip, internal ? "ipv6_private" : "ipv6", begin, stop, 0.9F, true, internal});
    return std::max(stop, scanned);
  }

  LabelSet version_, strict_, label_;
};

class MacDetector final : public Detector {
 public:
  std::string_view name() const override { return "mac"; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    for (size_t at = text.find_first_of(":-."); at != std::string_view::npos; at = text.find_first_of(":-.", at + 1)) {
      const size_t wide = text[at] == '.' ? 4 : 2, groups = text[at] == '.' ? 3 : 6;
      if (at < wide) continue;
      const size_t begin = at - wide;
      size_t end = begin;
      if (!read(text, begin, wide, groups, text[at], end)) continue;
      const bool before = begin > 0 && (alnum(text[begin - 1]) || text[begin - 1] == text[at] || text[begin - 1] == '_' || text[begin - 1] == '*');
      const bool after =
          end < text.size() && (alnum(text[end]) || text[end] == '_' || (text[end] == text[at] && end + 1 < text.size() && hex_digit(text[end + 1])));
      if (before || after || !plausible(text.substr(begin, end - begin))) continue;
      const unsigned first = static_cast<unsigned>(std::stoul(std::string(text.substr(begin, 2)), nullptr, 16));
      const bool local = (first & 2) != 0;
      out.push_back({PrivacyClass::mac, local ? "mac_local" : "mac", begin, end, 0.9F, true});
      at = end - 1;
    }
  }

 private:
  static bool read(std::string_view text, size_t begin, size_t wide, size_t groups, char separator, size_t& end) {
    end = begin + groups * (wide + 1) - 1;
    if (end > text.size()) return false;
    for (size_t i = begin; i < end; ++i) {
      const bool border = (i - begin) % (wide + 1) == wide;
      if (border ? text[i] != separator : !hex_digit(text[i])) return false;
    }
    return true;
  }
  // Digits alone with dashes or dots are dates and numbers of other kinds; the broadcast and the empty address are nobody's.
  static bool plausible(std::string_view mac) {
    const bool letters = std::any_of(mac.begin(), mac.end(), letter);
    const bool same = std::all_of(mac.begin(), mac.end(), [&](char c) { return !alnum(c) || c == mac[0]; });
    return !same && (letters || mac[2] == ':');
  }
};

}  // namespace

std::unique_ptr<Detector> make_ip_detector(LabelBook& book) { return std::make_unique<IpDetector>(book); }
std::unique_ptr<Detector> make_mac_detector() { return std::make_unique<MacDetector>(); }

}  // namespace contact
