// gate: what every request passes before and after its handler: origin, route, key, places, the log and the counters.
#pragma once
#include <atomic>
#include "wire/keys.h"
#include "wire/routes.h"

class Gate {
 public:
  Gate(const ServerOptions& options, ApiKeys keys, const Routes& routes, Metrics& metrics)
      : options_(options), keys_(std::move(keys)), routes_(routes), metrics_(metrics) {}
  // Answers `request`, or `failure` where it could not be read. `last`: no other request may follow. Says whether one may.
  bool answer(Peer& peer, const HttpRequest& request, const ApiError* failure, bool last);

 private:
  void pass(Exchange& exchange, const RouteMatch& match, const ApiError* failure);
  void handle(Exchange& exchange, const Route& route);
  void log(const Exchange& exchange, const std::string& id) const;
  const ServerOptions& options_;
  const ApiKeys keys_;
  const Routes& routes_;
  Metrics& metrics_;
  std::atomic<int> running_ = 0;  // POST requests in handlers
};
