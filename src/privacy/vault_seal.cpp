// vault: a vault as sealed bytes: AES-256-GCM over its key, digests and forms.
#include <algorithm>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include "privacy/vault_parts.h"

namespace {

constexpr std::string_view magic = "calla vault 1\n";
constexpr size_t nonce_bytes = 12, tag_bytes = 16;

struct Context {
  EVP_CIPHER_CTX* it = EVP_CIPHER_CTX_new();
  ~Context() { EVP_CIPHER_CTX_free(it); }
};
const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
Error cannot(const char* what) { return {Code::internal, std::string("cannot ") + what + " a vault: OpenSSL failed"}; }

// magic, nonce, ciphertext, tag; the magic is authenticated.
Result<std::string> encrypt(std::string_view key32, std::string_view plain) {
  Context context;
  std::string out(magic);
  out.resize(magic.size() + nonce_bytes + plain.size() + tag_bytes);
  unsigned char* nonce = bytes_of(out) + magic.size();
  unsigned char* body = nonce + nonce_bytes;
  int n = 0;
  const bool good = key32.size() == 32 && context.it && RAND_bytes(nonce, nonce_bytes) == 1 && EVP_EncryptInit_ex(context.it, EVP_aes_256_gcm(), nullptr, bytes_of(key32), nonce) == 1 &&
                    EVP_EncryptUpdate(context.it, nullptr, &n, bytes_of(magic), static_cast<int>(magic.size())) == 1 &&
                    EVP_EncryptUpdate(context.it, body, &n, bytes_of(plain), static_cast<int>(plain.size())) == 1 && EVP_EncryptFinal_ex(context.it, body + plain.size(), &n) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context.it, EVP_CTRL_GCM_GET_TAG, tag_bytes, body + plain.size()) == 1;
  if (!good) return cannot("seal");
  return out;
}

Result<std::string> decrypt(std::string_view key32, std::string_view sealed) {
  const Error damaged{Code::corrupt_file, "cannot open a sealed vault: it is damaged, or was sealed with another key"};
  if (key32.size() != 32 || !sealed.starts_with(magic) || sealed.size() < magic.size() + nonce_bytes + tag_bytes) return damaged;
  const std::string_view nonce = sealed.substr(magic.size(), nonce_bytes), body = sealed.substr(magic.size() + nonce_bytes);
  std::string tag(body.substr(body.size() - tag_bytes)), plain(body.size() - tag_bytes, '\0');
  Context context;
  int n = 0;
  const bool good = context.it && EVP_DecryptInit_ex(context.it, EVP_aes_256_gcm(), nullptr, bytes_of(key32), bytes_of(nonce)) == 1 &&
                    EVP_DecryptUpdate(context.it, nullptr, &n, bytes_of(magic), static_cast<int>(magic.size())) == 1 &&
                    EVP_DecryptUpdate(context.it, bytes_of(plain), &n, bytes_of(body), static_cast<int>(plain.size())) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context.it, EVP_CTRL_GCM_SET_TAG, tag_bytes, tag.data()) == 1 && EVP_DecryptFinal_ex(context.it, bytes_of(plain) + plain.size(), &n) == 1;
  if (!good) return wipe(plain), damaged;
  return plain;
}

// Little-endian numbers and short strings, one after the other.
class Writer {
 public:
  template <class T> void number(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  void text(std::string_view value) {
    number(static_cast<uint8_t>(value.size()));
    out += value;
  }
  std::string out;
};
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  template <class T> T number() {
    uint64_t value = 0;
    const std::string_view bytes = take(sizeof(T));
    for (size_t i = 0; i < bytes.size(); ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return static_cast<T>(value);
  }
  std::string_view take(size_t n) {
    if (n > in_.size()) good_ = false, n = 0;
    const std::string_view out = in_.substr(0, n);
    in_.remove_prefix(n);
    return out;
  }
  bool good() const { return good_; }
  size_t left() const { return in_.size(); }

 private:
  std::string_view in_;
  bool good_ = true;
};

}  // namespace

