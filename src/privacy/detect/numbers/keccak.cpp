// keccak: the permutation of 25 lanes of 64 bits, 24 rounds, and one block of the sponge.
#include "privacy/detect/numbers/keccak.h"

#include <bit>

namespace numbers {
namespace {

using State = std::array<uint64_t, 25>;  // lane (x, y) at x + 5 y

// The bit of round constant i, from the linear-feedback register of the standard.
class RoundBits {
 public:
  bool next() {
    const bool out = register_ & 1;
    register_ = static_cast<uint8_t>(register_ << 1 ^ (register_ >> 7 ? 0x71 : 0));
    return out;
  }

 private:
  uint8_t register_ = 1;
};

constexpr size_t rounds = 24;
const std::array<uint64_t, rounds> round_constants = [] {
  std::array<uint64_t, rounds> out{};
  RoundBits bits;
  for (uint64_t& constant : out) {
    for (int j = 0; j < 7; ++j) {
      if (bits.next()) constant |= uint64_t{1} << ((1 << j) - 1);
    }
  }
  return out;
}();

void theta(State& a) {
  uint64_t column[5];
  for (size_t x = 0; x < 5; ++x) column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
  for (size_t x = 0; x < 5; ++x) {
    const uint64_t both = column[(x + 4) % 5] ^ std::rotl(column[(x + 1) % 5], 1);
    for (size_t y = 0; y < 25; y += 5) a[x + y] ^= both;
  }
}

// Where the lanes move, one to the next, and by how much each is turned.
struct Move { size_t to; int turn; };
constexpr std::array<Move, 24> moves = [] {
  std::array<Move, 24> out{};
  size_t x = 1, y = 0;
  for (int t = 0; t < 24; ++t) {
    const size_t next_y = (2 * x + 3 * y) % 5;
    x = y;
    y = next_y;
    out[static_cast<size_t>(t)] = {x + 5 * y, (t + 1) * (t + 2) / 2 % 64};
  }
  return out;
}();

void rho_and_pi(State& a) {
  uint64_t moving = a[1];
  for (const Move move : moves) {
    const uint64_t moved = std::rotl(moving, move.turn);
    moving = a[move.to];
    a[move.to] = moved;
  }
}

void chi(State& a) {
  for (size_t y = 0; y < 25; y += 5) {
    const std::array<uint64_t, 5> row = {a[y], a[y + 1], a[y + 2], a[y + 3], a[y + 4]};
    for (size_t x = 0; x < 5; ++x) a[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
  }
}

}  // namespace

std::array<uint8_t, 32> keccak_256(std::string_view message) {
  constexpr size_t rate = 136;
  uint8_t block[rate] = {};
  const size_t length = message.copy(reinterpret_cast<char*>(block), rate - 1);
  block[length] = 0x01;
  block[rate - 1] |= 0x80;
  State state{};
  for (size_t i = 0; i < rate; ++i) state[i / 8] ^= static_cast<uint64_t>(block[i]) << 8 * (i % 8);
  for (const uint64_t constant : round_constants) {
    theta(state);
    rho_and_pi(state);
    chi(state);
    state[0] ^= constant;
  }
  std::array<uint8_t, 32> out;
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(state[i / 8] >> 8 * (i % 8));
  return out;
}

}  // namespace numbers
