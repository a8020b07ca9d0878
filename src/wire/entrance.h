// entrance: what every request passes before and after its handler: origin, route, key, places, the log and the counters.
#pragma once
#include <atomic>
#include "wire/keys.h"
#include "wire/routes.h"

class Entrance {
 public:
  Entrance(Completer& completer, const ServerOptions& options, ApiKeys keys, const Routes& routes, Metrics& metrics)
      : completer_(completer), options_(options), keys_(std::move(keys)), routes_(routes), metrics_(metrics) {}
  // Answers `request`, or `failure` where it could not be read. `last`: no other request may follow. Says whether one may.
  bool answer(Peer& peer, const HttpRequest& request, const ApiError* failure, bool last);

 private:
  void pass(Exchange& exchange, const RouteMatch& match, const ApiError* failure);
  void handle(Exchange& exchange, const Route& route);
  std::optional<RouteReport> turned_away(const Exchange& exchange, const Route& route, int status, const std::string& code);
  void log(const Exchange& exchange, const Route* route, const std::string& id) const;
  Completer& completer_;
  const ServerOptions& options_;
  const ApiKeys keys_;
  const Routes& routes_;
  Metrics& metrics_;
  std::atomic<int> running_ = 0;  // POST requests in handlers
};
