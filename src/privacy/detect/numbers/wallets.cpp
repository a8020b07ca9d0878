// wallets: every word of 25 to 120 letters and digits is looked at by its first characters.
#include "privacy/detect/numbers/wallets.h"

#include <algorithm>
#include <optional>
#include "privacy/detect/numbers/base58.h"
#include "privacy/detect/numbers/bech32.h"
#include "privacy/detect/numbers/chains.h"
#include "privacy/detect/numbers/keccak.h"

namespace numbers {
namespace {

constexpr size_t shortest = 25, longest = 120;

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos; }

// Version byte and length of what base58check carries.
struct Coin { std::string_view kind; PrivacyClass cls; uint8_t version; size_t size; };
constexpr Coin coins[] = {
    {"bitcoin", PrivacyClass::crypto, 0x00, 21},    {"bitcoin", PrivacyClass::crypto, 0x05, 21},  {"litecoin", PrivacyClass::crypto, 0x30, 21},
    {"litecoin", PrivacyClass::crypto, 0x32, 21},   {"dogecoin", PrivacyClass::crypto, 0x1e, 21}, {"tron", PrivacyClass::crypto, 0x41, 21},
    {"bitcoin_testnet", PrivacyClass::crypto, 0x6f, 21},
    {"bitcoin_wif", PrivacyClass::secret, 0x80, 33}, {"bitcoin_wif", PrivacyClass::secret, 0x80, 34}, {"bitcoin_wif", PrivacyClass::secret, 0xef, 34},
};

std::optional<Coin> base58_coin(std::string_view word) {
  const std::optional<Base58> data = from_base58_checked(word);
  if (!data) return std::nullopt;
  const auto* const found = std::ranges::find_if(coins, [&](const Coin& coin) { return coin.version == data->bytes[0] && coin.size == data->size; });
  if (found != std::end(coins)) return *found;
  const bool extended = data->size == 78;  // BIP 32
  if (extended && word.substr(1).starts_with("prv")) return Coin{"bitcoin_extended_key", PrivacyClass::secret, 0, 0};
  if (extended && word.substr(1).starts_with("pub")) return Coin{"bitcoin_extended_public_key", PrivacyClass::crypto, 0, 0};
  return std::nullopt;
}

bool maybe_base58(std::string_view word) {
  if (word.size() <= 35) return std::string_view("13LMDTmn2").find(word[0]) != std::string_view::npos;
  if (word.size() <= 52) return word.size() >= 51 && std::string_view("5KL9c").find(word[0]) != std::string_view::npos;
  return word.size() >= 107 && word.size() <= 112 && (word.substr(1).starts_with("prv") || word.substr(1).starts_with("pub"));
}

// EIP-55: a letter is upper case where the hash of the lower-case address has a digit of 8 or more. One case throughout carries no check.
enum class Case { one, right, wrong };
Case ethereum_case(std::string_view hex) {
  char lower[40];
  std::ranges::transform(hex, lower, [](char c) { return static_cast<char>(c | 0x20); });  // digits have that bit
  const bool has_upper = std::ranges::any_of(hex, [](char c) { return c >= 'A' && c <= 'F'; });
  const bool has_lower = std::ranges::any_of(hex, [](char c) { return c >= 'a'; });
  if (!has_upper || !has_lower) return Case::one;
  const auto hash = keccak_256({lower, 40});
  for (size_t i = 0; i < 40; ++i) {
    const bool high = (i % 2 == 0 ? hash[i / 2] >> 4 : hash[i / 2] & 15) >= 8;
    if (hex[i] > '9' && (hex[i] <= 'F') != high) return Case::wrong;
  }
  return Case::right;
}

}  // namespace

WalletDetector::WalletDetector(LabelBook& book)
    : wallet_words_(book.add({"bitcoin", "btc", "wallet", "wallet address", "address", "crypto", "錢包", "钱包", "錢包地址", "钱包地址", "地址", "比特幣", "比特币", "收款地址", "ウォレット",
                              "アドレス", "ビットコイン", "지갑", "주소", "비트코인"})),
      ethereum_words_(book.add({"ethereum", "eth", "ether", "wallet", "wallet address", "address", "usdt", "erc20", "以太坊", "錢包", "钱包", "地址", "イーサリアム", "ウォレット", "이더리움", "지갑"})),
      solana_words_(book.add({"solana", "sol", "phantom", "solana wallet", "solana address", "spl", "wallet", "wallet address", "錢包", "钱包", "錢包地址", "钱包地址", "ウォレット", "지갑"})),
      key_words_(book.add({"private key", "privkey", "secret key", "priv key", "私鑰", "私钥", "秘密鍵", "개인키", "비밀키", "clave privada", "privater schlüssel", "clé privée"})) {}

// A word of `shortest` covers a multiple of that: most of prose is never read.
void WalletDetector::find(const Page& page, std::vector<Hit>& out) const {
  const std::string_view text = page.text;
  size_t begin = 0;  // nothing before belongs to a word that is open here
  while (begin + shortest <= text.size()) {
    size_t at = begin + shortest;
    while (at > begin && is_alnum(text[at - 1])) --at;
    if (at > begin) {
      begin = at;
      continue;
    }
    size_t end = begin + shortest;
    while (end < text.size() && is_alnum(text[end])) ++end;
    if (end - begin <= longest) judge(page, begin, end, out);
    begin = end;
  }
}

void WalletDetector::judge(const Page& page, size_t begin, size_t end, std::vector<Hit>& out) const {
  const std::string_view word = page.text.substr(begin, end - begin);
  const auto hit = [&](PrivacyClass cls, std::string_view kind, float score, bool validated) {
    if (at_word_start(page.text, begin) && at_word_end(page.text, end)) out.push_back({.cls = cls, .kind = kind, .begin = begin, .end = end, .score = score, .validated = validated});
  };
  const bool prefixed = word.starts_with("0x") || word.starts_with("0X");
  const std::string_view digits = word.substr(prefixed ? 2 : 0);
  if (digits.size() == 64 && is_hex(digits)) {
    if (page.labels.near(key_words_, begin, end)) hit(PrivacyClass::secret, "private_key_hex", 0.9f, false);
    return;
  }
  if (prefixed && digits.size() == 40 && is_hex(digits)) {
    const Case letters = ethereum_case(digits);
    const float unchecked = page.labels.near(ethereum_words_, begin, end) ? 0.95f : 0.7f;
    if (letters == Case::right) hit(PrivacyClass::crypto, "ethereum", 0.98f, true);
    else if (letters == Case::one) hit(PrivacyClass::crypto, "ethereum", unchecked, false);
    else if (unchecked > 0.9f) hit(PrivacyClass::crypto, "ethereum", 0.6f, false);
    return;
  }
  if (is_segwit_address(word)) return hit(PrivacyClass::crypto, word[0] == 'l' || word[0] == 'L' ? "litecoin" : "bitcoin", 0.98f, true);
  if (maybe_base58(word)) {
    if (const std::optional<Coin> coin = base58_coin(word)) return hit(coin->cls, coin->kind, 0.98f, true);
  }
  if (word.size() < 32 || word.size() > 44) {
    if (word.size() <= 35 && maybe_base58(word) && from_base58(word) && page.labels.introduces(wallet_words_, begin)) hit(PrivacyClass::crypto, "address", 0.5f, false);
    return;
  }
  if (!page.labels.near(solana_words_, begin, end)) return;
  if (const auto data = from_base58(word); data && data->size == 32) hit(PrivacyClass::crypto, "solana", 0.85f, false);
}

}  // namespace numbers
