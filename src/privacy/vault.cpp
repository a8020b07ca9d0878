// vault: issuing placeholders, remembering them by keyed digests, and recognising values seen before.
#include "privacy/vault_parts.h"

#include <algorithm>
#include <bit>
#include <openssl/crypto.h>
#include "privacy/characters.h"
#include "privacy/digest.h"

namespace {

constexpr uint64_t prime = (uint64_t{1} << 61) - 1;
__extension__ typedef unsigned __int128 Wide;

uint64_t times_plus(uint64_t a, uint64_t b, uint64_t c) {
  const Wide product = static_cast<Wide>(a) * b + c;
  const uint64_t sum = static_cast<uint64_t>(product & prime) + static_cast<uint64_t>(product >> 61);
  return sum >= prime ? sum - prime : sum;
}
size_t filter_bit(char32_t first, char32_t second) { return (first * 0x9e3779b1u ^ second * 0x85ebca6bu) >> 8 & 0xffff; }

constexpr bool is_milestone(size_t letters) { return letters >= 4 && std::has_single_bit(letters); }

constexpr size_t chunk_bytes = 64 << 10, overlap_bytes = 1 << 10;  // a value of max_form_letters and its separators lies in an overlap

size_t whole_characters(std::string_view text, size_t at) {
  while (at < text.size() && at > 0 && continues(text[at])) --at;
  return at;
}

}  // namespace

Digest Vault::Parts::digest(std::string_view purpose, PrivacyClass cls, std::string_view text) const {
  std::string message;
  for (const std::string_view part : {purpose, name_of(cls), text}) message.append(part).push_back('\0');
  const auto sum = hmac_sha256(key.view(), message);
  wipe(message);
  Digest out;
  std::copy_n(sum.begin(), out.size(), out.begin());
  return out;
}

Status Vault::Parts::set_key(std::string_view key32) {
  TRY(key, Secret::of(key32));
  std::string bases;
  for (const char* purpose : {"base one", "base two"}) {
    const Digest bytes = digest(purpose, PrivacyClass::opaque, "");
    bases.append(reinterpret_cast<const char*>(bytes.data()), 8);
  }
  TRY(hash_bases, Secret::of(bases));
  wipe(bases);
  return ok_status();
}

FormHash Vault::Parts::hash_begin() const {
  FormHash out;
  std::memcpy(&out.base1, hash_bases.view().data(), 8);
  std::memcpy(&out.base2, hash_bases.view().data() + 8, 8);
  out.base1 %= prime, out.base2 %= prime;
  return out;
}

void FormHash::add(char32_t c) {
  value1 = times_plus(value1, base1, c + 1);
  value2 = times_plus(value2, base2, c + 1);
}

void Vault::Parts::add_form(const std::vector<Letter>& letters, LetterRange range, Form::Kind kind, uint32_t entity) {
  const size_t size = range.end - range.begin;
  if (size < 2 || size > max_form_letters) return;
  FormHash hash = hash_begin();
  for (size_t i = range.begin; i < range.end; ++i) {
    hash.add(letters[i].value);
    if (is_milestone(i - range.begin + 1)) beginnings.insert(hash.value1);
  }
  forms.emplace(hash.value1, Form{hash.value2, entity, static_cast<uint8_t>(size), kind});
  filter.set(filter_bit(letters[range.begin].value, letters[range.begin + 1].value));
}

