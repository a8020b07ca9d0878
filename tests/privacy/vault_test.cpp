// vault: placeholders (R5, R6), the disk, the clock, and locked memory.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include "privacy/masked.h"
#include "privacy/secure_memory.h"

namespace {

using enum PrivacyClass;

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "calla-vault-XXXXXX").string();
    path = ::mkdtemp(name.data()) ? name : "";
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

std::unique_ptr<VaultBook> open_book(const std::string& folder, int ttl_s = 3600) {
  auto book = VaultBook::open(folder, ttl_s);
  if (!book) ADD_FAILURE() << book.error().message;
  CHECK(book.has_value());
  return std::move(*book);
}
VaultBook::Conversation find(VaultBook& book, const std::string& key, const std::string& id, const std::vector<std::string>& digests = {}) {
  auto found = book.find(key, id, digests);
  if (!found) ADD_FAILURE() << found.error().message;
  CHECK(found.has_value());
  return std::move(*found);
}

// What a child process leaves behind.
int in_a_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

bool files_hold(const std::string& folder, const std::string& bytes) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::stringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    if (text.str().find(bytes) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST(Placeholder, Shape) {
  const auto vault = new_vault();
  for (const auto& [cls, type] : std::vector<std::pair<PrivacyClass, std::string>>{{person, "PERSON"}, {email, "EMAIL"}, {phone, "PHONE"}, {address, "ADDRESS"}, {card, "CARD"}, {iban, "IBAN"}, {gov_id, "ID"},
                                                                                  {secret, "SECRET"}, {ip, "IP"}, {dob, "DATE"}, {custom, "TERM"}, {url, "DATA"}}) {
    const std::string placeholder = vault->placeholder(cls, "a value");
    ASSERT_TRUE(placeholder.starts_with(type + "_")) << placeholder;
    const std::string code = placeholder.substr(type.size() + 1);
    EXPECT_TRUE(code.size() >= 6 && code.size() <= 8);
    EXPECT_EQ(code.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string::npos) << code;
    EXPECT_TRUE(well_formed_placeholder(placeholder));
    EXPECT_LE(placeholder.size(), max_placeholder);
    EXPECT_TRUE(vault->has_issued(placeholder));
  }
}

TEST(Placeholder, TheCheckDigitFindsEveryWrongDigit) {
  const auto vault = new_vault();
  for (int i = 0; i < 50; ++i) {
    const std::string placeholder = vault->placeholder(phone, "+1 555 010 " + std::to_string(1000 + i));
    for (size_t at = 6; at < placeholder.size(); ++at) {
      for (const char c : std::string_view("0123456789ABCDEFGHJKMNPQRSTVWXYZ")) {
        std::string other = placeholder;
        other[at] = c;
        EXPECT_EQ(well_formed_placeholder(other), other == placeholder) << other;
      }
    }
  }
}

TEST(Placeholder, FoundWhereTheyStandFree) {
  const std::string one = new_vault()->placeholder(person, "Jane Roe");
  for (const std::string& text : {one, "x " + one + "'s", "給" + one + "的", "_" + one + "_", "(" + one + ")"}) EXPECT_EQ(find_placeholders(text).size(), 1u) << text;
  for (const std::string& text : {"x" + one, one + "x", one + "7", "é" + one, one.substr(0, one.size() - 1), one.substr(1), std::string("DATA_SERVER"), std::string("ID_202401")}) EXPECT_TRUE(find_placeholders(text).empty()) << text;
}

// R5: two values never share one. A million of them: bench; here enough for codes to collide and grow.
TEST(Vault, NoCollisions) {
  const auto vault = new_vault();
  std::set<std::string> seen;
  const int n = 60000;
  size_t longer = 0;
  for (int i = 0; i < n; ++i) {
    const std::string placeholder = vault->placeholder(card, std::to_string(4000000000000000 + i));
    longer += placeholder.size() > 11;
    seen.insert(placeholder);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(n));
  EXPECT_GT(longer, 0u);
  EXPECT_EQ(vault->size(), static_cast<size_t>(n));
  EXPECT_LT(locked_bytes(), size_t{1} << 20);  // the values are not in it
}

// Same value, in whatever spelling, same placeholder; another value, another.
TEST(Vault, Spellings) {
  const auto vault = new_vault();
  const auto same = [&](PrivacyClass cls, const std::string& a, const std::string& b) { return vault->placeholder(cls, a) == vault->placeholder(cls, b); };
  EXPECT_TRUE(same(card, "4000 0076 5432 1097", "4000007654321097"));
  EXPECT_TRUE(same(card, "4000-0076-5432-1097", "４０００００７６５４３２１０９７"));
  EXPECT_TRUE(same(iban, "DE79 0000 0000 0012 3456 7890", "de79000000000012345 67890"));
  EXPECT_TRUE(same(person, "Jane Roe", "JANE\u3000ROE"));
  EXPECT_TRUE(same(person, "陳小明", "陳 小明"));
  EXPECT_TRUE(same(person, "Jane Roe", "Jane\u200b Roe"));
  EXPECT_TRUE(same(email, "Jane.Roe@Example.org", "jane.roe@example.org"));
  EXPECT_TRUE(same(dob, "1990-03-05", "1990/03/05"));
  EXPECT_FALSE(same(email, "jane.roe@example.org", "janeroe@example.org"));
  EXPECT_FALSE(same(ip, "1.23.4.5", "12.3.4.5"));
  EXPECT_FALSE(same(dob, "1/11/1990", "11/1/1990"));
  EXPECT_FALSE(same(secret, "Hunter2hunter", "hunter2hunter"));
  EXPECT_FALSE(same(person, "Jane Roe", "Jane Doe"));
  EXPECT_NE(vault->placeholder(person, "Nordstar"), vault->placeholder(custom, "Nordstar"));
  EXPECT_EQ(vault->issued(card, "4000 0076 5432 1097"), vault->placeholder(card, "4000007654321097"));
  EXPECT_EQ(vault->issued(card, "4000 0076 5432 1089"), std::nullopt);
}

// R6: the part has the whole's placeholder, unless two could be meant.
TEST(Vault, PartsOfANameAndBareDigits) {
  const auto vault = new_vault();
  const std::string jane = vault->placeholder(person, "Jane Roe");
  EXPECT_EQ(vault->placeholder(person, "Roe"), jane);
  const std::string john = vault->placeholder(person, "John Roe");
  EXPECT_NE(john, jane);
  EXPECT_EQ(vault->placeholder(person, "Roe"), jane);  // as before
  EXPECT_EQ(vault->placeholder(person, "John"), john);
  const auto other = new_vault('o');
  other->placeholder(person, "Jane Roe");
  other->placeholder(person, "John Roe");
  const std::string roe = other->placeholder(person, "Roe");
  EXPECT_NE(roe, other->placeholder(person, "Jane Roe"));
  EXPECT_NE(roe, other->placeholder(person, "John Roe"));
  const std::string id = vault->placeholder(gov_id, "F231407653");
  EXPECT_EQ(vault->placeholder(gov_id, "231407653"), id);
  const std::string mobile = vault->placeholder(phone, "+886 912-345-678");
  for (const char* again : {"886912345678", "0912 345 678", "0912345678", "912-345-678"}) {
    EXPECT_EQ(vault->placeholder(phone, again), mobile) << again;
    EXPECT_EQ(vault->recurrences(std::string("電話") + again).size(), 1u) << again;
  }
  EXPECT_NE(vault->placeholder(phone, "0912345679"), mobile);
}

TEST(Vault, RecurrencesInLongTexts) {
  const auto vault = new_vault();
  vault->placeholder(person, "Jane Roe");
  vault->placeholder(email, "jane.roe@example.org");
  vault->placeholder(ip, "10.1.2.34");
  std::string text;
  std::mt19937 random(3);
  std::vector<size_t> at;
  for (int i = 0; i < 60000; ++i) {
    if (i % 1500 == 7) at.push_back(text.size()), text += i % 2 == 0 ? "Jane ROE, " : "jane.roe@example.org; ";
    else text += i % 3 == 0 ? "陳述 " : "word 101234 ";
  }
  const auto found = vault->recurrences(text);
  ASSERT_EQ(found.size(), at.size());
  for (size_t i = 0; i < at.size(); ++i) EXPECT_EQ(found[i].begin, at[i]);
  EXPECT_TRUE(new_vault('x')->recurrences(text).empty());
}

// R5: fifty turns, two programs, one conversation.
TEST(VaultBook, TheSameThroughFiftyTurnsAndARestart) {
  const Folder folder;
  std::string first, id;
  std::vector<std::string> history;
  for (int turn = 0; turn < 50; ++turn) {
    const auto book = open_book(folder.path);  // a new program each time
    history.push_back("turn " + std::to_string(turn));
    const auto conversation = find(*book, "key", "", history);
    const std::string placeholder = conversation.vault->placeholder(person, "Jane Roe");
    conversation.vault->placeholder(phone, "+1 555 010 " + std::to_string(1000 + turn));
    if (turn == 0) first = placeholder, id = conversation.id;
    ASSERT_EQ(placeholder, first);
    ASSERT_EQ(conversation.id, id);
    ASSERT_EQ(conversation.vault->placeholder(person, "Roe"), first);
    ASSERT_EQ(conversation.vault->size(), static_cast<size_t>(turn) + 2);
    ASSERT_EQ(conversation.vault->recurrences("and Roe too").size(), 1u);
    ASSERT_TRUE(book->keep(conversation));
    history.push_back("answer " + std::to_string(turn));
  }
  EXPECT_FALSE(files_hold(folder.path, "Jane"));
  EXPECT_FALSE(files_hold(folder.path, first));  // sealed
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(077), std::filesystem::perms::none) << entry.path();
  }
}

