// ledger: the values behind one request's placeholders, in locked memory.
#include <map>
#include "privacy/clean.h"
#include "privacy/secure_memory.h"

struct Ledger::Parts {
  struct Value { PrivacyClass cls; Secret spelling; };
  std::map<std::string, Value, std::less<>> values;  // by placeholder, in capitals
};

Ledger::Ledger() : parts_(std::make_unique<Parts>()) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

Status Ledger::add(std::string_view placeholder, PrivacyClass cls, std::string_view spelling) {
  std::string key = upper(placeholder);
  if (parts_->values.contains(key)) return ok_status();
  TRY(Secret secret, Secret::of(spelling));
  parts_->values.emplace(std::move(key), Parts::Value{cls, std::move(secret)});
  return ok_status();
}

std::optional<std::string_view> Ledger::original(std::string_view placeholder) const {
  if (placeholder.size() > max_placeholder) return std::nullopt;
  const auto found = parts_->values.find(upper(placeholder));
  if (found == parts_->values.end()) return std::nullopt;
  return found->second.spelling.view();
}

bool Ledger::begins_one(std::string_view text) const {
  if (text.size() >= max_placeholder) return false;
  const std::string prefix = upper(text);
  const auto found = parts_->values.upper_bound(prefix);
  return found != parts_->values.end() && found->first.starts_with(prefix);
}

std::vector<Ledger::Entry> Ledger::entries() const {
  std::vector<Entry> out;
  for (const auto& [placeholder, value] : parts_->values) out.push_back({placeholder, value.cls});
  return out;
}

size_t Ledger::size() const { return parts_->values.size(); }
