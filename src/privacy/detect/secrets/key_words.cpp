// key_words: words that name a secret.
#include "privacy/detect/secrets/key_words.h"
#include <algorithm>
#include <array>
#include "privacy/detect/secrets/shape.h"

namespace credential {

namespace {

using enum KeyKind;
constexpr KeyWord words[] = {
    // English, and what programs call it
    {"password", password, true}, {"passwords", password}, {"passwd", password, true}, {"passwort", password, true}, {"paswd", password}, {"paswrd", password}, {"pasword", password}, {"passwrd", password},
    {"pswd", password, true}, {"psswd", password}, {"pswrd", password}, {"psword", password}, {"psswrd", password}, {"pssword", password}, {"userpwd", password, true}, {"accesspwd", password}, {"passowrd", password}, {"passworsd", password}, {"paasword", password},
    {"pwd", password}, {"pass", password}, {"passcode", password, true}, {"pw", password}, {"p/w", password}, {"pwrd", password}, {"passw", password}, {"userpass", password}, {"dbpass", password}, {"mysqlpass", password}, {"dbpw", password},
    {"passphrase", phrase, true}, {"pass phrase", phrase}, {"pass-phrase", phrase}, {"pass word", password}, {"pass code", password}, {"lockbox combination", password}, {"safe combination", password},
    {"secret", token, true}, {"token", token, true}, {"apikey", token, true}, {"api key", token}, {"api_key", token, true}, {"api-key", token, true}, {"access key", token}, {"access_key", token, true}, {"access-key", token},
    {"accesskey", token, true}, {"secret key", token}, {"secretkey", token, true}, {"secret_key", token, true}, {"secret-key", token}, {"private key", token}, {"privatekey", token, true}, {"private_key", token, true},
    {"private-key", token}, {"auth key", token}, {"auth_key", token, true}, {"auth-key", token}, {"authkey", token, true}, {"authentication key", token}, {"encryption key", token}, {"encryption_key", token, true}, {"encryptionkey", token, true},
    {"signing key", token}, {"signing_key", token, true}, {"signingkey", token}, {"master key", token}, {"master_key", token, true}, {"masterkey", token}, {"account key", token}, {"account_key", token}, {"accountkey", token, true},
    {"shared key", token}, {"sharedaccesskey", token, true}, {"shared_key", token}, {"license key", token}, {"licence key", token}, {"license_key", token}, {"activation key", token}, {"product key", token}, {"recovery key", token}, {"app_key", token},
    {"app key", token}, {"client secret", token}, {"session key", token}, {"session_key", token}, {"webhook secret", token}, {"service key", token}, {"service_key", token}, {"deploy key", token}, {"deploy_key", token}, {"hmac key", token}, {"hmac_key", token},
    {"credential", token}, {"credentials", login}, {"creds", login}, {"auth", token}, {"_auth", token}, {"authorization", token}, {"oauth", token}, {"bearer", token}, {"jwt", token}, {"salt", token}, {"nonce", token}, {"key", token}, {"pkey", token}, {"sercret", token}, {"secrets", token},
    {"instrumentationkey", token}, {"consumer_key", token}, {"consumerkey", token}, {"storage_key", token}, {"subscription_key", token}, {"subscription-key", token}, {"db_key", token}, {"ssh_key", token}, {"sessionid", token}, {"session_id", token},
    {"secret_key_base", token, true}, {"aes_key", token}, {"aes key", token}, {"wifi key", password}, {"wpa key", password}, {"psk", password}, {"login", login}, {"log in", login}, {"sign in", login}, {"logins", login},
    {"pin", code}, {"pin code", code}, {"pin number", code}, {"pincode", code}, {"otp", code}, {"one-time code", code}, {"one time code", code}, {"one-time password", code}, {"one time password", code}, {"one-time passcode", code}, {"verification code", code},
    {"security code", code}, {"login code", code}, {"access code", code}, {"auth code", code}, {"authentication code", code}, {"confirmation code", code}, {"2fa code", code}, {"mfa code", code}, {"sms code", code}, {"2fa", code}, {"totp", code},
    {"door code", code}, {"gate code", code}, {"alarm code", code}, {"unlock code", code}, {"entry code", code}, {"sign-in code", code}, {"passcode is", code}, {"tan", code}, {"backup code", token}, {"recovery code", token},
    // Chinese
    {"密碼", password}, {"密码", password}, {"口令", password}, {"通行碼", password}, {"通关码", password}, {"暗號", password}, {"暗号", password}, {"金鑰", token}, {"密鑰", token}, {"密钥", token}, {"秘钥", token}, {"秘鑰", token}, {"私鑰", token}, {"私钥", token}, {"憑證碼", token}, {"令牌", token}, {"權杖", token}, {"凭证", token},
    {"驗證碼", code}, {"验证码", code}, {"校验码", code}, {"校驗碼", code}, {"認證碼", code}, {"动态码", code}, {"動態密碼", code}, {"动态密码", code}, {"安全碼", code}, {"pin 碼", code}, {"pin碼", code}, {"pin码", code}, {"門禁密碼", password}, {"帳密", login}, {"账密", login}, {"帳號密碼", login}, {"账号密码", login}, {"帳號/密碼", login}, {"账号/密码", login},
    // Spanish, French, German, Portuguese, Italian, Dutch, Polish, Swedish, Turkish, Indonesian, Vietnamese, Czech, Finnish, Danish
    {"contraseña", password}, {"contrasena", password}, {"contrasenya", password}, {"clave", password}, {"mot de passe", password}, {"mdp", password}, {"kennwort", password}, {"passwörter", password}, {"zugangscode", password}, {"schlüssel", token}, {"geheimnis", token}, {"senha", password},
    {"palavra-passe", password}, {"palavra passe", password}, {"parola d'ordine", password}, {"parola", password}, {"wachtwoord", password}, {"hasło", password}, {"haslo", password}, {"lösenord", password}, {"losenord", password}, {"passord", password}, {"adgangskode", password}, {"salasana", password}, {"heslo", password}, {"jelszó", password},
    {"şifre", password}, {"sifre", password}, {"parolă", password}, {"kata sandi", password}, {"sandi", password}, {"mật khẩu", password}, {"mat khau", password}, {"κωδικός", password}, {"clé api", token}, {"clave api", token}, {"clave secreta", token}, {"código de verificación", code}, {"code de vérification", code}, {"bestätigungscode", code},
    // Russian, Ukrainian, Japanese, Korean, Arabic, Hebrew, Hindi, Thai
    {"пароль", password}, {"пароли", password}, {"паролем", password}, {"токен", token}, {"ключ api", token}, {"パスワード", password}, {"暗証番号", code}, {"合言葉", password}, {"認証コード", code}, {"トークン", token}, {"秘密鍵", token}, {"apiキー", token}, {"비밀번호", password}, {"비번", password}, {"암호", password}, {"패스워드", password}, {"인증번호", code}, {"토큰", token},
    {"كلمة المرور", password}, {"كلمة السر", password}, {"סיסמה", password}, {"סיסמא", password}, {"पासवर्ड", password}, {"รหัสผ่าน", password},
};

bool letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }

// What may follow the word in a name that still names the secret itself.
constexpr std::string_view harmless_ends[] = {"", "s", "key", "base", "value", "val", "string", "str", "text", "plain", "plaintext", "raw", "prod", "production", "dev", "development", "staging", "stage", "test", "live", "old", "new",
                                               "current", "default", "admin", "root", "user", "db", "id_rsa", "hash", "digest", "encrypted", "confirm", "confirmation", "again", "repeat", "data", "secret", "token", "any", "1", "2", "main", "master",
                                               "private", "api", "auth", "access", "for", "code", "wort"};
// Letters that turn "pass", "token", "secret" … into other words when they stand right before.
constexpr std::string_view other_words_before[] = {"by", "com", "tres", "sur", "over", "under", "en", "im", "out", "un", "re", "max", "num", "next", "n", "next_", "max_", "num_", "page_", "page", "continuation", "eos_", "bos_", "pad_", "unk_", "cls_", "sep_", "mask_", "eos", "bos",
                                                   "no_", "public_", "public", "pub_", "pub", "site_", "site", "publishable_", "cache_", "cache", "idempotency_", "primary_", "primary", "foreign_", "sort_", "sort", "partition_", "object_", "hash_", "group_", "translation_", "i_", "routing_", "bucket_", "storage_", "per_", "total_", "prompt_", "completion_", "input_", "output_", "special_", "first_", "last_", "stop_", "cancel", "cancellation", "cancellation_", "lexical", "syntax"};

}  // namespace