// The spellings by which a value is recognised in a text.
void Vault::Parts::add_forms(PrivacyClass cls, std::string_view value, uint32_t entity) {
  const std::vector<Letter> letters = letters_of(value);
  const LetterRange all{0, letters.size()};
  const bool one_word = cls == PrivacyClass::person && std::none_of(letters.begin() + (letters.empty() ? 0 : 1), letters.end(), [](const Letter& letter) { return letter.starts; });
  if (is_telling(letters, all)) add_form(letters, all, one_word ? Form::Kind::part : Form::Kind::whole, entity);
  if (cls == PrivacyClass::person) {
    for (const LetterRange part : parts_of_name(letters)) add_form(letters, part, Form::Kind::part, entity);
  }
  if (!compares_digits(cls)) return;
  std::vector<Letter> digits;
  std::copy_if(letters.begin(), letters.end(), std::back_inserter(digits), [](const Letter& letter) { return letter.kind == Letter::Kind::digit; });
  if (digits.size() >= min_bare_digits && digits.size() < letters.size()) add_form(digits, {0, digits.size()}, Form::Kind::digits, entity);
  if (cls == PrivacyClass::phone && value.find('+') != std::string_view::npos) add_national_forms(std::move(digits), entity);
}

// +886 912 345 678 at home: with one to three digits of the country gone, and a 0 in their place or not.
void Vault::Parts::add_national_forms(std::vector<Letter> digits, uint32_t entity) {
  for (size_t country = 1; country <= 3 && digits.size() >= country + min_bare_digits; ++country) {
    add_form(digits, {country, digits.size()}, Form::Kind::digits, entity);
    digits[country - 1].value = '0';
    add_form(digits, {country - 1, digits.size()}, Form::Kind::digits, entity);
  }
}

// The one value of `cls` that these letters stand for; nullopt when there is none, or more than one.
std::optional<uint32_t> Vault::Parts::entity_of(PrivacyClass cls, std::string_view value) const {
  if (cls != PrivacyClass::person && !compares_digits(cls)) return std::nullopt;
  FormHash hash = hash_begin();
  const std::vector<Letter> letters = letters_of(value);
  for (const Letter& letter : letters) hash.add(letter.value);
  std::optional<uint32_t> found;
  const auto [begin, end] = forms.equal_range(hash.value1);
  for (auto it = begin; it != end; ++it) {
    const Form& form = it->second;
    if (form.check != hash.value2 || form.letters != letters.size() || entities[form.entity].cls != cls) continue;
    if (found && *found != form.entity) return std::nullopt;
    found = form.entity;
  }
  return found;
}

std::string Vault::Parts::issue(PrivacyClass cls, std::string_view text) {
  const std::string_view type = placeholder_type(cls);
  int length = min_code;
  for (uint32_t attempt = 0;; ++attempt) {
    const Digest bits = digest("placeholder " + std::to_string(attempt), cls, text);
    std::string out = make_placeholder(type, bits, length);
    if (out.empty()) continue;
    if (placeholders.insert(out).second) return out;
    length = std::min(length + 1, max_code);
  }
}

const std::string& Vault::Parts::placeholder(PrivacyClass cls, std::string_view value, bool exact) {
  const std::string text = exact ? std::string(value) : normalised(cls, value);
  const Digest digest = this->digest(exact ? "exact" : "value", cls, text);
  if (const auto known = values.find(digest); known != values.end()) return entities[known->second].placeholder;
  ++revision;
  if (!exact) {
    if (const auto entity = entity_of(cls, value)) {
      values.emplace(digest, *entity);
      return entities[*entity].placeholder;
    }
  }
  const auto entity = static_cast<uint32_t>(entities.size());
  entities.push_back({cls, issue(cls, (exact ? "exact " : "value ") + text)});
  values.emplace(digest, entity);
  if (!exact) add_forms(cls, value, entity);
  return entities.back().placeholder;
}