TEST(VaultBook, WhichConversation) {
  const auto book = open_book("");
  const auto a = find(*book, "key", "", {"hello", "hi", "more"});
  EXPECT_EQ(find(*book, "key", "", {"hello", "hi", "more", "and", "on"}).id, a.id);
  EXPECT_EQ(find(*book, "key", "", {"hello", "hi", "edited"}).id, a.id);
  EXPECT_NE(find(*book, "key", "", {"something else"}).id, a.id);
  EXPECT_NE(find(*book, "other key", "", {"hello", "hi", "more"}).id, a.id);
  const auto named = find(*book, "key", "mine", {"hello", "hi", "more"});
  EXPECT_NE(named.id, a.id);
  EXPECT_EQ(find(*book, "key", "mine").id, named.id);
  EXPECT_NE(find(*book, "other key", "mine").id, named.id);
  EXPECT_NE(named.vault->placeholder(person, "Jane Roe"), a.vault->placeholder(person, "Jane Roe"));
}

TEST(VaultBook, SurvivesBeingKilled) {
  const Folder folder;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const int status = in_a_child([&] {
    auto book = VaultBook::open(folder.path, 3600);
    if (!book) return 1;
    auto conversation = (*book)->find("key", "c", {});
    if (!conversation) return 2;
    const std::string placeholder = conversation->vault->placeholder(person, "Jane Roe");
    if (!(*book)->keep(*conversation)) return 3;
    if (::write(pipe_ends[1], placeholder.data(), placeholder.size()) < 0) return 4;
    ::kill(::getpid(), SIGKILL);
    return 5;
  });
  EXPECT_EQ(status, 256 + SIGKILL);
  char bytes[64];
  const ssize_t n = ::read(pipe_ends[0], bytes, sizeof bytes);
  ASSERT_GT(n, 0);
  EXPECT_EQ(find(*open_book(folder.path), "key", "c").vault->placeholder(person, "Jane Roe"), std::string(bytes, static_cast<size_t>(n)));
}

