// privacy tests: whom an upstream's client trusts: certificates, proxies, keys and where they lie.
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <filesystem>
#include "privacy/breaker.h"
#include "privacy/upstream_harness.h"

namespace {

using Kind = UpstreamFailure::Kind;

// A certificate for 127.0.0.1 that only itself vouches for.
class SelfSigned {
 public:
  SelfSigned() : context_(SSL_CTX_new(TLS_server_method())), key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    X509_set_version(certificate_, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate_), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate_), 86400);
    X509_set_pubkey(certificate_, key_);
    X509_NAME* name = X509_get_subject_name(certificate_);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
    X509_set_issuer_name(certificate_, name);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate_, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate_, key_, EVP_sha256());
    SSL_CTX_use_certificate(context_, certificate_);
    SSL_CTX_use_PrivateKey(context_, key_);
  }
  SelfSigned(const SelfSigned&) = delete;
  ~SelfSigned() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
    SSL_CTX_free(context_);
  }
  void write(const std::string& path) const {
    std::FILE* out = std::fopen(path.c_str(), "w");
    PEM_write_X509(out, certificate_);
    std::fclose(out);
  }
  SSL_CTX* context() const { return context_; }

 private:
  SSL_CTX* context_;
  EVP_PKEY* key_;
  X509* certificate_;
};

class UpstreamTrust : public testing::Test {
 protected:
  UpstreamTrust() {
    std::string pattern = (std::filesystem::temp_directory_path() / "calla-upstream-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~UpstreamTrust() override {
    for (const char* name : {"SSL_CERT_FILE", "http_proxy", "https_proxy"}) unsetenv(name);
    std::filesystem::remove_all(folder_);
  }
  std::string write(const std::string& text, mode_t mode) const {
    const std::string path = folder_ + "/key";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    fchmod(file, mode);
    close(file);
    return path;
  }
  std::string folder_;
};

TEST_F(UpstreamTrust, ACertificateThatNobodyVouchesForEndsIt) {
  const SelfSigned own;
  Loopback server([](Peer& peer) { peer.answer(200, text_of(whole_answer("x"))); }, own.context());
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("diary"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::refused);
  EXPECT_EQ(answer.sent.bytes, 0u);
  EXPECT_EQ(answer.sent.attempts, 1);
  server.end();
  EXPECT_EQ(server.all(), "");
}

TEST_F(UpstreamTrust, ACertificateOfAnAuthorityOfTheUsersIsTaken) {
  const SelfSigned own;
  own.write(folder_ + "/authorities");
  setenv("SSL_CERT_FILE", (folder_ + "/authorities").c_str(), 1);
  Loopback server([](Peer& peer) { peer.answer(200, text_of(whole_answer("x"))); }, own.context());
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("x"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].text, "x");
}

TEST_F(UpstreamTrust, PlainHttpIsForThisMachineAlone) {
  for (const char* url : {"http://api.example/v1", "http://10.0.0.1/v1", "http://127.0.0.1.example/v1", "ftp://localhost/", "file:///etc/passwd", "https://user:pass@api.example/v1", "https://api.example/v1?x=1", "nonsense", ""}) {
    UpstreamOptions options;
    options.name = "cloud";
    options.base_url = url;
    options.models = {"m"};
    EXPECT_FALSE(Upstream::make(options)) << url;
  }
  for (const char* url : {"http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:9/v1/", "https://api.example/v1"}) {
    UpstreamOptions options;
    options.base_url = url;
    options.models = {"m"};
    EXPECT_TRUE(Upstream::make(options)) << url;
  }
}

TEST_F(UpstreamTrust, WhatStaysOnThisMachinePassesNoProxy) {
  Loopback proxy([](Peer& peer) { peer.answer(502, ""); });
  Loopback server([](Peer& peer) { peer.answer(200, text_of(whole_answer("x"))); });
  setenv("http_proxy", ("http://127.0.0.1:" + std::to_string(proxy.port)).c_str(), 1);
  Heard heard;
  EXPECT_EQ(ask(*upstream_of(options_for(server)), asking("x"), heard).failure.kind, Kind::none);
  EXPECT_EQ(proxy.connections(), 0);
}

