// listen: opens the port or unix socket that the server accepts from, and refuses one that strangers could reach unasked.
#pragma once
#include <boost/asio/basic_socket_acceptor.hpp>
#include "wire/stream.h"
#include "wire/wire.h"

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

struct Listener {
  Acceptor acceptor;
  int port = 0;
  std::string unix_path;  // to be removed at the end; "" over TCP
};
Result<Listener> listen_on(asio::io_context& context, const ServerOptions& options);