TEST(VaultBook, ExpiryDeletes) {
  const Folder folder;
  std::string placeholder;
  {
    const auto book = open_book(folder.path, 3600);
    const auto conversation = find(*book, "key", "c", {});
    placeholder = conversation.vault->placeholder(person, "Jane Roe");
    ASSERT_TRUE(book->keep(conversation));
  }
  ASSERT_TRUE(files_hold(folder.path, "calla vault 1"));
  const auto book = open_book(folder.path, 0);  // everything is too old
  EXPECT_FALSE(files_hold(folder.path, "calla vault 1"));
  EXPECT_NE(find(*book, "key", "c").vault->placeholder(person, "Jane Roe"), placeholder);
}

TEST(VaultBook, AKeyThatOthersMayReadIsRefused) {
  const Folder folder;
  open_book(folder.path);
  std::filesystem::permissions(folder.path + "/vault.key", std::filesystem::perms(0644));
  const auto book = VaultBook::open(folder.path, 60);
  ASSERT_FALSE(book);
  EXPECT_NE(book.error().message.find("0600"), std::string::npos);
}

TEST(Vault, SealedBytesTellWhenTheyWereTouched) {
  const auto vault = new_vault();
  const std::string placeholder = vault->placeholder(person, "Jane Roe"), key(32, 's');
  const auto sealed = vault->seal(key);
  ASSERT_TRUE(sealed);
  const auto opened = Vault::unseal(*sealed, key);
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->placeholder(person, "jane roe"), placeholder);
  EXPECT_FALSE(Vault::unseal(*sealed, std::string(32, 't')));
  for (size_t at = 0; at < sealed->size(); at += 7) {
    std::string touched = *sealed;
    touched[at] ^= 1;
    EXPECT_FALSE(Vault::unseal(touched, key)) << at;
    EXPECT_FALSE(Vault::unseal(sealed->substr(0, at), key));
  }
}

