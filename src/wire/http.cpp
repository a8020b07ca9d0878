// http: Boost.Beast's parser within our limits, and the texts of answers.
#include "wire/http.h"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>

namespace http = boost::beast::http;

namespace {

constexpr size_t max_unparsed_bytes = size_t{16} << 10;  // of chunk heads and trailers

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

ApiError too_large(int status, const std::string& what, const char* code) { return {status, what, "invalid_request_error", "", code, Json()}; }

ApiError describe(const boost::system::error_code& error, const ServerOptions& options) {
  if (error == http::error::body_limit) return too_large(413, "the request body is larger than " + std::to_string(options.max_body_bytes) + " bytes", "request_too_large");
  if (error == http::error::header_limit) return too_large(431, "the request header is larger than " + std::to_string(options.max_header_bytes) + " bytes", "");
  return {400, "cannot read the request as HTTP/1.1: " + error.message(), "invalid_request_error", "", "", Json()};
}

}  // namespace

struct RequestParser::Parts {
  explicit Parts(const ServerOptions& options) : options(options) {}
  State fail(ApiError error) {
    failure = std::move(error);
    return State::failed;
  }
  const ServerOptions& options;
  http::request_parser<http::string_body> parser;
  ApiError failure;
  bool continued = false, checked = false;
};

std::string_view HttpRequest::header(std::string_view lower_name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& field) { return field.first == lower_name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

RequestParser::RequestParser(const ServerOptions& options) : parts_(std::make_unique<Parts>(options)) {
  parts_->parser.eager(true);
  parts_->parser.header_limit(static_cast<uint32_t>(std::min<size_t>(options.max_header_bytes, UINT32_MAX)));
  parts_->parser.body_limit(options.max_body_bytes);
}

RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::feed(std::string& bytes) {
  auto& [options, parser, failure, continued, checked] = *parts_;
  size_t used = 1;
  while (used > 0 && !bytes.empty()) {
    boost::system::error_code error;
    used = parser.put(boost::asio::buffer(bytes), error);
    bytes.erase(0, used);
    if (error && error != http::error::need_more) return parts_->fail(describe(error, options));
    if (parser.is_header_done() && !std::exchange(checked, true) && !header_accepted()) return State::failed;
    if (parser.is_done()) return State::done;
  }
  if (parser.is_header_done() && bytes.size() > max_unparsed_bytes) {
    return parts_->fail({400, "cannot read the request body: a chunk head is too long", "invalid_request_error", "", "", Json()});
  }
  return State::more;
}

// What Beast lets through and we do not.
bool RequestParser::header_accepted() {
  const auto& message = parts_->parser.get();
  const auto fields = std::distance(message.begin(), message.end()), limit = static_cast<std::ptrdiff_t>(parts_->options.max_headers);
  const auto coding = message.find(http::field::transfer_encoding);
  if (fields > limit) {
    parts_->fail(too_large(431, "the request has more than " + std::to_string(limit) + " header fields", ""));
  } else if (coding != message.end() && (message.count(http::field::transfer_encoding) > 1 || lower_case(view(coding->value())) != "chunked")) {
    parts_->fail({501, "the request body has a transfer coding other than chunked", "invalid_request_error", "", "", Json()});
  } else {
    return true;
  }
  return false;
}

bool RequestParser::in_body() const { return parts_->parser.is_header_done(); }
size_t RequestParser::body_bytes() const { return parts_->parser.get().body().size(); }
const ApiError& RequestParser::failure() const { return parts_->failure; }

bool RequestParser::wants_continue() {
  if (!in_body() || parts_->continued || lower_case(view(parts_->parser.get()[http::field::expect])) != "100-continue") return false;
  return parts_->continued = true;
}

HttpRequest RequestParser::take() {
  HttpRequest request;
  auto& message = parts_->parser.get();
  if (message.target().empty()) return request;  // of a header that was refused halfway the first line is known
  request.method = std::string(view(message.method_string()));
  const std::string_view target = view(message.target());
  request.path = percent_decode(target.substr(0, target.find_first_of("?#")));
  if (const size_t mark = target.find('?'); mark != std::string_view::npos) request.query = target.substr(mark + 1);
  for (const auto& field : message) request.headers.emplace_back(lower_case(view(field.name_string())), std::string(view(field.value())));
  request.http11 = message.version() >= 11;
  request.keep_alive = message.keep_alive();
  if (parts_->parser.is_done()) request.body = std::move(message.body());
  return request;
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
    case 429: return "Too Many Requests";
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

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}