std::span<const KeyWord> key_words() { return words; }

bool names_secret(std::string_view identifier, size_t begin, size_t end, bool distinct) {
  if (begin > 0) {
    const char before = identifier[begin - 1], first = identifier[begin];
    const bool border = !letter(before) || (upper(first) && !upper(before)) || (!upper(first) && upper(before) && begin >= 2 && upper(identifier[begin - 2]));
    if (!border && !distinct) return false;
    size_t start = begin;
    while (start > 0 && (letter(identifier[start - 1]) || identifier[start - 1] == '_')) --start;
    for (const std::string_view other : other_words_before) {
      if (equal_folded(identifier.substr(start, begin - start), other)) return false;
    }
  }
  std::string_view rest = identifier.substr(end);
  if (rest.empty()) return true;
  const bool border = !letter(rest[0]) || (upper(rest[0]) && !upper(identifier[end - 1])) || (!upper(rest[0]) && upper(identifier[end - 1]) && end - begin > 3);
  if (!border && !(rest.size() == 1 && rest[0] == 's')) return distinct && (equal_folded(rest, "key") || equal_folded(rest, "string") || equal_folded(rest, "value"));
  while (!rest.empty()) {
    while (!rest.empty() && !letter(rest[0])) rest.remove_prefix(1);
    size_t length = 0;
    while (length < rest.size() && letter(rest[length]) && (length == 0 || !upper(rest[length]) || upper(rest[length - 1]))) ++length;
    const std::string_view part = rest.substr(0, length);
    if (std::none_of(std::begin(harmless_ends), std::end(harmless_ends), [&](std::string_view known) { return equal_folded(part, known); })) return false;
    rest.remove_prefix(length);
  }
  return true;
}

}  // namespace credential
