// server_options: keys from their file, a log into one, limits and names as they are.
#include "app/server_options.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include "core/mapped_file.h"

namespace {

// One key a line; blank lines and those that begin with '#' are none.
Status read_keys(const std::string& path, std::vector<std::string>& keys) {
  TRY(const std::string text, read_file(path, size_t{1} << 20));
  std::istringstream lines(text);
  const size_t before = keys.size();
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.pop_back();
    if (!line.empty() && line.front() != '#') keys.push_back(line);
  }
  if (keys.size() == before) return Error{Code::invalid_request, "cannot read API keys: " + path + ": at least one expected, none found"};
  return ok_status();
}

// Lines as they come, each at once, so that `tail -f` and a log rotation by copying both work.
Result<std::function<void(const std::string&)>> open_log(const std::string& path) {
  std::FILE* const file = path == "-" ? stdout : std::fopen(path.c_str(), "ae");
  if (file == nullptr) return Error{Code::io, "cannot write the log: " + path + ": " + std::strerror(errno)};
  const auto shared = std::shared_ptr<std::FILE>(file, [](std::FILE* f) {
    if (f != stdout) std::fclose(f);
  });
  return std::function<void(const std::string&)>([shared](const std::string& line) {
    const std::string whole = line + "\n";
    std::fwrite(whole.data(), 1, whole.size(), shared.get());
    std::fflush(shared.get());
  });
}

}  // namespace

Result<ServerOptions> server_options(const Options& options) {
  ServerOptions server;
  server.host = options.host;
  server.port = options.port;
  server.insecure = options.insecure;
  server.tls_cert_file = options.tls_cert_file;
  server.tls_key_file = options.tls_key_file;
  server.max_connections = options.max_connections;
  server.max_running = options.max_running;
  server.max_body_bytes = options.max_body_bytes;
  server.write_timeout_s = options.write_timeout_s;
  server.ping_interval_s = options.ping_interval_s;
  server.drain_timeout_s = options.drain_timeout_s;
  server.api_keys = options.api_keys;
  if (!options.api_key_file.empty()) TRY_STATUS(read_keys(options.api_key_file, server.api_keys));
  server.cors_origins = options.cors_origins;
  server.aliases = options.aliases;
  server.reasoning_field = options.reasoning_field;
  server.responses_db = options.responses_db;
  server.keep_volatile_prefix = options.keep_volatile_prefix;
  if (!options.log_file.empty()) {
    TRY(server.log, open_log(options.log_file));
  }
  return server;
}
