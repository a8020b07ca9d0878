// fault: the words of faults.
#include "device/fault.h"

#include <charconv>

std::optional<InjectedFault> parse_fault(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view word = text.substr(0, colon), number = text.substr(colon + 1);
  InjectedFault fault;
  if (word == "step") fault.kind = InjectedFault::Kind::step;
  else if (word == "memory") fault.kind = InjectedFault::Kind::memory;
  else return std::nullopt;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), fault.step);
  if (error != std::errc() || end != number.data() + number.size() || fault.step < 1) return std::nullopt;
  return fault;
}
