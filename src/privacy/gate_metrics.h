// gate_metrics: what the gate did, in numbers whose labels come from fixed lists.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include "privacy/policy.h"

class GateMetrics {
 public:
  void request(std::string_view route);
  void findings(std::span<const FieldFinding> findings, std::span<const Action> actions);
  void scanned(int64_t us);
  void restored(int restored, int unresolved);
  std::string text() const;  // Prometheus' text format

  static constexpr std::array<std::string_view, 5> routes = {"local", "cloud", "cloud-masked", "refused", "ask"};
  static constexpr std::array<int64_t, 8> bounds_us = {500, 1000, 2500, 5000, 10'000, 50'000, 300'000, 2'000'000};

 private:
  static constexpr size_t n_actions = 5;
  using Counter = std::atomic<uint64_t>;
  std::array<Counter, routes.size()> requests_{};
  std::array<std::array<Counter, n_actions>, n_privacy_classes> findings_{};
  std::array<Counter, bounds_us.size()> scans_{};  // by the smallest bound that holds them
  Counter scan_count_{0}, scan_us_{0}, restored_{0}, unresolved_{0};
};
