// gate_config: [upstream.NAME]: where requests may go, and with which key.
#include <arpa/inet.h>
#include <sys/stat.h>
#include <algorithm>
#include <cstdlib>
#include "privacy/gate_config.h"

namespace {

constexpr std::string_view https = "https://", http = "http://";

bool is_loopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (host == "localhost") return true;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// "host", "host:port" or "[v6]:port"; nullopt when it is none of them.
std::optional<std::string> host_of(std::string_view authority) {
  std::string_view host = authority, port;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = authority.substr(1, close - 1), port = authority.substr(close + 1);
    in6_addr v6{};
    if (inet_pton(AF_INET6, std::string(host).c_str(), &v6) != 1 || (!port.empty() && port[0] != ':')) return std::nullopt;
  } else if (const size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon), port = authority.substr(colon);
  }
  const auto in_host = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':'; };
  if (host.empty() || !std::ranges::all_of(host, in_host)) return std::nullopt;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!port.empty() && (port.size() < 2 || port.size() > 6 || !std::ranges::all_of(port.substr(1), is_digit) || std::atoi(std::string(port.substr(1)).c_str()) > 65535)) return std::nullopt;
  return std::string(host);
}

Status read_url(const TomlPlace& place, std::string& out) {
  TRY(std::string url, read_text(place));
  if (const std::string wrong = wrong_with_url(url); !wrong.empty()) return place.error(wrong);
  while (url.ends_with('/')) url.pop_back();
  out = std::move(url);
  return ok_status();
}

Status read_models(const TomlPlace& place, std::vector<std::string>& out) {
  TRY(auto models, read_texts(place));
  if (models.empty()) return place.error("a list of one model or more expected");
  for (const std::string& model : models) {
    if (model.size() > 256) return place.error("a model's name has at most 256 bytes");
    if (std::ranges::count(models, model) > 1) return place.error("a model is named twice");
  }
  out = std::move(models);
  return ok_status();
}

// Whether a key file could be used: what the program will refuse when it starts is better known now.
Status check_key_file(const TomlPlace& place, const std::string& path, GateReading& reading) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    reading.note(place, "no such file yet");
    return ok_status();
  }
  if (!S_ISREG(info.st_mode)) return place.error("a file expected");
  if ((info.st_mode & 077) != 0) return place.error("others may read this file: chmod 600 it");
  return ok_status();
}

Status read_upstream(const TomlPlace& place, UpstreamOptions& upstream, GateReading& reading) {
  const auto key_file = [&](const TomlPlace& value) -> Status {
    TRY_STATUS(into_path(upstream.api_key_file, reading)(value));
    return check_key_file(value, upstream.api_key_file, reading);
  };
  const auto key_variable = [&](const TomlPlace& value) -> Status {
    TRY_STATUS(into_variable(upstream.api_key_env)(value));
    if (std::getenv(upstream.api_key_env.c_str()) == nullptr) reading.note(value, "this variable is not set here");
    return ok_status();
  };
  const auto literal_key = [](const TomlPlace& value) -> Status { return value.error("a key does not stand in a configuration: api_key_env = \"VARIABLE\" or api_key_file = \"FILE\" of mode 600"); };
  TRY_STATUS(read_table(place, {{"base_url", [&](const TomlPlace& value) { return read_url(value, upstream.base_url); }},
                                {"api_key", literal_key},
                                {"key", literal_key},
                                {"api_key_env", key_variable},
                                {"api_key_file", key_file},
                                {"models", [&](const TomlPlace& value) { return read_models(value, upstream.models); }},
                                {"trust", into_choice(upstream.trust, {"cloud", "private"})},
                                {"wire", into_choice(upstream.wire, {"openai", "anthropic"})},
                                {"timeout_s", into(upstream.timeout_s, 1, 86400)},
                                {"retries", into(upstream.retries, 0, 10)}}));
  if (upstream.base_url.empty()) return place.error("base_url is missing");
  if (upstream.models.empty()) return place.error("models is missing");
  if (!upstream.api_key_env.empty() && !upstream.api_key_file.empty()) return place.error("api_key_env and api_key_file are both given, one expected");
  return ok_status();
}

}  // namespace

std::string wrong_with_url(std::string_view url) {
  const bool safe = url.starts_with(https);
  if (!safe && !url.starts_with(http)) return "an address that begins with https:// expected";
  const std::string_view rest = url.substr(safe ? https.size() : http.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos) return "a key or password does not stand in an address";
  if (rest.find_first_of("?#\\ \"<>") != std::string_view::npos) return "an address without blanks, '?' and '#' expected";
  const auto host = host_of(authority);
  if (!host) return "https://HOST[:PORT][/PATH] expected";
  if (!safe && !is_loopback(*host)) return "http:// reaches this machine only, https:// expected for another host";
  return "";
}

Status read_upstreams(const TomlPlace& place, GateReading& reading) {
  TRY(const auto all, members(place));
  for (const auto& [name, inner] : all) {
    if (name == "local" || name == "auto") return inner.error("an upstream of another name expected, models here are called so");
    if (!is_policy_name(name)) return inner.error("a name of at most 64 letters, digits, '.', '_' and '-' expected");
    UpstreamOptions upstream;
    upstream.name = name;
    TRY_STATUS(read_upstream(inner, upstream, reading));
    reading.config.upstreams.push_back(std::move(upstream));
  }
  return ok_status();
}
