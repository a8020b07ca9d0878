// upstream: a model elsewhere, spoken to over HTTPS. What is sent is made here, from a clean request, and nothing else can be.
#pragma once
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>
#include "privacy/clean.h"

struct Sent { size_t bytes = 0; std::string sha256; int attempts = 0; };  // of the body; every attempt sends the same bytes
struct UpstreamFailure {
  enum class Kind : uint8_t { none, refused, timeout, broken, cancelled } kind = Kind::none;
  int status = 0;                    // the upstream's HTTP status, 0 when there was none
  std::string message;               // ours; never a text of the upstream
};
struct UpstreamAnswer {
  std::vector<Finish> finishes;      // one for each choice
  UpstreamFailure failure;           // kind none: all went well
  Sent sent;
  int64_t first_byte_us = 0, total_us = 0;
};

// Safe from many threads. Retries with backoff what failed before the first delta, with the same bytes; a circuit breaker stops it from
// hammering an upstream that is down.
class Upstream {
 public:
  static Result<std::unique_ptr<Upstream>> make(UpstreamOptions options);  // reads the key; fails when its file can be read by others
  virtual ~Upstream() = default;
  virtual const UpstreamOptions& options() const = 0;
  // The body it would send for `model` (without the upstream's name in front).
  virtual std::string body(const CleanRequest& request, const std::string& model, bool stream) const = 0;
  // Deltas arrive as they come, with placeholders in them; false stops it.
  virtual UpstreamAnswer send(const CleanRequest& request, const std::string& model, const ChoiceSink& sink, std::stop_token stop) = 0;
  virtual bool open() const = 0;     // false: the breaker has tripped, it is not being asked
};

// Server-sent events from bytes, however they are cut. Bounded: an event longer than `max_bytes` is an error.
class SseParser {
 public:
  explicit SseParser(size_t max_bytes = size_t{8} << 20) : max_bytes_(max_bytes) {}
  struct Event { std::string name, data; };
  // Whole events of `bytes`; false when `each` said so or an event is too long.
  bool add(std::string_view bytes, const std::function<bool(const Event&)>& each);

 private:
  size_t max_bytes_;
  std::string line_;
  Event event_;
  bool after_cr_ = false, any_line_ = false, has_data_ = false;
};
