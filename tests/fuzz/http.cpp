// http fuzz: any bytes as requests of one connection, whole and in pieces, with the server's limits; both readings must agree.
#include <cstdint>
#include <cstdlib>
#include "wire/http.h"

namespace {

struct Read {
  std::vector<HttpRequest> requests;
  int failed = 0;  // the status of what ended it
};

// Feeds `text` in pieces of `step` bytes, as a connection does.
Read read_all(std::string_view text, size_t step, const ServerOptions& options) {
  Read out;
  std::string buffered;
  auto parser = std::make_unique<RequestParser>(options);
  bool again = false;  // bytes are left behind a whole request
  while (again || !text.empty()) {
    if (!again) {
      buffered += text.substr(0, step);
      text.remove_prefix(std::min(step, text.size()));
    }
    again = false;
    const auto state = parser->feed(buffered);
    if (buffered.size() > options.max_header_bytes + (size_t{16} << 10) + step && state == RequestParser::State::more) std::abort();
    if (parser->body_bytes() > options.max_body_bytes) std::abort();
    if (state == RequestParser::State::failed) {
      out.failed = parser->failure().status;
      parser->take();
      return out;
    }
    if (state == RequestParser::State::more) continue;
    out.requests.push_back(parser->take());
    parser = std::make_unique<RequestParser>(options);
    again = !buffered.empty();
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ServerOptions options;
  options.max_body_bytes = 4096;
  options.max_header_bytes = 1024;
  options.max_headers = 10;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Read whole = read_all(text, std::max<size_t>(size, 1), options), pieces = read_all(text, 1 + size % 7, options);
  if (whole.requests.size() != pieces.requests.size()) std::abort();
  for (size_t i = 0; i < whole.requests.size(); ++i) {
    const HttpRequest &one = whole.requests[i], &other = pieces.requests[i];
    if (one.method != other.method || one.path != other.path || one.query != other.query || one.headers != other.headers || one.body != other.body) std::abort();
    if (one.body.size() > options.max_body_bytes || one.headers.size() > 10) std::abort();
  }
  for (const char c : header_safe(text, 64)) {
    if (c < ' ' || c > '~') std::abort();
  }
  if (percent_decode(text).size() > size) std::abort();
  return 0;
}