Result<std::string> Vault::seal(std::string_view key32) const {
  const std::shared_lock lock(parts_->mutex);
  Writer writer;
  writer.out += parts_->key.view();
  writer.number(static_cast<uint32_t>(parts_->entities.size()));
  for (const Parts::Entity& entity : parts_->entities) writer.text(name_of(entity.cls)), writer.text(entity.placeholder);
  writer.number(static_cast<uint32_t>(parts_->values.size()));
  for (const auto& [digest, entity] : parts_->values) writer.out.append(reinterpret_cast<const char*>(digest.data()), digest.size()), writer.number(entity);
  writer.number(static_cast<uint32_t>(parts_->forms.size()));
  for (const auto& [hash, form] : parts_->forms) writer.number(hash), writer.number(form.check), writer.number(form.entity), writer.number(form.letters), writer.number(static_cast<uint8_t>(form.kind));
  writer.number(static_cast<uint32_t>(parts_->beginnings.size()));
  for (const uint64_t hash : parts_->beginnings) writer.number(hash);
  for (size_t i = 0; i < parts_->filter.size(); i += 64) {
    uint64_t word = 0;
    for (size_t k = 0; k < 64; ++k) word |= uint64_t{parts_->filter.test(i + k)} << k;
    if (word != 0) writer.number(static_cast<uint16_t>(i / 64)), writer.number(word);
  }
  auto sealed = encrypt(key32, writer.out);
  wipe(writer.out);
  return sealed;
}

Result<std::shared_ptr<Vault>> Vault::unseal(std::string_view sealed, std::string_view key32) {
  TRY(std::string plain, decrypt(key32, sealed));
  Reader reader(plain);
  auto vault = make(reader.take(32));
  if (!vault) return wipe(plain), vault;
  Parts& parts = *(*vault)->parts_;
  const auto n_entities = reader.number<uint32_t>();
  for (uint32_t i = 0; i < n_entities && reader.good(); ++i) {
    const auto cls = class_named(reader.take(reader.number<uint8_t>()));
    const std::string placeholder(reader.take(reader.number<uint8_t>()));
    parts.entities.push_back({cls.value_or(PrivacyClass::opaque), placeholder});
    parts.placeholders.insert(placeholder);
  }
  const auto n_values = reader.number<uint32_t>();
  for (uint32_t i = 0; i < n_values && reader.good(); ++i) {
    Digest digest{};
    const std::string_view bytes = reader.take(digest.size());
    std::copy(bytes.begin(), bytes.end(), digest.begin());
    parts.values.emplace(digest, reader.number<uint32_t>());
  }
  const auto n_forms = reader.number<uint32_t>();
  for (uint32_t i = 0; i < n_forms && reader.good(); ++i) {
    const auto hash = reader.number<uint64_t>(), check = reader.number<uint64_t>();
    const auto entity = reader.number<uint32_t>();
    const auto letters = reader.number<uint8_t>(), kind = reader.number<uint8_t>();
    parts.forms.emplace(hash, Parts::Form{check, entity, letters, static_cast<Parts::Form::Kind>(kind)});
  }
  const auto n_beginnings = reader.number<uint32_t>();
  for (uint32_t i = 0; i < n_beginnings && reader.good(); ++i) parts.beginnings.insert(reader.number<uint64_t>());
  while (reader.good() && reader.left() > 0) {
    const size_t at = size_t{reader.number<uint16_t>()} * 64;
    const auto word = reader.number<uint64_t>();
    for (size_t k = 0; k < 64 && at + k < parts.filter.size(); ++k) {
      if (word >> k & 1) parts.filter.set(at + k);
    }
  }
  const bool good = reader.good() && std::all_of(parts.values.begin(), parts.values.end(), [&](const auto& value) { return value.second < parts.entities.size(); }) &&
                    std::all_of(parts.forms.begin(), parts.forms.end(), [&](const auto& form) { return form.second.entity < parts.entities.size(); });
  wipe(plain);
  if (!good) return Error{Code::corrupt_file, "cannot open a sealed vault: it ends too early"};
  return vault;
}
