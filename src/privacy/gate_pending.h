// gate_pending: audit lines of requests that are under way, in files of their own: what is left of them when the program dies.
#pragma once
#include <memory>
#include <string>
#include "privacy/audit.h"

class PendingLines {
 public:
  // The lines that an earlier program left there go into the log first.
  static Result<std::unique_ptr<PendingLines>> open(const std::string& folder, AuditLog& log);
  Status put(const std::string& id, const Json& line);
  void drop(const std::string& id);

 private:
  explicit PendingLines(std::string folder) : folder_(std::move(folder)) {}
  std::string path_of(const std::string& id) const { return folder_ + "/" + id; }
  const std::string folder_;
};
