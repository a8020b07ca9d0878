// scan: what in a text is sensitive. Findings are spans of the original text, whatever disguise it wears there.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

// In groups: secret | gov_id | financial | contact | person | network | health | custom | opaque | unscanned | low.
enum class PrivacyClass : uint8_t {
  secret, gov_id, card, iban, bank, crypto, phone, email, address, handle, person, dob, ip, mac, host, health, custom, opaque, unscanned,
  org, place, date, url, amount,
};
inline constexpr size_t n_privacy_classes = 24;
std::string_view name_of(PrivacyClass cls);
std::string_view group_of(PrivacyClass cls);
std::optional<PrivacyClass> class_named(std::string_view name);
std::vector<PrivacyClass> classes_named(std::string_view class_or_group);  // a class where both are named so; empty: no such name

struct Finding {
  PrivacyClass cls = PrivacyClass::secret;
  std::string kind;                  // finer: "us_ssn", "github", "mobile", a term's name
  std::string detector;              // which rule found it
  std::string view = "plain";        // how it was written: plain, folded, numerals, squeezed, base64, hex, percent, …
  size_t begin = 0, end = 0;         // bytes of the original text, at borders of characters; covers invisible ones inside
  float score = 0;                   // 0..1, see docs/privacy.md
  bool internal = false;             // addresses of private ranges and loopback
};

struct ScanLimits {
  size_t max_bytes = size_t{4} << 20;
  int decode_depth = 3;              // decoders inside one another
  int scan_ms = 2000;
};
// Words of the user's own. Folded like every text: case, width, look-alikes, spaces and invisible characters inside.
struct Term {
  std::string name;
  std::vector<std::string> terms;
  std::vector<std::string> terms_hmac;  // hexadecimal HMAC-SHA-256 of folded terms under hmac_key, as "LENGTH:HEX", the length in folded characters
  std::string hmac_key;
  std::vector<std::string> patterns;    // RE2
  bool allowed = false;                 // what lies wholly inside one is no finding
};
struct ScanOptions {
  std::string tiers = "abc";         // privacy.md 2.9
  ScanLimits limits;
  std::vector<Term> terms;
};

struct ScanReport {
  std::vector<Finding> findings;     // by begin; they do not overlap. A limit reached is one finding of class unscanned over the whole text
  std::vector<Finding> statements;   // of health, whoever they are about: they become findings where a person is found beside them
  int64_t us = 0;
};

// A model that marks spans; slower and better than rules at names and addresses. Called from many threads.
class SpanModel {
 public:
  struct Span { PrivacyClass cls; std::string kind; size_t begin, end; float score; };
  virtual ~SpanModel() = default;
  virtual Result<std::vector<Span>> spans(std::string_view text) = 0;
};

// Immutable and safe from many threads. No input takes more than linear time.
class Scanner {
 public:
  static Result<std::shared_ptr<const Scanner>> make(ScanOptions options, std::shared_ptr<SpanModel> model = nullptr);
  virtual ~Scanner() = default;
  virtual ScanReport scan(std::string_view text) const = 0;  // text that is not UTF-8 is unscanned
};
