// http: HTTP/1.1 messages: requests read from bytes within limits, heads of answers written.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "wire/errors.h"
#include "wire/wire.h"

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method, path;     // the path is percent-decoded and has no query
  std::string query;            // behind the question mark, as it came
  Headers headers;              // names in lower case
  std::string body;
  bool keep_alive = true;
  bool http11 = true;
  std::string_view header(std::string_view lower_name) const;  // "" when absent
};

// Reads one request from bytes as they arrive. Boost.Beast's parser with our limits.
class RequestParser {
 public:
  explicit RequestParser(const ServerOptions& options);
  ~RequestParser();
  enum class State : uint8_t { more, done, failed };
  State feed(std::string& bytes);          // takes what belongs to this request off the front
  bool in_body() const;                    // the header is complete
  size_t body_bytes() const;               // so far
  bool wants_continue();                   // true once: the client waits for 100 Continue before it sends the body
  const ApiError& failure() const;         // after failed
  HttpRequest take();                      // after done; after failed what is known of the header

 private:
  struct Parts;
  bool header_accepted();
  std::unique_ptr<Parts> parts_;
};

std::string_view reason_phrase(int status);
// The status line and headers, with the empty line. Content-Length or Transfer-Encoding are the caller's.
std::string render_head(int status, const Headers& headers);
// Control characters and non-ASCII become '?', and no more than `limit` characters stay.
std::string header_safe(std::string_view text, size_t limit);
std::string percent_decode(std::string_view text);
std::string lower_case(std::string_view text);
