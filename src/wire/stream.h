// stream: the bytes of one accepted connection, over TCP or a unix socket, plain or in TLS.
#pragma once
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>
#include "core/core.h"

namespace asio = boost::asio;
using boost::system::error_code;

// All operations end by calling back on the thread that runs the socket's context. One read and one write may be under way at once.
class ByteStream {
 public:
  using Socket = asio::generic::stream_protocol::socket;
  using Done = std::function<void(const error_code&, size_t bytes)>;
  explicit ByteStream(Socket socket) : socket_(std::move(socket)) {}
  virtual ~ByteStream() = default;
  virtual void open(Done done) = 0;                                    // the handshake, if there is one
  virtual void read(asio::mutable_buffer into, Done done) = 0;         // what there is
  virtual void write(asio::const_buffer bytes, Done done) = 0;         // what is taken at once
  virtual void finish(Done done) = 0;                                  // tells the peer that nothing more comes; no read may be under way
  virtual Socket& socket() { return socket_; }

 protected:
  Socket socket_;
};

class TlsFiles;                                                        // a certificate chain and its key, read
Result<std::shared_ptr<TlsFiles>> read_tls_files(const std::string& cert_file, const std::string& key_file);
std::unique_ptr<ByteStream> make_stream(ByteStream::Socket socket, const std::shared_ptr<TlsFiles>& tls);  // null: plain
