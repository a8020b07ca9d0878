// upstream_http: libcurl's multi interface, one transfer at a time on each, woken by the stop token.
#include "privacy/upstream_http.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstring>
#include <curl/curl.h>
#include <openssl/crypto.h>
#include <optional>

namespace {

template <auto release>
struct Releaser {
  void operator()(auto* handle) const { release(handle); }
};
using Easy = std::unique_ptr<CURL, Releaser<curl_easy_cleanup>>;  // CURL and CURLM are both void
using Multi = std::unique_ptr<CURLM, Releaser<curl_multi_cleanup>>;
using Url = std::unique_ptr<CURLU, Releaser<curl_url_cleanup>>;
using Clock = std::chrono::steady_clock;

constexpr int poll_ms = 50;           // a stop wakes it earlier
constexpr size_t most_error_bytes = size_t{1} << 20;  // of an answer that is not 2xx; read so that the connection can be kept, and dropped

// A list of headers; libcurl's copy of the secret one is wiped with it.
class HeaderList {
 public:
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() {
    for (curl_slist* entry = list_; entry; entry = entry->next) OPENSSL_cleanse(entry->data, std::strlen(entry->data));
    curl_slist_free_all(list_);
  }
  bool add(const char* line) {
    curl_slist* longer = curl_slist_append(list_, line);
    if (longer) list_ = longer;
    return longer != nullptr;
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

std::string part(const Url& url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, 0) != CURLUE_OK) return "";
  const std::string out = text;
  curl_free(text);
  return out;
}

bool is_loopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

// One request while it runs.
struct Transfer {
  const HttpReader& reader;
  const HttpLimits& limits;
  CURL* handle;
  HttpOutcome& outcome;
  Clock::time_point started = Clock::now(), heard = started;
  std::optional<Clock::time_point> complete{};
  size_t seen = 0;
  bool refused = false, too_long = false;

  bool take(std::string_view bytes) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (outcome.first_byte_us == 0) outcome.first_byte_us = elapsed_us();
    seen += bytes.size();
    const bool wanted = status >= 200 && status < 300;
    too_long = seen > (wanted ? limits.max_bytes : most_error_bytes);
    if (too_long) return false;
    refused = wanted && !reader.bytes(bytes);
    heard = Clock::now();             // after the reader: its slowness is not the upstream's
    return !refused;
  }
  int64_t elapsed_us() const { return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started).count(); }
  bool expired() const {
    const auto now = Clock::now();
    return now - heard > std::chrono::milliseconds(limits.idle_ms) || now - started > std::chrono::milliseconds(limits.total_ms);
  }
  // False when the answer has long been complete, whatever still comes.
  bool patient() {
    const int patience = reader.patience_ms();
    if (patience < 0) return true;
    if (!complete) complete = Clock::now();
    return Clock::now() - *complete <= std::chrono::milliseconds(patience);
  }
};

size_t on_body(char* data, size_t size, size_t count, void* user) { return static_cast<Transfer*>(user)->take({data, size * count}) ? size * count : 0; }

// Any byte from the other side, a header too, shows that it lives.
size_t on_header(char*, size_t size, size_t count, void* user) {
  static_cast<Transfer*>(user)->heard = Clock::now();
  return size * count;
}

void limit_protocols(CURL* handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // do not wait for a resolver thread when stopped
#endif
}

void secure(CURL* handle) {
  limit_protocols(handle);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (const char* authorities = std::getenv("SSL_CERT_FILE")) curl_easy_setopt(handle, CURLOPT_CAINFO, authorities);  // as OpenSSL's own programs do
}

bool is_timeout(CURLcode code) { return code == CURLE_OPERATION_TIMEDOUT; }
bool is_unreachable(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT || code == CURLE_PROXY;
}
bool is_untrusted(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM ||
         code == CURLE_SSL_CIPHER || code == CURLE_SSL_ISSUER_ERROR;
}

HttpOutcome::Kind kind_of(CURLcode code, const Transfer& transfer) {
  using enum HttpOutcome::Kind;
  if (code == CURLE_OK) return whole;
  if (transfer.refused) return refused;
  if (transfer.too_long) return too_long;
  if (is_timeout(code)) return timeout;
  if (is_unreachable(code)) return unreachable;
  return is_untrusted(code) ? untrusted : cut;
}

