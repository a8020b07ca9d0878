// http: HTTP/1.1 messages: reads one request from a socket within limits, writes heads and whole answers.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
#include "wire/socket.h"
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

// A request that could not be read. status 0: the connection is over and there is nobody to answer.
struct ReadFailure {
  int status = 0;
  std::string message;
};

// Reads the requests of one connection, one after another; bytes behind a request wait for the next call.
class RequestReader {
 public:
  // `wake_fd` becoming readable ends the wait for a new request.
  RequestReader(const Socket& socket, const ServerOptions& options, int wake_fd) : socket_(socket), options_(options), wake_fd_(wake_fd) {}
  std::variant<HttpRequest, ReadFailure> next();

 private:
  bool receive(Clock::time_point deadline, int wake_fd);
  const Socket& socket_;
  const ServerOptions& options_;
  int wake_fd_;
  std::string buffered_;
};

std::string_view reason_phrase(int status);
// The status line and headers, with the empty line. Content-Length or Transfer-Encoding are the caller's.
std::string render_head(int status, const Headers& headers);
// Control characters and non-ASCII become '?', and no more than `limit` characters stay.
std::string header_safe(std::string_view text, size_t limit);
std::string percent_decode(std::string_view text);
