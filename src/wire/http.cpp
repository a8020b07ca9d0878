// http: Boost.Beast's parser fed from a socket with deadlines.
#include "wire/http.h"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>

namespace http = boost::beast::http;

namespace {

using Parser = http::request_parser<http::string_body>;
constexpr size_t receive_bytes = size_t{64} << 10;
constexpr size_t slowest_body_bytes_per_s = size_t{16} << 10;
constexpr size_t max_unparsed_bytes = size_t{16} << 10;  // of chunk heads and trailers

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

ReadFailure failure_of(const boost::system::error_code& error, const ServerOptions& options) {
  if (error == http::error::body_limit) return {413, "the request body is larger than " + std::to_string(options.max_body_bytes) + " bytes"};
  if (error == http::error::header_limit) return {431, "the request header is larger than " + std::to_string(options.max_header_bytes) + " bytes"};
  return {400, "cannot read the request as HTTP/1.1: " + error.message()};
}

HttpRequest take(Parser& parser) {
  auto& message = parser.get();
  HttpRequest request;
  request.method = std::string(view(message.method_string()));
  const std::string_view target = view(message.target());
  request.path = percent_decode(target.substr(0, target.find_first_of("?#")));
  if (const size_t mark = target.find('?'); mark != std::string_view::npos) request.query = target.substr(mark + 1);
  for (const auto& field : message) request.headers.emplace_back(lower(view(field.name_string())), std::string(view(field.value())));
  request.body = std::move(message.body());
  request.http11 = message.version() >= 11;
  request.keep_alive = message.keep_alive();
  return request;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view lower_name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& field) { return field.first == lower_name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

// Appends what has arrived to buffered_. False on a timeout, the end, or a wake.
bool RequestReader::receive(Clock::time_point deadline, int wake_fd) {
  if (socket_.wait(deadline, wake_fd) != Socket::Wait::readable) return false;
  const size_t before = buffered_.size();
  buffered_.resize(before + receive_bytes);
  const int count = socket_.receive(std::span(buffered_).subspan(before));
  buffered_.resize(before + static_cast<size_t>(std::max(count, 0)));
  return count != 0;
}

std::variant<HttpRequest, ReadFailure> RequestReader::next() {
  const auto now = Clock::now();
  while (buffered_.empty()) {
    if (!receive(now + std::chrono::seconds(options_.idle_timeout_s), wake_fd_)) return ReadFailure{};
  }
  Parser parser;
  parser.eager(true);
  parser.header_limit(static_cast<uint32_t>(std::min<size_t>(options_.max_header_bytes, UINT32_MAX)));
  parser.body_limit(options_.max_body_bytes);
  const auto start = Clock::now();
  const auto patience = std::chrono::seconds(options_.header_timeout_s);
  size_t received = 0;
  bool continued = false;
  while (true) {
    boost::system::error_code error;
    const size_t used = buffered_.empty() ? 0 : parser.put(boost::asio::buffer(buffered_), error);
    buffered_.erase(0, used);
    received += used;
    if (error && error != http::error::need_more) return failure_of(error, options_);
    if (parser.is_done()) return take(parser);
    const bool in_body = parser.is_header_done();
    if (in_body && buffered_.size() > max_unparsed_bytes) return ReadFailure{400, "cannot read the request body: a chunk head is too long"};
    if (in_body && !continued && lower(view(parser.get()[http::field::expect])) == "100-continue") {
      continued = true;
      if (!socket_.send_all("HTTP/1.1 100 Continue\r\n\r\n", patience, {})) return ReadFailure{};
    }
    if (used > 0 && !buffered_.empty()) continue;
    const auto allowance = in_body ? std::chrono::seconds(received / slowest_body_bytes_per_s) : std::chrono::seconds(0);
    if (receive(start + patience + allowance, -1)) continue;
    if (Clock::now() < start + patience + allowance) return ReadFailure{};  // the peer's end in the middle of a request
    return ReadFailure{408, in_body ? "the request body did not arrive in time" : "the request header did not arrive in time"};
  }
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return status >= 500 ? "Internal Server Error" : "Error";
  }
}

std::string render_head(int status, const Headers& headers) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += reason_phrase(status);
  out += "\r\n";
  for (const auto& [name, value] : headers) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  return out += "\r\n";
}

std::string header_safe(std::string_view text, size_t limit) {
  std::string out(text.substr(0, limit));
  for (char& c : out) c = c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}
