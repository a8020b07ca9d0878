// wire tests: a self-signed certificate in files of their own, and a client that speaks TLS.
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include "wire/harness.h"

// A folder that goes with its contents.
struct TempDir {
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "calla-wire-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path = pattern;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

struct Certificate {
  Certificate() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* made = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 86400);
    X509_set_pubkey(made, key);
    X509_NAME* name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(made, name);
    X509_sign(made, key, EVP_sha256());
    std::FILE* out = std::fopen(cert().c_str(), "w");
    PEM_write_X509(out, made);
    std::fclose(out);
    out = std::fopen(this->key().c_str(), "w");
    PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    X509_free(made);
    EVP_PKEY_free(key);
  }
  std::string cert() const { return folder.file("cert.pem"); }
  std::string key() const { return folder.file("key.pem"); }
  TempDir folder;
};

class TlsClient {
 public:
  explicit TlsClient(int port, int max_version = 0) : tcp(port), context_(SSL_CTX_new(TLS_client_method())) {
    std::signal(SIGPIPE, SIG_IGN);
    SSL_CTX_set_security_level(context_, 0);
    if (max_version != 0) SSL_CTX_set_max_proto_version(context_, max_version);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, tcp.fd());
    connected = SSL_connect(ssl_) == 1;
  }
  TlsClient(const TlsClient&) = delete;
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  void send(const std::string& bytes) { EXPECT_EQ(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())), static_cast<int>(bytes.size())); }
  bool read_until(std::string_view text) {
    char bytes[4096];
    while (seen.find(text) == std::string::npos) {
      const int count = SSL_read(ssl_, bytes, sizeof bytes);
      if (count <= 0) return false;
      seen.append(bytes, static_cast<size_t>(count));
    }
    return true;
  }
  bool at_end() {  // with a close_notify
    char byte;
    return SSL_read(ssl_, &byte, 1) <= 0 && SSL_get_shutdown(ssl_) == SSL_RECEIVED_SHUTDOWN;
  }
  Client tcp;
  std::string seen;
  bool connected = false;

 private:
  SSL_CTX* context_;
  SSL* ssl_;
};

inline std::string http_post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}
