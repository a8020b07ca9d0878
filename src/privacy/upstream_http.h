// upstream_http: one POST to one address through libcurl: TLS verified, no redirects, no headers but ours, stopped at once.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

struct HttpLimits {
  int connect_ms = 10'000;
  int idle_ms = 60'000;               // without a byte of the answer
  int total_ms = 600'000;
  size_t max_bytes = size_t{64} << 20;  // of the answer
};

struct HttpOutcome {
  enum class Kind : uint8_t { whole, unreachable, untrusted, cut, timeout, too_long, stopped, refused } kind = Kind::whole;  // refused: by the reader
  int status = 0;                     // 0: no answer came
  bool sent = false;                  // some of the body has left
  int retry_after_s = -1;             // -1: not said
  int64_t first_byte_us = 0, total_us = 0;
};

struct HttpPost {
  std::string_view body;
  std::string_view secret_header;     // "Authorization: Bearer …", or ""; wiped from memory after use
  std::vector<std::string> headers;   // the others, all there are
};

// What reads the bytes of a 2xx answer. Its times end an answer early that has all it needs.
struct HttpReader {
  std::function<bool(std::string_view)> bytes;        // false: enough, or nobody listens
  std::function<int()> patience_ms = [] { return -1; };  // how long to wait for the end of an answer that is complete; -1: it is not
};

// Keeps connections for the next request. Safe from many threads.
class HttpPoster {
 public:
  // https anywhere, http to this machine alone; no user, query or fragment.
  static Result<std::unique_ptr<HttpPoster>> make(const std::string& base_url, HttpLimits limits);
  ~HttpPoster();
  HttpOutcome post(const std::string& path, const HttpPost& post, const HttpReader& reader, const std::stop_token& stop);

 private:
  struct Parts;
  explicit HttpPoster(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};
