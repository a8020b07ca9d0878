// http: one request to a hub through libcurl: redirects by hand, the token to its own origin only, stoppable at once.
#pragma once
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include "store/store.h"

namespace store {

enum class Fault : uint8_t { none, unreachable, cut, stopped, refused };  // refused: the sink said no

struct HttpReply {
  long status = 0;
  std::map<std::string, std::string> headers;  // lower-case names; of the first answer too, where a redirect's target has none of that name
  std::string body;                            // when there is no sink
  Fault fault = Fault::none;
  std::string fault_text;                      // host and reason; no query, no token
  long retry_after_s = 0;
};

struct HttpRequest {
  std::string url;
  bool head = false;
  size_t offset = 0;                           // > 0 asks for the rest of the file
  size_t max_body_bytes = size_t{64} << 20;    // for `body`
  std::function<bool(const HttpReply&, std::string_view)> sink;  // bytes of a 2xx answer; false ends the request
};

class HttpClient {
 public:
  HttpClient(const StoreOptions& options, std::stop_token stop) : options_(options), stop_(std::move(stop)) {}
  HttpReply run(const HttpRequest& request) const;
  bool sleep_ms(long ms) const;                // false when stopped
  const std::stop_token& stop() const { return stop_; }
  const StoreOptions& options() const { return options_; }

 private:
  const StoreOptions& options_;
  std::stop_token stop_;
};

}  // namespace store