TEST(Vault, ManyThreads) {
  const auto vault = new_vault();
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string>> seen(4);
  for (size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        seen[t].push_back(vault->placeholder(phone, "555 010 " + std::to_string(1000 + i)));
        vault->recurrences("call 555-010-1007");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& placeholders : seen) EXPECT_EQ(placeholders, seen[0]);
  EXPECT_EQ(vault->size(), 300u);
}

TEST(SecureMemory, WipedAndUsedAgain) {
  const char* before = nullptr;
  {
    auto secret = Secret::of("a password of some length, 44 bytes or so....");
    ASSERT_TRUE(secret);
    before = secret->view().data();
    EXPECT_EQ(secret->view(), "a password of some length, 44 bytes or so....");
  }
  EXPECT_EQ(std::string_view(before + 8, 30).find_first_not_of('\0'), std::string_view::npos);
  const size_t locked = locked_bytes();
  for (int i = 0; i < 100000; ++i) ASSERT_TRUE(Secret::of("a password of some length, 44 bytes or so...."));
  EXPECT_EQ(locked_bytes(), locked);
  {
    auto large = Secret::of(std::string(100000, 'x'));
    ASSERT_TRUE(large);
    EXPECT_GE(locked_bytes(), locked + 100000);
  }
  EXPECT_EQ(locked_bytes(), locked);
}

// Fails closed, and says what to do.
TEST(SecureMemory, ALimitOnLockedMemoryIsAnError) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "NOTICE: sanitizers lock no memory: mlock does nothing under them";
#endif
#endif
  const int status = in_a_child([] {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) return 1;
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
    const auto secret = Secret::of(std::string(1 << 20, 'x'));
    if (secret) return 3;
    Ledger ledger;
    if (ledger.add("PERSON_AAAAA1", PrivacyClass::person, std::string(1 << 20, 'x'))) return 4;
    return secret.error().message.find("ulimit -l") == std::string::npos ? 5 : 0;
  });
  EXPECT_EQ(status, 0);
}
