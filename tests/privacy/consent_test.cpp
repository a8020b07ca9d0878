// consent: A5 of privacy.md: replayed, tampered, expired, someone else's: refused, across threads and restarts.
#include "privacy/consent.h"

#include <gtest/gtest.h>
#include <atomic>
#include <filesystem>
#include <thread>

namespace {

using enum PrivacyClass;
const ConsentSubject subject = {"request", "findings", "cloud/big-1", "policy", "key"};
const std::vector<Choice> all = {Choice::mask_once, Choice::mask_session, Choice::send_once, Choice::local, Choice::cancel};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "calla-consent-XXXXXX").string();
    path = ::mkdtemp(name.data()) ? name : "";
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

std::unique_ptr<ConsentBook> open_book(const std::string& folder = "") {
  auto book = ConsentBook::open(folder);
  if (!book) ADD_FAILURE() << book.error().message;
  CHECK(book.has_value());
  return std::move(*book);
}
std::string offered(ConsentBook& book, int ttl_s = 300, const std::vector<Choice>& choices = all) {
  auto offer = book.offer(subject, choices, ttl_s);
  if (!offer) ADD_FAILURE() << offer.error().message;
  return offer ? offer->id : "";
}
std::vector<FieldFinding> found(const std::vector<PrivacyClass>& classes) {
  std::vector<FieldFinding> out;
  for (const PrivacyClass cls : classes) out.emplace_back().finding.cls = cls;
  return out;
}

}  // namespace

TEST(Consent, WorksOnce) {
  const auto book = open_book();
  const std::string id = offered(*book);
  EXPECT_TRUE(book->take(id, Choice::mask_once, subject));
  EXPECT_FALSE(book->take(id, Choice::mask_once, subject));
  EXPECT_FALSE(book->take("unknown", Choice::mask_once, subject));
  EXPECT_FALSE(book->take("", Choice::mask_once, subject));
  EXPECT_EQ(book->entries()[0].state, "used");
}

TEST(Consent, ForNothingElse) {
  const auto book = open_book();
  const std::string id = offered(*book);
  for (const auto member : {&ConsentSubject::request_sha256, &ConsentSubject::findings_sha256, &ConsentSubject::destination, &ConsentSubject::policy_sha256, &ConsentSubject::key}) {
    ConsentSubject other = subject;
    other.*member += "x";
    const auto taken = book->take(id, Choice::mask_once, other);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Code::denied);
  }
  ConsentSubject shifted = subject;  // the same bytes, cut elsewhere
  shifted.destination = "cloud/big-1p", shifted.policy_sha256 = "olicy";
  EXPECT_FALSE(book->take(id, Choice::mask_once, shifted));
  EXPECT_TRUE(book->take(id, Choice::mask_once, subject));
}

TEST(Consent, EveryChangedDigitIsRefused) {
  const auto book = open_book();
  const std::string id = offered(*book);
  for (size_t at = 0; at < id.size(); ++at) {
    std::string touched = id;
    touched[at] = touched[at] == '0' ? '1' : '0';
    EXPECT_FALSE(book->take(touched, Choice::mask_once, subject));
    EXPECT_FALSE(book->take(id.substr(0, at), Choice::mask_once, subject));
  }
  EXPECT_FALSE(book->take(id + "0", Choice::mask_once, subject));
  EXPECT_TRUE(book->take(id, Choice::mask_once, subject));
}

TEST(Consent, ExpiresAndIsRevoked) {
  const auto book = open_book();
  const std::string late = offered(*book, 0), revoked = offered(*book);
  EXPECT_FALSE(book->take(late, Choice::mask_once, subject));
  EXPECT_TRUE(book->revoke(revoked));
  EXPECT_FALSE(book->revoke(revoked));
  EXPECT_FALSE(book->take(revoked, Choice::mask_once, subject));
  for (const auto& entry : book->entries()) EXPECT_EQ(entry.state, entry.id == late ? "expired" : "revoked");
}

TEST(Consent, OnlyWhatWasOffered) {
  const auto book = open_book();
  const std::string id = offered(*book, 300, {Choice::mask_once, Choice::local, Choice::cancel});
  EXPECT_FALSE(book->take(id, Choice::send_once, subject));
  EXPECT_FALSE(book->take(id, Choice::mask_session, subject));
  EXPECT_TRUE(book->take(id, Choice::cancel, subject));
}