TEST_F(UpstreamTrust, AProxyOfTheEnvironmentSeesTheHostAlone) {
  Loopback proxy([](Peer& peer) { peer.answer(502, ""); });
  setenv("https_proxy", ("http://127.0.0.1:" + std::to_string(proxy.port)).c_str(), 1);
  UpstreamOptions options;
  options.name = "cloud";
  options.base_url = "https://upstream.invalid/v1";
  options.api_key_file = write("proxied-key", 0600);
  options.models = {"m"};
  options.retries = 0;
  Heard heard;
  EXPECT_NE(ask(*upstream_of(options), asking("diary"), heard).failure.kind, Kind::none);
  proxy.end();
  EXPECT_TRUE(proxy.all().starts_with("CONNECT upstream.invalid:443 ")) << proxy.all();
  EXPECT_EQ(proxy.all().find("diary"), std::string::npos);
  EXPECT_EQ(proxy.all().find("proxied-key"), std::string::npos);
}

TEST_F(UpstreamTrust, AKeyFileIsOursAlone) {
  Loopback server([](Peer& peer) { peer.answer(200, text_of(whole_answer("x"))); });
  UpstreamOptions options = options_for(server);
  for (const mode_t mode : {0644, 0640, 0604, 0660}) {
    options.api_key_file = write("file-key-1\n", mode);
    const auto made = Upstream::make(options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message.find("file-key-1"), std::string::npos);
  }
  options.api_key_file = write("file-key-1\n", 0600);
  Heard heard;
  EXPECT_EQ(ask(*upstream_of(options), asking("x"), heard).failure.kind, Kind::none);
  server.end();
  EXPECT_NE(server.all().find("Authorization: Bearer file-key-1\r\n"), std::string::npos);
  for (const std::string bad : {"", "\n", "two words", "line\nline", "esc\x1b"}) {
    options.api_key_file = write(bad, 0600);
    EXPECT_FALSE(Upstream::make(options));
  }
  options.api_key_file = folder_ + "/absent";
  EXPECT_FALSE(Upstream::make(options));
  options.api_key_file = folder_;
  EXPECT_FALSE(Upstream::make(options));
  options.api_key_file = "";
  options.api_key_env = "CALLA_TEST_NO_SUCH_KEY";
  EXPECT_FALSE(Upstream::make(options));
}

// ---- the breaker ----

struct Clockwork {
  Breaker::Clock::time_point now{std::chrono::hours(1)};
  Breaker breaker{[this] { return now; }};
  void fail(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(breaker.enter());
      breaker.leave(Breaker::Outcome::bad);
    }
  }
};

TEST(BreakerTest, FailuresInARowOpenItForLongerEachTime) {
  Clockwork clock;
  clock.fail(4);
  ASSERT_TRUE(clock.breaker.enter());
  clock.breaker.leave(Breaker::Outcome::good);  // not in a row
  clock.fail(5);
  EXPECT_FALSE(clock.breaker.closed());
  EXPECT_FALSE(clock.breaker.enter());
  for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60}) {
    clock.now += std::chrono::seconds(seconds) - std::chrono::milliseconds(1);
    EXPECT_FALSE(clock.breaker.enter()) << seconds;
    clock.now += std::chrono::milliseconds(1);
    clock.fail(1);
  }
}

TEST(BreakerTest, OneRequestTriesWhetherItIsBack) {
  Clockwork clock;
  clock.fail(5);
  clock.now += std::chrono::seconds(2);
  EXPECT_TRUE(clock.breaker.enter());
  EXPECT_FALSE(clock.breaker.enter());
  clock.breaker.leave(Breaker::Outcome::unknown);
  EXPECT_TRUE(clock.breaker.enter());
  clock.breaker.leave(Breaker::Outcome::good);
  EXPECT_TRUE(clock.breaker.enter());
  EXPECT_TRUE(clock.breaker.enter());
}

}  // namespace
