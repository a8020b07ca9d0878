// http: libcurl's multi interface, one transfer at a time, woken by the stop token.
#include "store/http.h"

#include <condition_variable>
#include <curl/curl.h>
#include <memory>
#include <mutex>
#include "store/names.h"

namespace store {
namespace {

template <auto release>
struct Releaser {
  void operator()(auto* handle) const { release(handle); }
};
using Easy = std::unique_ptr<CURL, Releaser<curl_easy_cleanup>>;  // CURL and CURLM are both void
using Multi = std::unique_ptr<CURLM, Releaser<curl_multi_cleanup>>;
using List = std::unique_ptr<curl_slist, Releaser<curl_slist_free_all>>;
using Url = std::unique_ptr<CURLU, Releaser<curl_url_cleanup>>;

struct Transfer {
  const HttpRequest* request;
  HttpReply* reply;
  bool refused = false;
};

std::string part(const Url& url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, which == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0) != CURLUE_OK) return "";
  const std::string out = text;
  curl_free(text);
  return out;
}

Url parse_url(const std::string& text) {
  Url url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return nullptr;
  return url;
}

struct Origin {
  std::string scheme, host, port;
  bool operator==(const Origin&) const = default;
};

Origin origin_of(const std::string& text) {
  const Url url = parse_url(text);
  if (!url) return {};
  return {lower(part(url, CURLUPART_SCHEME)), lower(part(url, CURLUPART_HOST)), part(url, CURLUPART_PORT)};
}

bool may_carry_token(const Origin& origin, const Origin& endpoint) {
  if (origin != endpoint || origin.host.empty()) return false;
  return origin.scheme == "https" || origin.host == "127.0.0.1" || origin.host == "localhost" || origin.host == "[::1]";
}

size_t on_header(char* data, size_t size, size_t count, void* user) {
  HttpReply& reply = *static_cast<Transfer*>(user)->reply;
  std::string_view line(data, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (const size_t colon = line.find(':'); colon != line.npos && reply.headers.size() < 200) {
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    reply.headers[lower(line.substr(0, colon))] = std::string(value);
  }
  return size * count;
}

size_t take_body(Transfer& transfer, CURL* handle, std::string_view bytes) {
  HttpReply& reply = *transfer.reply;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  if (reply.status < 200 || reply.status > 299) return bytes.size();  // a redirect's or an error's text is not shown
  bool taken = true;
  if (transfer.request->sink)
    taken = transfer.request->sink(reply, bytes);
  else if (reply.body.size() + bytes.size() > transfer.request->max_body_bytes)
    taken = false;
  else
    reply.body += bytes;
  transfer.refused = !taken;
  return taken ? bytes.size() : 0;
}

struct BodyUser {
  Transfer* transfer;
  CURL* handle;
};

size_t on_body(char* data, size_t size, size_t count, void* user) {
  const auto& body = *static_cast<BodyUser*>(user);
  return take_body(*body.transfer, body.handle, {data, size * count});
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

void set_request(CURL* handle, const HttpRequest& request, const std::string& url, const StoreOptions& options) {
  limit_protocols(handle);
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "calla/0.1");
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ms));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 30L);
  if (request.head) curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  if (request.offset > 0) curl_easy_setopt(handle, CURLOPT_RANGE, (std::to_string(request.offset) + "-").c_str());
}

Fault fault_of(CURLcode code, CURL* handle) {
  if (code == CURLE_OK) return Fault::none;
  curl_off_t connected_us = 0;
  curl_easy_getinfo(handle, CURLINFO_CONNECT_TIME_T, &connected_us);
  const bool never = code == CURLE_OPERATION_TIMEDOUT && connected_us == 0;
  if (never || code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT) return Fault::unreachable;
  return Fault::cut;
}

// One request without redirects.
void run_once(const HttpRequest& request, const std::string& url, const StoreOptions& options, bool with_token, const std::stop_token& stop,
              HttpReply& reply) {
  const Easy easy(curl_easy_init());
  const Multi multi(curl_multi_init());
  CHECK(easy && multi);
  Transfer transfer{&request, &reply};
  BodyUser body{&transfer, easy.get()};
  set_request(easy.get(), request, url, options);
  List headers;
  if (with_token) headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + options.token).c_str()));
  if (headers) curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &body);
  curl_multi_add_handle(multi.get(), easy.get());
  CURLcode code = CURLE_OK;
  {
    const std::stop_callback wake(stop, [&] { curl_multi_wakeup(multi.get()); });
    for (int running = 1; running > 0 && !stop.stop_requested();) {
      if (curl_multi_perform(multi.get(), &running) != CURLM_OK) break;
      if (running > 0) curl_multi_poll(multi.get(), nullptr, 0, 500, nullptr);
    }
  }
  int left = 0;
  bool ended = false;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left))
    if (message->msg == CURLMSG_DONE) code = message->data.result, ended = true;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after);
  reply.retry_after_s = static_cast<long>(retry_after);
  reply.fault = !ended ? Fault::stopped : transfer.refused ? Fault::refused : fault_of(code, easy.get());
  reply.fault_text = origin_of(url).host + ": " + (ended ? curl_easy_strerror(code) : "stopped");
  curl_multi_remove_handle(multi.get(), easy.get());
}

std::string redirect_target(const std::string& from, const std::string& location) {
  const Url url = parse_url(from);
  if (!url || curl_url_set(url.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK) return "";
  return part(url, CURLUPART_URL);
}

}  // namespace

HttpReply HttpClient::run(const HttpRequest& request) const {
  static std::once_flag started;
  std::call_once(started, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const Origin endpoint = origin_of(options_.endpoint);
  std::map<std::string, std::string> earlier;
  std::string url = request.url;
  for (int hop = 0; hop < 10; hop++) {
    HttpReply reply;
    const Origin origin = origin_of(url);
    run_once(request, url, options_, !options_.token.empty() && may_carry_token(origin, endpoint), stop_, reply);
    const bool redirect = reply.fault == Fault::none && reply.status >= 300 && reply.status < 400 && reply.headers.contains("location");
    const std::string target = redirect ? redirect_target(url, reply.headers["location"]) : "";
    const Origin next = origin_of(target);
    reply.headers.insert(earlier.begin(), earlier.end());
    if (!redirect || (request.head && next != origin)) return reply;  // the hub's own answer has what a HEAD wants to know
    if (next.host.empty() || (origin.scheme == "https" && next.scheme != "https")) {
      reply.fault = Fault::cut;
      reply.fault_text = origin.host + ": redirects to an address that is not followed";
      return reply;
    }
    for (const auto& [name, value] : reply.headers)
      if (name.starts_with("x-")) earlier.insert({name, value});
    url = target;
  }
  HttpReply reply;
  reply.fault = Fault::cut;
  reply.fault_text = endpoint.host + ": more than ten redirects";
  return reply;
}

bool HttpClient::sleep_ms(long ms) const {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop_, std::chrono::milliseconds(ms), [] { return false; });
  return !stop_.stop_requested();
}

}  // namespace store