TEST(Consent, OnceAcrossRestarts) {
  const Folder folder;
  std::string used, open;
  {
    const auto book = open_book(folder.path);
    used = offered(*book), open = offered(*book);
    EXPECT_TRUE(book->take(used, Choice::mask_once, subject));
  }
  const auto book = open_book(folder.path);
  EXPECT_FALSE(book->take(used, Choice::mask_once, subject));
  EXPECT_TRUE(book->take(open, Choice::mask_once, subject));
  EXPECT_FALSE(open_book()->take(open, Choice::mask_once, subject));
}

// Two programs on one folder, several threads in each: one of them has it.
TEST(Consent, OnceAcrossThreadsAndPrograms) {
  const Folder folder;
  const auto one = open_book(folder.path), two = open_book(folder.path);
  for (int round = 0; round < 20; ++round) {
    const std::string id = offered(*one);
    std::atomic<int> taken = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] { taken += (i % 2 == 0 ? one : two)->take(id, Choice::mask_once, subject).has_value(); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, 1);
  }
}

TEST(Consent, Sessions) {
  const Folder folder;
  {
    const auto book = open_book(folder.path);
    book->allow_session("c", "key", {person, email, secret}, 300);
    book->allow_session("late", "key", {person}, 0);
    EXPECT_TRUE(book->session_allows("c", "key", {person}));
  }
  const auto book = open_book(folder.path);
  EXPECT_TRUE(book->session_allows("c", "key", {email, person}));
  EXPECT_FALSE(book->session_allows("c", "key", {person, card}));
  EXPECT_FALSE(book->session_allows("c", "key", {secret}));
  EXPECT_FALSE(book->session_allows("c", "other", {person}));
  EXPECT_FALSE(book->session_allows("d", "key", {person}));
  EXPECT_FALSE(book->session_allows("late", "key", {person}));
  EXPECT_FALSE(book->session_allows("c", "key", {}));
}

TEST(Consent, ChoicesThatThePolicyPermits) {
  Policy policy;
  policy.consent.scopes[person] = {Scope::once, Scope::session};
  policy.consent.scopes[place] = {Scope::once, Scope::session, Scope::as_is};
  policy.consent.scopes[secret] = {Scope::once, Scope::session, Scope::as_is};  // whatever it says
  policy.consent.scopes[dob] = {};
  const std::vector<Choice> never = {Choice::local, Choice::cancel};
  EXPECT_EQ(permitted_choices(policy, found({email})), (std::vector<Choice>{Choice::mask_once, Choice::local, Choice::cancel}));
  EXPECT_EQ(permitted_choices(policy, found({person})), (std::vector<Choice>{Choice::mask_once, Choice::mask_session, Choice::local, Choice::cancel}));
  EXPECT_EQ(permitted_choices(policy, found({place})), all);
  EXPECT_EQ(permitted_choices(policy, found({place, email})), (std::vector<Choice>{Choice::mask_once, Choice::local, Choice::cancel}));
  EXPECT_EQ(permitted_choices(policy, found({secret})), never);
  EXPECT_EQ(permitted_choices(policy, found({place, secret})), never);
  EXPECT_EQ(permitted_choices(policy, found({dob})), never);
  EXPECT_EQ(permitted_choices(policy, {}), never);
}

TEST(Consent, Header) {
  const auto header = read_consent_header(" ab12 ; decision = mask_once ");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->id, "ab12");
  EXPECT_EQ(header->choice, Choice::mask_once);
  EXPECT_FALSE(header->none);
  EXPECT_TRUE(read_consent_header("none")->none);
  for (const char* text : {"", "ab12", "; decision=local", "ab12; decision=always", "ab12; decision", "ab12; choice=local", "a b; decision=local", "ab12; decision=local; x", "a\n; decision=local"}) {
    EXPECT_FALSE(read_consent_header(text)) << text;
  }
  for (const Choice choice : all) EXPECT_EQ(choice_named(name_of(choice)), choice);
}
