// listen: TCP by numeric address, and unix sockets with their stale leftovers.
#include "wire/listen.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Endpoint = asio::generic::stream_protocol::endpoint;
constexpr std::string_view unix_prefix = "unix:";
constexpr int backlog = 512;

Error refuse(const std::string& where, const std::string& seen, Code code = Code::io) { return {code, "cannot listen on " + where + ": " + seen}; }

// Whether a server answers on the socket at `path`; a killed one leaves its file behind.
bool answers(asio::io_context& context, const Endpoint& at) {
  error_code error;
  ByteStream::Socket probe(context);
  probe.connect(at, error);
  return !error;
}

Status make_room(asio::io_context& context, const std::string& where, const std::string& path, const Endpoint& at) {
  struct stat seen {};
  if (lstat(path.c_str(), &seen) != 0) return ok_status();
  if (!S_ISSOCK(seen.st_mode)) return refuse(where, "a file that is no socket is there");
  if (answers(context, at)) return refuse(where, "another server answers there");
  if (unlink(path.c_str()) != 0) return refuse(where, error_code(errno, boost::system::system_category()).message());
  return ok_status();
}

Result<Listener> listen_unix(asio::io_context& context, const std::string& where) {
  const std::string path = where.substr(unix_prefix.size());
  error_code error;
  if (path.empty() || path.size() > 100) return refuse(where, "a path of 1 to 100 bytes expected");  // sun_path holds 104 on macOS
  const Endpoint at = asio::local::stream_protocol::endpoint(path);
  TRY_STATUS(make_room(context, where, path, at));
  Acceptor acceptor(context);
  if (acceptor.open(at.protocol(), error) || acceptor.bind(at, error)) return refuse(where, error.message());
  if (chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) return refuse(where, "its mode cannot be set to 0600");
  if (acceptor.listen(backlog, error)) return refuse(where, error.message());  // until now nobody could connect
  return Listener{std::move(acceptor), 0, path};
}

}  // namespace

Result<Listener> listen_on(asio::io_context& context, const ServerOptions& options) {
  if (options.host.starts_with(unix_prefix)) return listen_unix(context, options.host);
  const std::string where = options.host + ":" + std::to_string(options.port);
  if (options.port < 0 || options.port > 65535) return refuse(where, "a port from 0 to 65535 expected");
  error_code error;
  const auto address = asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
  if (error) return refuse(where, "a numeric address, localhost or unix:/path expected");
  if (!address.is_loopback() && options.api_keys.empty() && !options.insecure) {
    return refuse(where, "others could use it without an API key; give a key, or ask for an insecure server", Code::denied);
  }
  const asio::ip::tcp::endpoint at(address, static_cast<uint16_t>(options.port));
  Acceptor acceptor(context);
  if (acceptor.open(at.protocol(), error) || acceptor.set_option(asio::socket_base::reuse_address(true), error) || acceptor.bind(at, error) ||
      acceptor.listen(backlog, error)) {
    return refuse(where, error.message());
  }
  const Endpoint bound = acceptor.local_endpoint(error);
  asio::ip::tcp::endpoint read;
  if (error || bound.size() > read.capacity()) return refuse(where, "its port cannot be read");
  std::memcpy(read.data(), bound.data(), bound.size());
  read.resize(bound.size());
  return Listener{std::move(acceptor), read.port(), ""};
}
