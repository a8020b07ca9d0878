// secrets_test: credentials of every kind are found whole, and what only looks like one is not. Secrets are put together at run time.
#include <chrono>
#include <random>
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/seeds.h"
#include "privacy/detect/secrets/shape.h"
#include "privacy/detect/secrets/tokens.h"
#include "privacy/detect_fixture.h"

namespace {

const Family& secrets() {
  static const Family family(add_credential_detectors);
  return family;
}
constexpr std::string_view digits = "0123456789", lower = "abcdefghijklmnopqrstuvwxyz", hex = "0123456789abcdef", upper32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                           base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", bech32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";

std::string drawn(std::string_view alphabet, size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string out;
  while (out.size() < n) out += alphabet[random() % alphabet.size()];
  return out;
}
bool finds(const std::string& text, const std::string& value, float least = 0.5F) { return secrets().score(text, value, PrivacyClass::secret) >= least; }
#define EXPECT_FINDS(text, value) EXPECT_TRUE(finds(text, value)) << (text)
#define EXPECT_SILENT(text) EXPECT_TRUE(secrets().silent(text)) << (text)

TEST(Tokens, EveryKindIsFoundWholeInASentenceAndInCode) {
  const auto r = [](size_t n) { return drawn(base62, n); };
  const auto h = [](size_t n) { return drawn(hex, n); };
  const std::vector<std::string> tokens = {std::string("AK") + "IA" + drawn(upper32, 16),
                                           std::string("AS") + "IA" + drawn(upper32, 16),
                                           std::string("AB") + "SK" + r(120),
                                           std::string("gh") + "p_" + r(30) + credential::crc32_base62(r(30)),
                                           std::string("github") + "_pat_" + r(22) + "_" + r(59),
                                           std::string("np") + "m_" + r(30) + credential::crc32_base62(r(30)),
                                           std::string("sk") + "-" + r(20) + "T3Blbk" + "FJ" + r(20),
                                           std::string("sk") + "-proj-" + r(74) + "T3Blbk" + "FJ" + r(74),
                                           std::string("sk") + "-ant-api03-" + r(93) + "AA",
                                           std::string("AI") + "za" + r(35),
                                           std::string("GOC") + "SPX-" + r(28),
                                           std::string("ya") + "29." + r(60),
                                           std::string("xo") + "xb-" + drawn(digits, 12) + "-" + drawn(digits, 12) + "-" + r(24),
                                           std::string("sk") + "_live_" + r(24),
                                           std::string("rk") + "_test_" + r(30),
                                           std::string("wh") + "sec_" + r(32),
                                           std::string("gl") + "pat-" + r(20),
                                           std::string("GR13") + "48941" + r(20),
                                           std::string("h") + "f_" + drawn("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 34),
                                           std::string("pp") + "lx-" + r(48),
                                           std::string("da") + "pi" + h(32),
                                           std::string("do") + "p_v1_" + h(64),
                                           std::string("nt") + "n_" + drawn(digits, 11) + r(35),
                                           std::string("li") + "n_api_" + r(40),
                                           std::string("sh") + "pat_" + h(32),
                                           std::string("S") + "G." + r(22) + "." + r(43),
                                           std::string("S") + "K" + h(32),
                                           drawn("123456789", 9) + ":A" + "A" + r(33),
                                           std::string("py") + "pi-AgEIcHlwaS5vcmc" + r(90),
                                           std::string("hv") + "s." + r(90),
                                           std::string("PM") + "AK-" + h(24) + "-" + h(34),
                                           std::string("pu") + "l-" + h(40),
                                           std::string("ruby") + "gems_" + h(48),
                                           std::string("gl") + "sa_" + r(32) + "_" + h(8),
                                           std::string("sn") + "tryu_" + h(64),
                                           std::string("dp") + ".pt." + r(43),
                                           std::string("AGE-SEC") + "RET-KEY-1" + drawn(bech32, 58),
                                           std::string("abc8") + "Q~" + r(34),
                                           std::string("LT") + "AI" + r(20),
                                           std::string("AK") + "ID" + r(32),
                                           std::string("HR") + "KU-AA" + r(58),
                                           std::string("EAAA") + r(60),
                                           std::string("sq0") + "atp-" + r(22),
                                           std::string("key") + "-" + h(32),
                                           h(32) + "-us" + "12",
                                           r(14) + ".atlas" + "v1." + r(66),
                                           std::string("xkey") + "sib-" + h(64) + "-" + r(16),
                                           std::string("pat") + r(14) + "." + h(64)};
  for (const std::string& token : tokens) {
    EXPECT_FINDS("the key is " + token + ", keep it", token);
    EXPECT_FINDS("client(\"" + token + "\")", token);
    EXPECT_FINDS("鍵は" + token + "です", token);
  }
}

TEST(Tokens, ChecksumsRaiseAndLowerTheScore) {
  const std::string body = drawn(base62, 30), good = std::string("gh") + "p_" + body + credential::crc32_base62(body);
  std::string bad = good;
  bad.back() = bad.back() == 'a' ? 'b' : 'a';
  EXPECT_GE(secrets().score(good, good, PrivacyClass::secret, "github"), 0.99F);
  const float failed = secrets().score(bad, bad, PrivacyClass::secret, "github");
  EXPECT_GE(failed, 0.6F);
  EXPECT_LT(failed, 0.9F);
}

TEST(Tokens, SamplesAndNearMissesAreNone) {
  EXPECT_SILENT(std::string("AK") + "IAIOSFODNN7EXAMPLE");
  EXPECT_SILENT("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + std::string("EXAMPLEKEY"));
  EXPECT_SILENT(std::string("gh") + "p_" + drawn(base62, 20));
  EXPECT_SILENT("x" + std::string("AK") + "IA" + drawn(upper32, 16));
  EXPECT_SILENT(std::string("sk") + "-ant-xxxxxxxxxxxxxxxxxxxxxxxx");
  EXPECT_SILENT("risk-based-approach-to-the-management-of-keys");
  EXPECT_SILENT("sha512-" + drawn(base62, 86) + "==");  // a lock file
}

TEST(Tokens, WebTokensNeedAHeader) {
  const std::string header = std::string("eyJ") + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", payload = std::string("eyJ") + "zdWIiOiIxMjM0NTY3ODkwIn0",
                    token = header + "." + payload + "." + drawn(base62, 43);
  EXPECT_GE(secrets().score("jwt " + token + " end", token, PrivacyClass::secret, "jwt"), 0.95F);
  EXPECT_FINDS("Cookie: a=" + token, token);
  EXPECT_SILENT("eyJhIjoxfQ.b.c");
}

TEST(Tokens, AnAwsSecretIsFoundBesideItsId) {
  const std::string id = std::string("AK") + "IA" + drawn(upper32, 16), key = drawn(base62, 39, 5) + "/";
  EXPECT_FINDS(id + "\n" + key + "\n", key);
}

TEST(KeyBlocks, AreMaskedToTheirEndOrToTheTexts) {
  const std::string dashes = "-----", body = drawn(base62, 64) + "\n" + drawn(base62, 64, 2);
  for (const std::string label :
       {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"}) {
    const std::string whole = dashes + "BEGIN " + label + dashes + "\n" + body + "\n" + dashes + "END " + label + dashes;
    EXPECT_FINDS("key:\n" + whole + "\nbye", whole);
    const std::string cut = dashes + "BEGIN " + label + dashes + "\n" + body;
    EXPECT_FINDS("key:\n" + cut, cut);
    const std::string line = dashes + "BEGIN " + label + dashes + "\\n" + drawn(base62, 64) + "\\n" + dashes + "END " + label + dashes;
    EXPECT_FINDS("{\"key\": \"" + line + "\\n\"}", line);
  }
  EXPECT_SILENT(dashes + "BEGIN CERTIFICATE" + dashes + "\n" + body + "\n" + dashes + "END CERTIFICATE" + dashes);
  EXPECT_SILENT("A key starts with " + dashes + "BEGIN PRIVATE KEY" + dashes + " and ends with " + dashes + "END PRIVATE KEY" + dashes + ".");
}

TEST(Connections, TheLoginIsFound) {
  EXPECT_FINDS("postgres://app:s3cr3t@db.internal:5432/x", "app:s3cr3t");
  EXPECT_FINDS("mongodb+srv://app:p%40ss-1@cluster0.example.net/?retry=1", "app:p%40ss-1");
  EXPECT_FINDS("redis://:Zx81plus@cache:6379/0", ":Zx81plus");
  EXPECT_FINDS("https://bob:pa@ss!7@example.org/path", "bob:pa@ss!7");
  EXPECT_FINDS("jdbc:oracle:thin:scott/tig3r9@//db:1521/x", "scott/tig3r9");
  EXPECT_FINDS("Server=db1;Database=x;User Id=sa;Password=Abc!2345;Encrypt=yes", "Abc!2345");
  EXPECT_FINDS("jdbc:mysql://h:3306/db?user=root&password=Xy12zz9&ssl=1", "Xy12zz9");
  EXPECT_SILENT("https://user:password@example.org/ and http://host:8080/a@b and ${scheme}://${user}:${pass}@${host}");
}

TEST(Headers, CredentialsAreFound) {
  const std::string token = drawn(base62, 40);
  EXPECT_FINDS("Authorization: Bearer " + token, token);
  EXPECT_FINDS("curl -H 'X-Api-Key: " + token + "' https://api.example.org", token);
  EXPECT_FINDS("Authorization: Basic " + std::string("Ym9iOmh1bn") + "RlcjI3Nw==", std::string("Ym9iOmh1bn") + "RlcjI3Nw==");
  EXPECT_FINDS("curl -u bob:S3cretPw https://api.example.org", "bob:S3cretPw");
  EXPECT_FINDS("Set-Cookie: sid=" + token + "; Path=/", "sid=" + token + "; Path=/");
  EXPECT_SILENT("Authorization: Bearer <token>\nAuthorization: Bearer ${TOKEN}\nCookie: theme=dark; lang=en");
  EXPECT_SILENT("curl -u \"$USER:$PASSWORD\" https://api.example.org");
}

TEST(Files, LinesOfCredentialFiles) {
  const std::string hash = std::string("$") + "6$" + drawn(base62, 16) + "$" + drawn(base62, 86), bcrypt = std::string("$") + "2b$12$" + drawn(base62, 53);
  EXPECT_FINDS("root:" + hash + ":17431:0:99999:7:::", hash);
  EXPECT_FINDS("bob:" + bcrypt, bcrypt);
  EXPECT_FINDS("machine imap.example.org login bob password pass123", "pass123");
  EXPECT_FINDS("localhost:5432:app:root:tulips4all", "tulips4all");
  EXPECT_FINDS("//registry.npmjs.org/:_authToken=26dfe8d8-889b-4380-92ff-9c3c6ea5d930", "26dfe8d8-889b-4380-92ff-9c3c6ea5d930");
  EXPECT_FINDS("apiVersion: v1\nkind: Secret\ndata:\n  user: Ym9i\n  pass: aHVudGVyMg==\n", "aHVudGVyMg==");
  EXPECT_FINDS(R"({"auths": {"https://index.docker.io/v1/": {"auth": "Ym9iOmh1bnRlcjI="}}})", "Ym9iOmh1bnRlcjI=");
  EXPECT_SILENT("apiVersion: v1\nkind: ConfigMap\ndata:\n  user: Ym9iYm9i\n");
  EXPECT_SILENT("src/a.cpp:120:5: error: expected ';'\nroot:x:0:0:root:/root:/bin/bash\n12:30:45:100:200");
}

TEST(Assignments, InCode) {
  const std::string key = drawn(base62, 32);
  for (const std::string name :
       {"api_key", "API_KEY", "apiKey", "client_secret", "access_token", "authToken", "AWS_SECRET_ACCESS_KEY", "private_key", "金鑰", "密钥"}) {
    EXPECT_FINDS(name + " = \"" + key + "\"", key);
    EXPECT_FINDS(name + ": " + key, key);
  }
  EXPECT_FINDS("define('DB_PASSWORD', 'Tr0ub4dor&3');", "Tr0ub4dor&3");
  EXPECT_FINDS("<Pass>ExamplePas123</Pass>", "ExamplePas123");
  EXPECT_FINDS("val password: String = \"exord13Paw64\"", "exord13Paw64");
  EXPECT_FINDS("DB_PASSWORD=admin123\nDB_HOST=x", "admin123");
  EXPECT_FINDS("./run --password Xyz12!ab", "Xyz12!ab");
  EXPECT_FINDS("  \"passphrase\": \"swordfish\"", "swordfish");
}

TEST(Assignments, WhatStandsWhereASecretWould) {
  for (const std::string text : {"password = os.getenv(\"X\")",
                                 "api_key = \"<YOUR_API_KEY>\"",
                                 "password: string;",
                                 "password: { type: String, required: true }",
                                 "\"password\": \"Password\"",
                                 "token = generate_token(32)",
                                 "token: ${TOKEN}",
                                 "password=changeme",
                                 "password = input(\"Enter password: \")",
                                 "<input type=\"password\" name=\"password\" id=\"password\">",
                                 "max_tokens = 2048",
                                 "tokenizer.pad_token_id = 50256",
                                 "secret_name = \"my-app-secret\"",
                                 "password: ********",
                                 "PASSWORD=${DB_PASSWORD}",
                                 "public_key = \"AAAAB3NzaC1yc2EAAAADAQABAAABAQ\"",
                                 "keyword: monkey business",
                                 "password = user.password",
                                 "String password = request.getParameter(\"password\")",
                                 "token: 550e8400-e29b-41d4-a716-446655440000",
                                 "const password = ref('')",
                                 "password_hash_algorithm = bcrypt",
                                 "secret: config.secret",
                                 "api_key: str = None",
                                 "access_token = response.json()[\"access_token\"]",
                                 "next_token = abc",
                                 "passengers: 12345678"}) {
    EXPECT_SILENT(text);
  }
}

TEST(Prose, ACueBypassesEntropy) {  // F7
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, std::string>>{{"my password is hunter2hunter2", "hunter2hunter2"},
                                                        {"the wifi password at home is Sunflower#88", "Sunflower#88"},
                                                        {"Password was changed to P@ssw0rd!", "P@ssw0rd!"},
                                                        {"密碼是abc12345，請勿外流", "abc12345"},
                                                        {"密码：P@ssw0rd!", "P@ssw0rd!"},
                                                        {"口令為 xK9mPq2r", "xK9mPq2r"},
                                                        {"我的密碼改成 Tiger1998 了", "Tiger1998"},
                                                        {"contraseña: Perro1234", "Perro1234"},
                                                        {"mot de passe est Soleil2020!", "Soleil2020!"},
                                                        {"Das Passwort lautet Sommer99", "Sommer99"},
                                                        {"senha é Gato4567", "Gato4567"},
                                                        {"Пароль: Qwerty789", "Qwerty789"},
                                                        {"비밀번호는 mypass99!", "mypass99!"},
                                                        {"パスワードは neko2222 です", "neko2222"},
                                                        {"use Tr0ub4dor&3 as your password", "Tr0ub4dor&3"},
                                                        {"log in with admin / Winter2024!", "Winter2024!"},
                                                        {"passphrase: correct horse battery staple", "correct horse battery staple"},
                                                        {"your verification code is 483920", "483920"},
                                                        {"驗證碼：829301", "829301"},
                                                        {"PIN is 4821", "4821"},
                                                        {"密码：ａｂｃ１２３４５", "abc12345"}}) {
    EXPECT_FINDS(text, value);
  }
}

TEST(Prose, OrdinarySentencesAreNone) {
  for (const std::string text :
       {"The password is incorrect, please try again", "Password must be at least 8 characters", "reset your password at https://example.org/reset",
        "password is case-sensitive", "password is SHA-256 hashed", "The secret of success is hard work", "密碼錯誤，請重新輸入", "请输入密码",
        "密码长度至少8位", "The token is then passed to the parser", "the status code: 40012", "Forgot your password? Contact support.",
        "The password is stored in the vault", "la contraseña es obligatoria", "Never share your PIN with anyone in 2024"}) {
    EXPECT_SILENT(text);
  }
}

TEST(Regression, F6AStopWordInsideARandomPasswordDoesNotSaveIt) {
  const std::string value = drawn(base62, 30) + "hook" + drawn(base62, 30, 2);
  EXPECT_FINDS("password = \"" + value + "\"", value);
  const std::string letters = drawn(lower, 40, 9);
  EXPECT_FINDS("api_secret = \"" + letters + "\"", letters);
}

TEST(Regression, F8EveryOccurrenceIsFound) {
  const std::string text = "password is hunter2hunter2 and again: password is hunter2hunter2";
  const auto found = secrets().find(text);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const Found& f) { return f.value == "hunter2hunter2"; }), 2);
}

TEST(Seeds, TheChecksumDecides) {
  std::string phrase;
  for (int i = 0; i < 11; ++i) phrase += "abandon ";
  EXPECT_GE(secrets().score("my wallet: " + phrase + "about.", phrase + "about", PrivacyClass::secret, "seed_phrase"), 0.95F);
  EXPECT_SILENT(phrase + "abandon");
  std::string numbered;
  for (int i = 1; i <= 11; ++i) numbered += std::to_string(i) + ". abandon\n";
  EXPECT_EQ(secrets().find(numbered + "12. about").size(), 1u);
  std::string chinese;
  for (int i = 0; i < 11; ++i) chinese += "的 ";
  EXPECT_EQ(secrets().find(chinese + "在").size(), 1u);
  EXPECT_SILENT("the quick brown fox jumps over the lazy dog and then some more words follow it here");
  std::vector<uint16_t> zeros(12, 0);
  EXPECT_FALSE(credential::seed_checksum_holds(zeros));
  zeros.back() = 3;
  EXPECT_TRUE(credential::seed_checksum_holds(zeros));
}

TEST(Shape, RandomOrWords) {
  EXPECT_TRUE(credential::looks_random(drawn(base62, 24)));
  EXPECT_FALSE(credential::looks_random("updateUserPasswordHandler"));
  EXPECT_FALSE(credential::looks_random("snake_case_identifier_name"));
  EXPECT_TRUE(credential::is_stand_in("your-api-key-here"));
  EXPECT_FALSE(credential::is_stand_in("hunter2hunter2"));
}

TEST(SecretsHostile, TakesLinearTime) {
  for (const std::string piece : {"password ", "password=", "key=", "?token=", "://", "http://a:", "-----BEGIN PRIVATE KEY-----", "kind: Secret\n",
                                  "cookie: a=b;", "$6$", ".", "abandon ", "eyJhbGciOi.", "pass:"}) {
    std::string text;
    while (text.size() < (256u << 10)) text += piece;
    const auto start = std::chrono::steady_clock::now();
    secrets().find(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3)) << piece;  // 0.05 s when alone; a quadratic rule takes a minute
  }
}

}  // namespace
