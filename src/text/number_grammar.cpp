// number_grammar: an automaton that reads a number's digits, knowing whether they still equal a bound's and what they leave when divided.
#include "text/number_grammar.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using Node = GrammarBuilder::Node;

static constexpr size_t kDigits = 16;         // on either side of the point, where nothing else is asked for
static constexpr size_t kMostDigits = 40;     // of a bound
static constexpr size_t kMostStates = 20000;
static constexpr uint64_t kMostModulus = uint64_t{1} << 40;

void NumberLimits::raise(const Decimal& bound, bool open) {
  if (lower && (*lower > bound || (*lower == bound && (lower_open || !open)))) return;
  lower = bound, lower_open = open;
}

void NumberLimits::drop(const Decimal& bound, bool open) {
  if (upper && (*upper < bound || (*upper == bound && (upper_open || !open)))) return;
  upper = bound, upper_open = open;
}

namespace {

struct Side {
  std::string digits;  // as many as the number has in all
  bool open = false;
};

// The magnitudes between two bounds, both not negative, with `fraction` digits after the point at most.
class Magnitudes {
 public:
  Magnitudes(GrammarBuilder& builder, const NumberLimits& limits, size_t fraction, uint64_t modulus)
      : builder_(builder), limits_(limits), fraction_(fraction), modulus_(modulus), digit_(digits('0', '9')) {}

  std::optional<Node> between(Decimal lower, bool lower_open, std::optional<Decimal> upper, bool upper_open, size_t most_whole);
  bool too_large() const { return states_.size() > kMostStates; }

 private:
  struct At {
    size_t place = 0;           // digits read
    bool low = false, high = false;  // so far they are the bound's
    uint64_t remainder = 0;
    bool ended_in_zero = true;
  };
  Node digits(char first, char last) {
    ByteSet set;
    for (char c = first; c <= last; ++c) set.set(static_cast<size_t>(c));
    return builder_.bytes(set);
  }
  Node sequence(std::initializer_list<Node> nodes) { return builder_.sequence(std::span<const Node>(nodes.begin(), nodes.size())); }
  size_t left(const At& at) const { return whole_ + fraction_ - at.place; }
  uint64_t power(size_t exponent) const;
  std::optional<At> step(const At& at, char digit) const;
  bool accepts(const At& at) const;
  std::optional<Node> next_digits(const At& at);
  std::optional<Node> from(const At& at);
  std::optional<Node> build(const At& at);
  Node free_from(const At& at);

