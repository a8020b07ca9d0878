// stream: plain sockets, and TLS by OpenSSL through Asio.
#include "wire/stream.h"

#include <boost/asio/ssl.hpp>
#include <openssl/err.h>

namespace ssl = asio::ssl;

class TlsFiles {
 public:
  TlsFiles() : context(ssl::context::tls_server) {}
  ssl::context context;
};

namespace {

class PlainStream final : public ByteStream {
 public:
  using ByteStream::ByteStream;
  void open(Done done) override { done({}, 0); }
  void read(asio::mutable_buffer into, Done done) override { socket_.async_read_some(into, std::move(done)); }
  void write(asio::const_buffer bytes, Done done) override { socket_.async_write_some(bytes, std::move(done)); }
  void finish(Done done) override {
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    done(error, 0);
  }
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(Socket socket, std::shared_ptr<TlsFiles> files)
      : ByteStream(Socket(socket.get_executor())), files_(std::move(files)), stream_(std::move(socket), files_->context) {}
  Socket& socket() override { return stream_.next_layer(); }
  void open(Done done) override {
    stream_.async_handshake(ssl::stream_base::server, [done = std::move(done)](const error_code& error) { done(error, 0); });
  }
  void read(asio::mutable_buffer into, Done done) override { stream_.async_read_some(into, std::move(done)); }
  void write(asio::const_buffer bytes, Done done) override { stream_.async_write_some(bytes, std::move(done)); }
  void finish(Done done) override {
    stream_.async_shutdown([this, done = std::move(done)](const error_code&) {
      error_code error;
      socket().shutdown(Socket::shutdown_send, error);
      done(error, 0);
    });
  }

 private:
  std::shared_ptr<TlsFiles> files_;
  ssl::stream<Socket> stream_;
};

Error refuse(const char* what, const std::string& file, const error_code& error) {
  return {Code::io, std::string("cannot use the TLS ") + what + " " + file + ": " + error.message()};
}

}  // namespace

Result<std::shared_ptr<TlsFiles>> read_tls_files(const std::string& cert_file, const std::string& key_file) {
  if (cert_file.empty() != key_file.empty()) {
    return Error{Code::invalid_request, "cannot use TLS: a certificate and its key expected, only " + (cert_file.empty() ? key_file : cert_file) + " given"};
  }
  auto files = std::make_shared<TlsFiles>();
  ssl::context& context = files->context;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.native_handle(), SSL_OP_NO_RENEGOTIATION);
  error_code error;
  if (context.use_certificate_chain_file(cert_file, error)) return refuse("certificate", cert_file, error);
  if (context.use_private_key_file(key_file, ssl::context::pem, error)) return refuse("key", key_file, error);
  ERR_clear_error();
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) return Error{Code::io, "cannot use the TLS key " + key_file + ": it does not belong to " + cert_file};
  return files;
}

std::unique_ptr<ByteStream> make_stream(ByteStream::Socket socket, const std::shared_ptr<TlsFiles>& tls) {
  if (tls == nullptr) return std::make_unique<PlainStream>(std::move(socket));
  return std::make_unique<TlsStream>(std::move(socket), tls);
}
