// hub: listing a repository, and the rules for when a request is tried again and what a refusal means.
#include "store/hub.h"

#include <algorithm>
#include <fmt/format.h>
#include "core/json.h"

namespace store {
namespace {

constexpr long kLongestWait_s = 120;

std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const unsigned char c : path) {
    if (std::isalnum(c) || c == '/' || c == '-' || c == '_' || c == '.' || c == '~')
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  }
  return out;
}

std::string bare_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  std::erase(etag, '"');
  return etag;
}

std::string header(const HttpReply& reply, const char* name) {
  const auto it = reply.headers.find(name);
  return it == reply.headers.end() ? "" : it->second;
}

bool is_etag(const std::string& etag) { return is_hex(etag, 64) || is_hex(etag, 40); }

RepoFile parse_sibling(JsonView sibling) {
  RepoFile file{std::string(find_string(sibling, "rfilename").value_or("")), 0, std::string(find_string(sibling, "blobId").value_or(""))};
  file.bytes = static_cast<size_t>(std::max<int64_t>(0, find_int(sibling, "size").value_or(0)));
  if (const auto lfs = find(sibling, "lfs")) {
    file.etag = std::string(find_string(*lfs, "sha256").value_or(""));
    file.bytes = static_cast<size_t>(std::max<int64_t>(0, find_int(*lfs, "size").value_or(static_cast<int64_t>(file.bytes))));
  }
  if (!find_int(sibling, "size") || !is_etag(file.etag)) file.etag.clear();  // complete() asks
  return file;
}

Result<RepoListing> parse_listing(const std::string& repo, const std::string& body) {
  TRY(const JsonDocument document, JsonDocument::parse("the hub's listing of " + repo, body));
  RepoListing listing{std::string(find_string(document.root(), "sha").value_or("")), {}};
  if (!is_hex(listing.commit, 40)) return Error{Code::corrupt_file, "the hub's listing of " + repo + " names no commit"};
  const auto siblings = find(document.root(), "siblings");
  if (!siblings || !siblings->is_array()) return Error{Code::corrupt_file, "the hub's listing of " + repo + " has no files"};
  for (const JsonView sibling : simdjson::dom::array(*siblings)) {
    RepoFile file = parse_sibling(sibling);
    if (!is_safe_relative(file.name))
      return Error{Code::corrupt_file, "the hub's listing of " + repo + " has a file name that would leave its folder"};
    listing.files.push_back(std::move(file));
  }
  return listing;
}

}  // namespace

Error Hub::refusal(const std::string& repo, const HttpReply& reply) const {
  const bool token = !client_.options().token.empty();
  const std::string page = client_.options().endpoint + "/" + repo, seen = fmt::format(" (HTTP {})", reply.status);
  const std::string reason = header(reply, "x-error-code");
  if (reply.status == 404 || reason == "RepoNotFound" || reason == "EntryNotFound")
    return {Code::not_found,
            fmt::format("the hub has no {}{}; check the spelling at {}{}", repo, seen, page, token ? "" : ", or set HF_TOKEN if it is private")};
  if (reply.status == 401 || reply.status == 403) {
    if (token)
      return {Code::denied, fmt::format("the token in HF_TOKEN may not read {}{}; accept its terms at {} or use another token", repo, seen, page)};
    return {Code::denied, fmt::format("{} is gated or private{}; accept its terms at {} and set HF_TOKEN", repo, seen, page)};
  }
  if (reply.status == 429) return {Code::overloaded, fmt::format("the hub asks to slow down while reading {}{}; try again later", repo, seen)};
  return {Code::io, fmt::format("cannot read {} from the hub{}", repo, seen)};
}

// True: try again. False: this answer is final. An error: stopped, or out of patience.
Result<bool> Hub::wait_for_retry(const std::string& repo, const HttpReply& reply, int failures) {
  if (reply.fault == Fault::stopped || client_.stop().stop_requested())
    return Error{Code::cancelled, "stopped while reading " + repo + " from the hub"};
  const bool again = reply.fault == Fault::cut || reply.fault == Fault::unreachable ||
                     (reply.fault == Fault::none && (reply.status == 429 || reply.status == 408 || reply.status >= 500));
  unreachable_ = reply.fault == Fault::unreachable;
  if (!again) return false;
  if (failures > client_.options().max_retries || reply.retry_after_s > kLongestWait_s) {
    if (reply.fault == Fault::none) return refusal(repo, reply);
    return Error{Code::io, fmt::format("cannot read {} from the hub: {}", repo, reply.fault_text)};
  }
  const long backoff = std::min<long>(30'000, static_cast<long>(client_.options().retry_base_ms) << std::min(failures - 1, 16));
  if (!client_.sleep_ms(reply.retry_after_s > 0 ? reply.retry_after_s * 1000 : backoff))
    return Error{Code::cancelled, "stopped while reading " + repo + " from the hub"};
  return true;
}

Result<HttpReply> Hub::ask(const std::string& repo, const HttpRequest& request) {
  for (int failures = 1;; failures++) {
    HttpReply reply = client_.run(request);
    if (reply.fault == Fault::unreachable) {  // first contact: no network is said at once
      unreachable_ = true;
      return Error{Code::io, fmt::format("cannot reach the hub at {}: {}", client_.options().endpoint, reply.fault_text)};
    }
    if (reply.fault == Fault::refused) return Error{Code::too_large, "the hub's answer about " + repo + " is too long"};
    TRY(const bool again, wait_for_retry(repo, reply, failures));
    if (again) continue;
    if (reply.status >= 400) return refusal(repo, reply);
    return reply;
  }
}

std::string Hub::file_url(const std::string& repo, const std::string& commit, const std::string& file) const {
  return client_.options().endpoint + "/" + repo + "/resolve/" + commit + "/" + percent_encoded(file);
}

Result<RepoListing> Hub::list(const std::string& repo) {
  HttpRequest request;
  request.url = client_.options().endpoint + "/api/models/" + repo + "/revision/main?blobs=true";
  TRY(const HttpReply reply, ask(repo, request));
  return parse_listing(repo, reply.body);
}

Status Hub::complete(const std::string& repo, const std::string& commit, RepoFile& file) {
  if (!file.etag.empty()) return ok_status();
  HttpRequest request;
  request.head = true;
  request.url = file_url(repo, commit, file.name);
  TRY(const HttpReply reply, ask(repo, request));
  const std::string linked = header(reply, "x-linked-etag"), size = header(reply, "x-linked-size");
  file.etag = bare_etag(linked.empty() ? header(reply, "etag") : linked);
  const std::string length = size.empty() ? header(reply, "content-length") : size;
  if (const std::string told = header(reply, "x-repo-commit"); !told.empty() && told != commit)
    return Error{Code::corrupt_file, fmt::format("{} of {}: another commit than asked for", file.name, repo)};
  if (!is_etag(file.etag) || length.empty() || length.size() > 18 || !std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; }))
    return Error{Code::corrupt_file, fmt::format("{} of {}: the hub gives no checksum or size, so it cannot be verified", file.name, repo)};
  file.bytes = std::stoull(length);
  return ok_status();
}

}  // namespace store
