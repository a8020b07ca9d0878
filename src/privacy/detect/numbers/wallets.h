// wallets: addresses and keys of crypto-currencies: long words with checks of their own.
#pragma once
#include "privacy/detect/detect.h"

namespace numbers {

class WalletDetector final : public Detector {
 public:
  explicit WalletDetector(LabelBook& book);
  std::string_view name() const override { return "wallets"; }
  void find(const Page& page, std::vector<Hit>& out) const override;

 private:
  void judge(const Page& page, size_t begin, size_t end, std::vector<Hit>& out) const;

  LabelSet wallet_words_, ethereum_words_, solana_words_, key_words_;
};

}  // namespace numbers
