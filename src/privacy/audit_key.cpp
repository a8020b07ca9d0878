// audit_key: Ed25519 from OpenSSL, its files, and the refusal to use a key that others can read.
#include "privacy/audit_key.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include "core/mapped_file.h"
#include "privacy/digest.h"
#include "privacy/file_descriptor.h"

namespace {

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;
using SigningContext = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;

constexpr size_t max_key_bytes = 64 << 10, public_bytes = 32, signature_bytes = 64;

std::shared_ptr<EVP_PKEY> owned(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }
bool is_ed25519(const std::shared_ptr<EVP_PKEY>& key) { return key && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519; }

std::string content_of(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return {data, size > 0 ? static_cast<size_t>(size) : 0};
}

std::shared_ptr<EVP_PKEY> read_pem(const std::string& text, bool secret) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  if (!bio) return nullptr;
  // A passphrase is never asked for: the callback has none.
  const auto none = [](char*, int, int, void*) { return -1; };
  return owned(secret ? PEM_read_bio_PrivateKey(bio.get(), nullptr, none, nullptr) : PEM_read_bio_PUBKEY(bio.get(), nullptr, none, nullptr));
}

std::string public_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  return bio && PEM_write_bio_PUBKEY(bio.get(), key) == 1 ? content_of(bio.get()) : "";
}

std::string secret_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_secmem()), BIO_free);
  return bio && PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1 ? content_of(bio.get()) : "";
}

// Whole or not at all, and never over a file that is there.
Status write_new_file(const std::string& path, const std::string& text, mode_t mode) {
  const std::string part = path + ".part";
  unlink(part.c_str());
  const FileDescriptor file(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  const bool written = file && write_all(file, text) && fchmod(file.get(), mode) == 0 && fsync(file.get()) == 0;
  const bool placed = written && link(part.c_str(), path.c_str()) == 0;
  unlink(part.c_str());
  if (!placed) return Error{Code::io, "cannot write " + path + ": " + last_system_error()};
  return ok_status();
}

Result<std::string> read_secret(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0) return Error{Code::io, "cannot read the audit key: " + path + ": " + last_system_error()};
  if (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0) return Error{Code::denied, "cannot use the audit key: " + path + ": others may read it, mode 600 expected"};
  std::string text(std::min(static_cast<size_t>(info.st_size), max_key_bytes), '\0');
  const ssize_t n = read(file.get(), text.data(), text.size());
  if (n < 0) return Error{Code::io, "cannot read the audit key: " + path + ": " + last_system_error()};
  text.resize(static_cast<size_t>(n));
  return text;
}

}  // namespace

AuditKey::AuditKey(Key key) : key_(std::move(key)) {
  std::array<unsigned char, public_bytes> raw{};
  size_t size = raw.size();
  CHECK(EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &size) == 1);  // it is an Ed25519 key
  id_ = sha256_hex({reinterpret_cast<const char*>(raw.data()), size}).substr(0, 16);
}

std::string AuditKey::public_path(const std::string& key_path) { return std::filesystem::path(key_path).replace_extension(".pub").string(); }

Result<AuditKey> AuditKey::open(const std::string& path) {
  const std::string public_file = public_path(path);
  if (public_file == path) return Error{Code::invalid_request, "cannot use the audit key: " + path + ": a name that does not end in .pub expected"};
  std::error_code error;
  const bool there = std::filesystem::exists(path, error), public_there = std::filesystem::exists(public_file, error);
  if (!there) {
    if (public_there) return Error{Code::not_found, "cannot use the audit key: " + path + " is missing while " + public_file + " is there"};
    const auto made = owned(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    if (!is_ed25519(made)) return Error{Code::internal, "cannot make the audit key: OpenSSL refuses Ed25519"};
    TRY_STATUS(write_new_file(path, secret_pem(made.get()), 0600));
  }
  TRY(std::string text, read_secret(path));
  const auto key = read_pem(text, true);
  std::ranges::fill(text, '\0');
  if (!is_ed25519(key)) return Error{Code::corrupt_file, "cannot use the audit key: " + path + ": no Ed25519 key in PEM"};
  const std::string pem = public_pem(key.get());
  if (!public_there) TRY_STATUS(write_new_file(public_file, pem, 0644));
  TRY(const std::string written, read_file(public_file, max_key_bytes));
  const auto half = read_pem(written, false);
  if (!is_ed25519(half) || EVP_PKEY_eq(half.get(), key.get()) != 1) return Error{Code::corrupt_file, "cannot use the audit key: " + public_file + " does not belong to " + path};
  return AuditKey(key);
}

Result<AuditKey> AuditKey::open_public(const std::string& path_or_hex) {
  if (const auto raw = from_hex(path_or_hex); raw && raw->size() == public_bytes) {
    const auto key = owned(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(raw->data()), raw->size()));
    if (is_ed25519(key)) return AuditKey(key);
  }
  TRY(const std::string text, read_file(path_or_hex, max_key_bytes));
  const auto key = read_pem(text, false);
  if (!is_ed25519(key)) return Error{Code::corrupt_file, "cannot read the public key: " + path_or_hex + ": no Ed25519 public key in PEM"};
  return AuditKey(key);
}

Result<std::string> AuditKey::sign(std::string_view text) const {
  const SigningContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::array<unsigned char, signature_bytes> signature{};
  size_t size = signature.size();
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 || EVP_DigestSign(context.get(), signature.data(), &size, data, text.size()) != 1)
    return Error{Code::internal, "cannot sign an audit line: OpenSSL refuses"};
  return to_hex({reinterpret_cast<const char*>(signature.data()), size});
}

bool AuditKey::verifies(std::string_view text, std::string_view signature) const {
  const auto raw = from_hex(signature);
  const SigningContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return raw && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(raw->data()), raw->size(), reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
}