// Until it has ended, is stopped, or nothing has come for too long. What libcurl said, or nothing when it was left early.
HttpOutcome::Kind drive(CURLM* multi, Transfer& transfer, const std::stop_token& stop) {
  using enum HttpOutcome::Kind;
  const std::stop_callback wake(stop, [&] { curl_multi_wakeup(multi); });
  for (int running = 1;;) {
    if (stop.stop_requested()) return stopped;
    if (curl_multi_perform(multi, &running) != CURLM_OK) return cut;
    if (running == 0) break;
    if (!transfer.patient()) return whole;
    if (transfer.expired()) return timeout;
    curl_multi_poll(multi, nullptr, 0, poll_ms, nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg == CURLMSG_DONE) return kind_of(message->data.result, transfer);
  }
  return cut;
}

void read_figures(CURL* handle, const Transfer& transfer, HttpOutcome& outcome) {
  long status = 0;
  curl_off_t uploaded = 0, retry_after = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle, CURLINFO_SIZE_UPLOAD_T, &uploaded);
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after);
  outcome.status = static_cast<int>(status);
  outcome.sent = uploaded > 0;
  if (retry_after > 0) outcome.retry_after_s = static_cast<int>(std::min<curl_off_t>(retry_after, 86400));
  outcome.total_us = transfer.elapsed_us();
}

}  // namespace

struct HttpPoster::Parts {
  std::string base_url;
  HttpLimits limits;
  bool loopback = false;
  std::mutex mutex;
  std::vector<Multi> idle;            // each with the connections it has open

  Multi take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return Multi(curl_multi_init());
    Multi multi = std::move(idle.back());
    idle.pop_back();
    return multi;
  }
  void keep(Multi multi) {
    constexpr size_t most_idle = 16;
    const std::lock_guard lock(mutex);
    if (idle.size() < most_idle) idle.push_back(std::move(multi));
  }
};

HttpPoster::HttpPoster(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpPoster::~HttpPoster() = default;

Result<std::unique_ptr<HttpPoster>> HttpPoster::make(const std::string& base_url, HttpLimits limits) {
  static std::once_flag started;
  std::call_once(started, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const Url url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, base_url.c_str(), 0) != CURLUE_OK) return Error{Code::invalid_request, "cannot use base_url: it is no URL"};
  const std::string scheme = part(url, CURLUPART_SCHEME);
  const bool loopback = is_loopback(part(url, CURLUPART_HOST));
  if (scheme != "https" && scheme != "http") return Error{Code::invalid_request, "cannot use base_url: it must begin with https://"};
  if (scheme == "http" && !loopback) return Error{Code::denied, "cannot use base_url: http:// is for this machine alone, others need https://"};
  for (const CURLUPart which : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    if (!part(url, which).empty()) return Error{Code::invalid_request, "cannot use base_url: it must hold no user, password, query or fragment"};
  }
  auto parts = std::make_unique<Parts>();
  parts->base_url = base_url;
  while (parts->base_url.ends_with('/')) parts->base_url.pop_back();
  parts->limits = limits;
  parts->loopback = loopback;
  return std::unique_ptr<HttpPoster>(new HttpPoster(std::move(parts)));
}

HttpOutcome HttpPoster::post(const std::string& path, const HttpPost& post, const HttpReader& reader, const std::stop_token& stop) {
  HttpOutcome outcome;
  outcome.kind = HttpOutcome::Kind::unreachable;
  const Easy easy(curl_easy_init());
  Multi multi = parts_->take();
  HeaderList headers;
  bool ready = easy && multi && headers.add("Expect:");  // no waiting for "100 Continue"
  if (!post.secret_header.empty()) {
    std::string secret(post.secret_header);
    ready = ready && headers.add(secret.c_str());
    OPENSSL_cleanse(secret.data(), secret.size());
  }
  for (const std::string& line : post.headers) ready = ready && headers.add(line.c_str());
  if (!ready) return outcome;
  Transfer transfer{reader, parts_->limits, easy.get(), outcome};
  secure(easy.get());
  const std::string url = parts_->base_url + path;
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  if (parts_->loopback) curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");  // what stays on this machine passes no proxy
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(parts_->limits.connect_ms));
  curl_easy_setopt(easy.get(), CURLOPT_POST, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, post.body.data());
  curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));  // a proxy sees none of them
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, &transfer);
  if (curl_multi_add_handle(multi.get(), easy.get()) != CURLM_OK) return outcome;
  outcome.kind = drive(multi.get(), transfer, stop);
  read_figures(easy.get(), transfer, outcome);
  curl_multi_remove_handle(multi.get(), easy.get());  // closes the connection of a transfer that has not ended
  parts_->keep(std::move(multi));
  return outcome;
}