  GrammarBuilder& builder_;
  const NumberLimits& limits_;
  size_t fraction_, whole_ = 0;
  uint64_t modulus_;
  Node digit_;
  Side low_, high_;
  std::map<std::tuple<size_t, size_t, bool, bool, uint64_t, bool>, std::optional<Node>> states_;
};

uint64_t Magnitudes::power(size_t exponent) const {
  uint64_t out = 1 % modulus_;
  for (; exponent > 0; --exponent) out = static_cast<uint64_t>(static_cast<unsigned __int128>(out) * 10 % modulus_);
  return out;
}

// What follows must make the number a multiple again: only the remainder by the part of the modulus that zeros cannot supply matters.
std::optional<Magnitudes::At> Magnitudes::step(const At& at, char digit) const {
  At out = at;
  out.place = at.place + 1;
  out.ended_in_zero = digit == '0';
  if (at.low) {
    if (digit < low_.digits[at.place]) return std::nullopt;
    out.low = digit == low_.digits[at.place];
  }
  if (at.high) {
    if (digit > high_.digits[at.place]) return std::nullopt;
    out.high = digit == high_.digits[at.place];
  }
  out.remainder = (at.remainder * 10 + static_cast<uint64_t>(digit - '0')) % modulus_;
  const size_t rest = left(out);
  if (modulus_ == 1 || rest > 17) return out;
  uint64_t range = 1;
  for (size_t i = 0; i < rest; ++i) range *= 10;
  const auto scaled_so_far = static_cast<uint64_t>(static_cast<unsigned __int128>(out.remainder) * power(rest) % modulus_);
  if ((modulus_ - scaled_so_far) % modulus_ >= range) return std::nullopt;
  out.remainder %= modulus_ / std::gcd(modulus_, range);
  return out;
}

// The digits that are not written count as zeros.
bool Magnitudes::accepts(const At& at) const {
  const auto zeros = [&](const Side& side) { return side.digits.find_first_not_of('0', at.place) == std::string::npos; };
  if (at.low && (!zeros(low_) || low_.open)) return false;
  if (at.high && zeros(high_) && high_.open) return false;
  if (modulus_ > 1 && static_cast<unsigned __int128>(at.remainder) * power(left(at)) % modulus_ != 0) return false;
  return limits_.integers || (at.place > whole_ && !at.ended_in_zero);
}

std::optional<Node> Magnitudes::next_digits(const At& at) {
  std::vector<Node> ways;
  std::map<std::tuple<bool, bool, uint64_t, bool>, std::pair<At, ByteSet>> groups;
  for (char digit = at.place == 0 && whole_ > 1 ? '1' : '0'; digit <= '9'; ++digit) {
    const auto to = step(at, digit);
    if (!to) continue;
    auto& group = groups[{to->low, to->high, to->remainder, to->ended_in_zero && !limits_.integers}];
    group.first = *to, group.second.set(static_cast<size_t>(digit));
  }
  for (const auto& [key, group] : groups)
    if (const auto rest = from(group.first)) ways.push_back(sequence({builder_.bytes(group.second), *rest}));
  if (ways.empty()) return std::nullopt;
  return builder_.choice(ways);
}

// No bound and no divisor is left to watch.
Node Magnitudes::free_from(const At& at) {
  const size_t whole = at.place < whole_ ? whole_ - at.place : 0;
  const auto most = static_cast<int64_t>(at.place < whole_ ? fraction_ : left(at));
  const bool inside = at.place > whole_;
  Node tail = builder_.empty();
  if (limits_.integers) {
    tail = builder_.repeat(digit_, inside ? 0 : 1, most);
    if (!inside) tail = most == 0 ? builder_.empty() : builder_.optional(sequence({builder_.literal("."), tail}));
  } else {
    tail = sequence({builder_.repeat(digit_, 0, most - 1), digits('1', '9')});
    if (!inside) tail = sequence({builder_.literal("."), tail});
    if (inside && !at.ended_in_zero) tail = builder_.optional(tail);
  }
  return whole == 0 ? tail : sequence({builder_.repeat(digit_, static_cast<int64_t>(whole), static_cast<int64_t>(whole)), tail});
}

std::optional<Node> Magnitudes::build(const At& at) {
  if (!at.low && !at.high && modulus_ == 1 && (limits_.integers || left(at) > 0)) return free_from(at);
  if (at.place < whole_) return next_digits(at);
  std::vector<Node> ways;
  if (accepts(at)) ways.push_back(builder_.empty());
  if (left(at) > 0)
    if (const auto rest = next_digits(at)) ways.push_back(at.place == whole_ ? sequence({builder_.literal("."), *rest}) : *rest);
  if (ways.empty()) return std::nullopt;
  return builder_.choice(ways);
}

std::optional<Node> Magnitudes::from(const At& at) {
  const bool tight = at.low || at.high;
  const size_t here = at.place >= whole_ ? at.place - whole_ : kMostDigits * 2 + (whole_ - at.place);
  const auto key = std::tuple(tight ? whole_ : 0, here, at.low, at.high, at.remainder, at.ended_in_zero && !limits_.integers);
  if (const auto known = states_.find(key); known != states_.end()) return known->second;
  if (too_large()) return std::nullopt;
  auto node = build(at);
  if (node && modulus_ > 1) {  // referred to from many places: a rule of its own
    const Node rule = builder_.declare();
    builder_.define(rule, *node);
    node = rule;
  }
  states_[key] = node;
  return node;
}

std::optional<Node> Magnitudes::between(Decimal lower, bool lower_open, std::optional<Decimal> upper, bool upper_open, size_t most_whole) {
  states_.clear();
  // More digits than the numbers may have are cut: nothing of theirs lies between the cut bound and the bound.
  if (lower.fraction.size() > fraction_) lower.fraction.resize(fraction_), lower_open = true;
  if (upper && upper->fraction.size() > fraction_) upper->fraction.resize(fraction_), upper_open = false;
  const auto padded = [&](const Decimal& number) {
    return std::string(whole_ - std::min(whole_, number.whole.size()), '0') + number.whole + number.fraction + std::string(fraction_ - number.fraction.size(), '0');
  };
  std::vector<Node> ways;
  for (whole_ = std::max<size_t>(1, lower.whole.size()); whole_ <= most_whole; ++whole_) {
    if (upper && std::max<size_t>(1, upper->whole.size()) < whole_) break;
    At start{.low = std::max<size_t>(1, lower.whole.size()) == whole_, .high = upper && std::max<size_t>(1, upper->whole.size()) == whole_};
    if (start.low) low_ = {padded(lower), lower_open};
    if (start.high) high_ = {padded(*upper), upper_open};
    if (const auto node = next_digits(start)) ways.push_back(*node);
  }
  if (ways.empty()) return std::nullopt;
  return builder_.choice(ways);
}

Node any_number(GrammarBuilder& builder, const NumberLimits& limits) {
  const auto digits = [&](char first) {
    ByteSet set;
    for (char c = first; c <= '9'; ++c) set.set(static_cast<size_t>(c));
    return builder.bytes(set);
  };
  const auto sequence = [&](std::initializer_list<Node> nodes) { return builder.sequence(std::span<const Node>(nodes.begin(), nodes.size())); };
  const auto choice = [&](std::initializer_list<Node> nodes) { return builder.choice(std::span<const Node>(nodes.begin(), nodes.size())); };
  const Node minus = builder.optional(builder.literal("-")), zero = builder.literal("0"), most = builder.repeat(digits('0'), 0, kDigits - 1);
  const Node natural = sequence({digits('1'), most});
  if (!limits.fractions) return choice({zero, sequence({minus, natural})});
  const Node whole = choice({zero, natural}), point = builder.literal(".");
  if (!limits.integers) return sequence({minus, whole, point, most, digits('1')});
  ByteSet e, sign;
  e.set('e').set('E'), sign.set('+').set('-');
  const Node exponent = sequence({builder.bytes(e), builder.optional(builder.bytes(sign)), builder.repeat(digits('0'), 1, 2)});
  return sequence({minus, whole, builder.optional(sequence({point, digits('0'), most})), builder.optional(exponent)});
}

// All multiples at once: their least common multiple, in units of 10^-digits.
std::optional<uint64_t> common_multiple(const std::vector<Decimal>& multiples, size_t digits) {
  uint64_t out = 1;
  for (const Decimal& multiple : multiples) {
    const auto unit = scaled(multiple, digits);
    if (!unit || *unit == 0) return std::nullopt;
    const uint64_t factor = *unit / std::gcd(out, *unit);
    if (factor > kMostModulus / out) return std::nullopt;
    out *= factor;
  }
  return out;
}

}  // namespace

