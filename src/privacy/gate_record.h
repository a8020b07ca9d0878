// gate_record: the audit line of one request while it is being made. It is written when the request ends, however it ends.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include "privacy/gate_parts.h"

class GateRecord {
 public:
  GateRecord(GateParts& parts, const GateNotes& notes, std::string requested);
  GateRecord(const GateRecord&) = delete;
  GateRecord& operator=(const GateRecord&) = delete;
  ~GateRecord() { write(); }

  const std::string& id() const { return id_; }
  void decided(const Decision& decision, std::span<const FieldFinding> findings);
  void settled(std::span<const FieldFinding> findings, std::span<const Action> actions);  // what is done in the end, where a consent changed it
  // Before anything is sent: makes sure that a line will stand in the log even if the program dies with `bytes` under way. False:
  // nothing may be sent.
  bool reserve(size_t bytes);
  void routed(std::string route, std::string model) { route_ = std::move(route), model_ = std::move(model); }
  void scanned(int64_t us) { scan_us_ += us; }
  void sent(const UpstreamAnswer& answer);
  void restored(int restored, int unresolved, int url_blocked);
  void fell_back(const UpstreamFailure& failure);
  void consented(Json consent) { consent_ = std::move(consent); }
  void ended(int status, std::string code) { status_ = status, code_ = std::move(code); }
  void write();                        // once

 private:
  Json line() const;

  GateParts& parts_;
  const std::string id_, key_, endpoint_, requested_;
  const size_t bytes_in_;
  bool written_ = false, reserved_ = false;
  std::string route_ = "refused", model_, code_, fallback_;
  Action action_ = Action::allow;
  int status_ = 500;                   // of a request that ended in a way nobody foresaw
  Json findings_ = Json::array(), consent_;
  size_t bytes_upstream_ = 0;
  std::vector<std::string> digests_;   // of the bodies sent
  int attempts_ = 0, restored_ = 0, unresolved_ = 0, url_blocked_ = 0;
  int64_t scan_us_ = 0, upstream_us_ = 0;
};

// A client's word in a log: itself when it is short, printable and nothing is found in it, else "other".
std::string harmless(const Scanner& scanner, std::string_view text);
