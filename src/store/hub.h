// hub: what a repository holds, and its files into blobs, with retries, resuming and verification.
#pragma once
#include "store/http.h"
#include "store/names.h"

namespace store {

struct RepoListing { std::string commit; std::vector<RepoFile> files; };

class Hub {
 public:
  Hub(const StoreOptions& options, std::stop_token stop) : client_(options, std::move(stop)) {}
  // The files of `main` with sizes and etags. Names and the commit are checked: they become paths.
  Result<RepoListing> list(const std::string& repo);
  // Asks with HEAD for what the listing did not tell.
  Status complete(const std::string& repo, const std::string& commit, RepoFile& file);
  // Into blobs/<etag> of the cache; nothing is sent when it is there already.
  Status download(const std::string& repo, const std::string& commit, const RepoFile& file, const ProgressSink& progress);
  bool unreachable() const { return unreachable_; }  // the last failure was: no name, no connection

 private:
  Result<HttpReply> ask(const std::string& repo, const HttpRequest& request);
  Result<bool> wait_for_retry(const std::string& repo, const HttpReply& reply, int failures);
  std::string file_url(const std::string& repo, const std::string& commit, const std::string& file) const;
  Error refusal(const std::string& repo, const HttpReply& reply) const;
  Status fetch_blob(const std::string& repo, const std::string& url, const RepoFile& file, const std::string& blob, const ProgressSink& progress);
  HttpClient client_;
  bool unreachable_ = false;
};

}  // namespace store
