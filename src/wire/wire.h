// wire: HTTP and the API dialects. Sees only chat/.
#pragma once
#include <memory>
#include <stop_token>
#include <string>
#include <vector>
#include "chat/chat.h"
#include "core/core.h"

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                       // 0: any free one
  int max_connections = 64;
  size_t max_body_bytes = size_t{32} << 20;
  int header_timeout_s = 30;
  std::vector<std::string> api_keys;     // empty: no key asked for
  std::function<void(const std::string& host, int port)> listening;  // called once the port is open
};
// Serves until `stop`; then answers what is running and returns.
Status serve(Completer& completer, const ServerOptions& options, std::stop_token stop);
