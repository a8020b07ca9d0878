// fault: failures on purpose, so that tests see what becomes of real ones.
#pragma once
#include <optional>
#include <string_view>

// "step:N": the device fails for good in its Nth step, from 1. "memory:N": the Nth step finds no memory; those after it do.
struct InjectedFault {
  enum class Kind : uint8_t { none, step, memory } kind = Kind::none;
  int step = 0;
  bool strikes(Kind what, int now) const { return kind == what && step == now; }
};
std::optional<InjectedFault> parse_fault(std::string_view text);