Vault::Vault(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Vault::~Vault() = default;

Result<std::shared_ptr<Vault>> Vault::make(std::string_view key32) {
  if (key32.size() != 32) return Error{Code::internal, "cannot make a vault: its key must have 32 bytes"};
  auto parts = std::make_unique<Parts>();
  TRY_STATUS(parts->set_key(key32));
  return std::shared_ptr<Vault>(new Vault(std::move(parts)));
}

std::string Vault::placeholder(PrivacyClass cls, std::string_view value, bool exact) {
  const std::lock_guard lock(parts_->mutex);
  return parts_->placeholder(cls, value, exact);
}

std::optional<std::string> Vault::issued(PrivacyClass cls, std::string_view value) const {
  const std::shared_lock lock(parts_->mutex);
  const auto known = parts_->values.find(parts_->digest("value", cls, normalised(cls, value)));
  if (known != parts_->values.end()) return parts_->entities[known->second].placeholder;
  if (const auto entity = parts_->entity_of(cls, value)) return parts_->entities[*entity].placeholder;
  return std::nullopt;
}

bool Vault::has_issued(std::string_view placeholder) const {
  const std::shared_lock lock(parts_->mutex);
  return parts_->placeholders.contains(upper(placeholder));
}

size_t Vault::size() const {
  const std::shared_lock lock(parts_->mutex);
  return parts_->entities.size();
}

uint64_t Vault::revision() const {
  const std::shared_lock lock(parts_->mutex);
  return parts_->revision;
}

// The longest value that begins at letters[at]; its class and the index of its last letter.
std::optional<Vault::Parts::Hit> Vault::Parts::longest_at(std::string_view text, const std::vector<Letter>& letters, size_t at) const {
  std::optional<Hit> best;
  FormHash hash = hash_begin();
  for (size_t i = at; i < letters.size() && i - at < max_form_letters; ++i) {
    if (i > at && letters[i].far) break;
    if (i == at + 1 && !filter.test(filter_bit(letters[at].value, letters[i].value))) break;
    hash.add(letters[i].value);
    if (is_milestone(i - at + 1) && !beginnings.contains(hash.value1)) break;
    if (i + 1 < letters.size() && !letters[i + 1].starts) continue;
    const auto [begin, end] = forms.equal_range(hash.value1);
    for (auto it = begin; it != end; ++it) {
      const Form& form = it->second;
      if (form.check != hash.value2 || form.letters != i - at + 1) continue;
      if (form.kind == Form::Kind::part && letters[at].small) continue;  // "will" is not Will
      const PrivacyClass cls = entities[form.entity].cls;
      const std::string_view span = text.substr(letters[at].begin, letters[i].end - letters[at].begin);
      if (compares_punctuation(cls) && cls != PrivacyClass::email && !values.contains(digest("value", cls, normalised(cls, span)))) continue;
      if (!best || best->last < i || form.kind == Form::Kind::whole) best = Hit{cls, i};
    }
  }
  return best;
}

void Vault::Parts::recurrences_in(std::string_view text, size_t offset, char32_t before, size_t accept, std::vector<Finding>& out) const {
  const std::vector<Letter> letters = letters_of(text, before);
  for (size_t i = 0; i < letters.size() && letters[i].begin < accept; ++i) {
    if (!letters[i].starts || (!out.empty() && offset + letters[i].begin < out.back().end)) continue;
    const auto hit = longest_at(text, letters, i);
    if (!hit) continue;
    Finding finding;
    finding.cls = hit->cls;
    finding.kind = "known";
    finding.detector = "vault";
    finding.begin = offset + letters[i].begin;
    finding.end = offset + letters[hit->last].end;
    finding.score = 1;
    out.push_back(std::move(finding));
    i = hit->last;
  }
}

std::vector<Finding> Vault::recurrences(std::string_view text) const {
  const std::shared_lock lock(parts_->mutex);
  std::vector<Finding> out;
  if (parts_->forms.empty()) return out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.size() - at <= chunk_bytes ? text.size() : whole_characters(text, at + chunk_bytes);
    const bool last = end == text.size();
    const size_t accept = last ? end : whole_characters(text, end - overlap_bytes);
    const char32_t before = at == 0 ? 0 : code_point_before(text, at).value;
    parts_->recurrences_in(text.substr(at, end - at), at, before, accept - at, out);
    at = last ? end : accept;
  }
  return out;
}