Result<std::optional<Node>> number_grammar(GrammarBuilder& builder, const NumberLimits& limits) {
  std::optional<Node> nothing;
  if (!limits.integers && !limits.fractions) return nothing;
  if (!limits.bounded()) return std::optional<Node>(any_number(builder, limits));
  size_t fraction = 0, whole = kDigits;
  for (const auto* bound : {&limits.lower, &limits.upper})
    if (*bound) fraction = std::max(fraction, (*bound)->fraction.size());
  fraction = std::max(fraction, kDigits);
  if (!limits.multiples.empty()) {
    fraction = 0;
    for (const Decimal& multiple : limits.multiples) fraction = std::max(fraction, multiple.fraction.size());
  }
  if (!limits.fractions) fraction = 0;
  size_t units = fraction;  // decimal places in which the multiples are whole
  for (const Decimal& multiple : limits.multiples) units = std::max(units, multiple.fraction.size());
  const auto modulus = common_multiple(limits.multiples, units);
  if (!modulus || fraction > kMostDigits) return Error{Code::unsupported, "limits too fine"};
  // Integers that are multiples of 2.5 are those of 5: what the units beyond the point hold is divided out.
  uint64_t divisor = *modulus, scale = 1;
  for (size_t i = fraction; i < units; ++i) scale *= 10;
  divisor /= std::gcd(divisor, scale);
  if (divisor > 500) whole = std::min(whole, std::to_string(divisor).size() + 5);
  if (!limits.integers && fraction == 0) return nothing;

  const Decimal zero;
  std::vector<Node> ways;
  Magnitudes magnitudes(builder, limits, fraction, divisor);
  const auto add = [&](const Decimal& lower, bool lower_open, const std::optional<Decimal>& upper, bool upper_open, bool negative) -> Status {
    if (lower.whole.size() > kMostDigits) return Error{Code::unsupported, "bounds too large"};
    size_t most = lower.whole.size() < whole ? whole : lower.whole.size() + 1;
    if (upper && upper->whole.size() <= 20 && divisor == 1) most = std::max(most, upper->whole.size());
    const auto node = magnitudes.between(lower, lower_open, upper, upper_open, most);
    if (magnitudes.too_large()) return Error{Code::unsupported, "multiples too coarse"};
    if (!node) return ok_status();
    const std::array<Node, 2> signed_node{builder.literal("-"), *node};
    ways.push_back(negative ? builder.sequence(signed_node) : *node);
    return ok_status();
  };
  const bool below = !limits.lower || limits.lower->negative, above = !limits.upper || !limits.upper->negative;
  if (below) {
    const bool whole_side = !limits.upper || !limits.upper->negative;
    const Decimal near = whole_side ? zero : limits.upper->magnitude();
    const auto far = limits.lower ? std::optional(limits.lower->magnitude()) : std::nullopt;
    TRY_STATUS(add(near, whole_side || limits.upper_open, far, limits.lower_open, true));
  }
  if (above) {
    const bool whole_side = !limits.lower || limits.lower->negative;
    TRY_STATUS(add(whole_side ? zero : *limits.lower, !whole_side && limits.lower_open, limits.upper, limits.upper_open, false));
  }
  if (ways.empty()) return nothing;
  return std::optional<Node>(builder.choice(ways));
}
