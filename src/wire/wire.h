// wire: HTTP and the API dialects. Sees only chat/.
#pragma once
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "chat/chat.h"
#include "core/core.h"

struct ServerOptions {
  std::string host = "127.0.0.1";        // a numeric address, "localhost", or "unix:/path" of a socket that only this user may open
  int port = 8080;                       // 0: any free one
  bool insecure = false;                 // lets a public address be used without an API key
  std::string tls_cert_file = {}, tls_key_file = {};  // PEM: a chain and its key; both or neither. TLS 1.2 and later
  int max_connections = 512;             // more are answered 503 with Retry-After
  int max_running = 128;                 // POST requests being answered, waiting ones included; more are answered 429 with Retry-After
  size_t max_body_bytes = size_t{32} << 20;
  size_t max_bodies_bytes = size_t{256} << 20;  // of all requests together; more are answered 503 with Retry-After
  size_t max_header_bytes = size_t{32} << 10;
  int max_headers = 100;                 // fields of one request
  int header_timeout_s = 30;             // from a request's first byte to the end of its header; the body must keep 16 KiB/s beside it
  int idle_timeout_s = 75;               // between two requests of one connection
  int write_timeout_s = 300;             // without one byte taken by the reader
  int ping_interval_s = 10;              // SSE comments while nothing else is sent
  int drain_timeout_s = 30;              // after `stop`, before running answers are cancelled
  std::vector<std::string> api_keys = {};     // each a key or sha256:HEX of one; empty: no key asked for
  // Browser origins that may call besides loopback ones and those of no web site (app://, vscode-webview://, …); "*": any.
  std::vector<std::string> cors_origins = {};
  // Other names for models: {"gpt-4o", "starter"}; "*" on the left: any name that is not there.
  std::vector<std::pair<std::string, std::string>> aliases = {};
  std::string reasoning_field = "reasoning_content";  // where thinking goes in chat completions: that, "reasoning", or "both"
  std::string responses_db = {};                      // SQLite file of stored Responses; empty: in memory
  // The completer is a privacy gate: what only it can judge (content that cannot be read, unknown roles) is left to it, an answer's first
  // byte waits for its RouteReport, and nothing in the log is spelled by a client.
  bool gated = false;
  bool keep_volatile_prefix = false;     // lines of known clients that change with every call stay in prompts
  std::function<void(const std::string& host, int port)> listening = {};  // called once the port is open; of a unix socket the port is 0
  std::function<bool()> ready = {};      // false: /health says that models are still loading; called from many threads
  // One JSON line for each answered request, without line end: never text of messages, never keys. Called from many threads.
  std::function<void(const std::string& line)> log = {};
};
// Serves until `stop`; then answers what is running and returns. Fails with io when the port or a TLS file cannot be had, with denied
// when the address is public and there is no key.
Status serve(Completer& completer, ServerOptions options, std::stop_token stop);
// A chat completion's body in neutral words, as a privacy gate is given it: with what is unknown in it, and no client beside it.
Result<ChatRequest> read_chat_request(std::string_view body);
