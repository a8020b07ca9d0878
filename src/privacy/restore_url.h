// restore_url: whether a place in an answer lies in a URL, read character by character with a bounded memory.
#pragma once
#include <string>
#include "privacy/policy.h"

// In doubt it is one: "scheme://", "//host", "www.", "data:", "host.tld/", the target of a markdown link or image, an HTML attribute that loads
// something, url( of CSS. Backslashes count as slashes, as browsers have it.
class UrlContext {
 public:
  explicit UrlContext(const Policy::Restore& rules) : rules_(&rules) {}
  void read(char32_t code_point);
  void end();                        // the string that it stood in is over
  bool inside() const { return where_ != Where::outside; }
  bool allowed() const { return inside() && allowed_ && !denied_; }  // the host is known and on the list

 private:
  enum class Where : uint8_t { outside, bare, link, attribute_start, attribute };
  bool ended_by(char c);
  void leave();
  void begin(Where where, bool reads_host);
  void look_for_start(char c);
  void look_for_host(char c);
  void decide_host();
  bool tail_is(std::string_view text) const { return std::string_view(tail_).ends_with(text); }
  const Policy::Restore* rules_;
  Where where_ = Where::outside;
  bool in_tag_ = false;              // of HTML
  char quote_ = 0;                   // that ends the attribute; 0: a space does
  int depth_ = 0;                    // of brackets inside a link's target
  bool reads_host_ = false, allowed_ = false;
  bool denied_ = false;              // for good: a host that is not listed, none at all, data:, javascript: and the like
  std::string host_;                 // so far, with what stands before an "@"
  std::string tail_;                 // last characters, in lower case
  std::string name_;                 // run of characters of a host's name just read
};
