// audit tests: the chain as anybody can check it, ten thousand damaged logs, crashes, full disks, rotation, and what is read from a log.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include "privacy/audit.h"
#include "privacy/digest.h"

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& text) {
  fs::remove(path);  // a file that is cut and written again is flushed to the disk when it is closed
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}
std::string text_of_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Audit : public testing::Test {
 protected:
  Audit() {
    fs::create_directories(folder_);
    options_.path = path_, options_.checkpoint_lines = 5, options_.fsync_lines = false;
    policy_.sha256 = std::string(64, 'a');
  }
  ~Audit() override { fs::remove_all(folder_); }

  std::unique_ptr<AuditLog> open() {
    auto log = AuditLog::open(options_, policy_);
    EXPECT_TRUE(log) << log.error().message;
    return log ? std::move(*log) : nullptr;
  }
  std::string refusal() {
    auto log = AuditLog::open(options_, policy_);
    EXPECT_FALSE(log);
    return log ? "" : log.error().message;
  }
  static Json request(int n) {
    return {{"id", new_audit_id()}, {"key", "k1"}, {"endpoint", "/v1/chat/completions"}, {"requested", "auto"}, {"model", n % 2 ? "cloud/big-1" : "local/small"}, {"route", n % 2 ? "cloud-masked" : "local"},
            {"action", n % 2 ? "mask" : "local"}, {"status", 200}, {"policy", "p@aaaaaaaaaaaa"}, {"findings", {{{"class", "card"}, {"kind", "pan"}, {"count", 1 + n % 3}, {"max_score", 0.95}, {"detector", "card"}, {"field", "messages[0].content"}}}},
            {"bytes_in", 100 + n}, {"bytes_upstream", n % 2 ? 90 : 0}, {"upstream_sha256", nullptr}, {"consent", nullptr}, {"restored", n % 2}, {"unresolved", 0}, {"url_blocked", 0}, {"us", {{"scan", 41}, {"upstream", 1000}}}};
  }
  void write_log(int requests) {
    const auto log = open();
    for (int n = 0; n < requests; ++n) ASSERT_TRUE(log->append("request", request(n)));
  }
  AuditCheck verify(const std::string& head = "") {
    const auto check = verify_audit(path_, "", head);
    EXPECT_TRUE(check) << check.error().message;
    return check ? *check : AuditCheck();
  }

  const std::string folder_ = (fs::temp_directory_path() / ("calla-audit-" + std::to_string(getpid()))).string(), path_ = folder_ + "/audit.jsonl";
  AuditOptions options_;
  Policy policy_;
};

TEST_F(Audit, CanonicalJsonHasSortedKeysAndNoBlanks) {
  EXPECT_EQ(canonical(Json{{"b", 1}, {"a", {{"d", {1, 2.5, nullptr}}, {"c", "é\"\n\x01"}}}}), "{\"a\":{\"c\":\"é\\\"\\n\\u0001\",\"d\":[1,2.5,null]},\"b\":1}");
  EXPECT_EQ(canonical(Json{{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

TEST_F(Audit, TheChainIsWhatTheInterfaceSays) {
  write_log(12);
  std::string prev(64, '0');
  int64_t seq = 0;
  std::vector<std::string> kinds;
  for (const std::string& text : lines_of(read(path_))) {
    Json line = Json::parse(text);
    EXPECT_EQ(line["seq"], ++seq);
    EXPECT_EQ(line["prev"], prev);
    EXPECT_THAT(line["time"].get<std::string>(), testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"));
    kinds.push_back(line["kind"]);
    const std::string hash = line["hash"];
    line.erase("hash");
    EXPECT_EQ(hash, sha256_hex(prev + nlohmann::json(line).dump()));  // nlohmann::json sorts its keys
    prev = hash;
  }
  EXPECT_THAT(kinds, ElementsAre("start", "policy", "request", "request", "request", "request", "checkpoint", "request", "request", "request", "request", "request", "checkpoint", "request", "request", "request", "stop"));
  EXPECT_EQ(read(path_ + ".head"), std::to_string(seq) + ":" + prev + "\n");
  const AuditCheck check = verify();
  EXPECT_TRUE(check.ok) << check.reason;
  EXPECT_TRUE(check.signatures);
  EXPECT_EQ(check.lines, seq);
  EXPECT_EQ(check.seq, seq);
  EXPECT_EQ(check.head, std::to_string(seq) + ":" + prev);
  struct stat info{};
  ASSERT_EQ(stat((folder_ + "/audit.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(fs::exists(folder_ + "/audit.pub"));
}

TEST_F(Audit, ARestartGoesOn) {
  write_log(3);
  policy_.sha256 = std::string(64, 'b');
  write_log(3);
  write_log(3);
  EXPECT_TRUE(verify().ok);
  int starts = 0, policies = 0;
  for (const std::string& text : lines_of(read(path_))) starts += Json::parse(text)["kind"] == "start", policies += Json::parse(text)["kind"] == "policy";
  EXPECT_EQ(starts, 3);
  EXPECT_EQ(policies, 2);
}

// One damaged copy of a log.
struct Mutant { std::string what, text; };

class Mutants {
 public:
  explicit Mutants(std::string text) : text_(std::move(text)), lines_(lines_of(text_)) {}
  Mutant make() {
    switch (random_() % 8) {
      case 0: case 1: case 2: return edit();
      case 3: return {"byte gone", without(byte(), 1)};
      case 4: return insert();
      case 5: return cut();
      case 6: return swap();
      default: return line_gone();
    }
  }

 private:
  size_t byte() { return random_() % text_.size(); }
  std::string without(size_t at, size_t n) const { return text_.substr(0, at) + text_.substr(at + n); }
  Mutant edit() {
    std::string text = text_;
    const size_t at = byte();
    text[at] = static_cast<char>(text[at] ^ static_cast<char>(1 + random_() % 255));
    return {"byte " + std::to_string(at), text};
  }
  Mutant insert() {
    static constexpr std::string_view bytes = " \t\n0a\"{},\\";
    std::string text = text_;
    text.insert(byte(), 1, bytes[random_() % bytes.size()]);
    return {"byte more", text};
  }
  Mutant cut() { return {"cut", text_.substr(0, byte())}; }
  Mutant swap() {
    std::vector<std::string> lines = lines_;
    const size_t a = random_() % lines.size(), b = random_() % lines.size();
    std::swap(lines[a], lines[a == b ? (b + 1) % lines.size() : b]);
    return {"swap", text_of_lines(lines)};
  }
  Mutant line_gone() {
    std::vector<std::string> lines = lines_;
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(random_() % lines.size());
    if (random_() % 2 == 0) lines.insert(at, *at);
    else lines.erase(at);
    return {"line gone or twice", text_of_lines(lines)};
  }

  std::mt19937 random_{6};
  const std::string text_;
  const std::vector<std::string> lines_;
};

TEST_F(Audit, TenThousandMutantsAreSeen) {
  write_log(14);
  const std::string text = read(path_);
  const auto lines = static_cast<int64_t>(lines_of(text).size());
  Mutants mutants(text);
  for (int n = 0; n < 10'000; ++n) {
    const Mutant mutant = mutants.make();
    if (mutant.text == text) continue;
    write(path_, mutant.text);
    const auto check = verify_audit(path_, "", "");
    ASSERT_TRUE(check) << mutant.what;
    ASSERT_FALSE(check->ok) << mutant.what;
    ASSERT_GE(check->bad_seq, 1) << mutant.what;
    ASSERT_LE(check->bad_seq, lines + 1) << mutant.what;
    ASSERT_FALSE(check->reason.empty());
  }
  write(path_, text);
  EXPECT_TRUE(verify().ok);
}

TEST_F(Audit, EveryByteOfALogCounts) {
  write_log(2);
  const std::string text = read(path_);
  for (size_t at = 0; at < text.size(); at += 3) {
    std::string mutant = text;
    mutant[at] = static_cast<char>(mutant[at] ^ 1);
    write(path_, mutant);
    const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
    const auto check = verify_audit(path_, "", "");
    ASSERT_TRUE(check && !check->ok) << at;
    ASSERT_EQ(check->bad_seq, line) << at;
  }
}

TEST_F(Audit, TheFirstBadLineIsNamed) {
  write_log(14);
  const std::vector<std::string> lines = lines_of(read(path_));
  const auto bad_seq = [&](std::vector<std::string> damaged) {
    write(path_, text_of_lines(damaged));
    return verify().bad_seq;
  };
  for (size_t k = 1; k < lines.size(); ++k) {
    auto gone = lines, edited = lines, twice = lines;
    gone.erase(gone.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_EQ(bad_seq(gone), static_cast<int64_t>(k) + 1);
    edited[k].replace(edited[k].find("\"time\":\"2"), 9, "\"time\":\"3");
    EXPECT_EQ(bad_seq(edited), static_cast<int64_t>(k) + 1);
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(k), lines[k]);
    EXPECT_EQ(bad_seq(twice), static_cast<int64_t>(k) + 2);
    if (k + 1 < lines.size()) {
      auto swapped = lines;
      std::swap(swapped[k], swapped[k + 1]);
      EXPECT_EQ(bad_seq(swapped), static_cast<int64_t>(k) + 1);
    }
  }
  EXPECT_EQ(bad_seq({lines.begin(), lines.end() - 3}), static_cast<int64_t>(lines.size()) - 2);
}

// The line again, as somebody writes it who knows how hashes are made and has no key.
std::string forged(const std::string& text, const std::string& prev, const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json line = nlohmann::json::parse(text);
  line.erase("hash");
  line["prev"] = prev;
  change(line);
  std::string body = line.dump();
  const std::string hash = sha256_hex(prev + body);
  body.pop_back();
  return body + ",\"hash\":\"" + hash + "\"}";
}

TEST_F(Audit, AForgedChainFailsAtASignature) {
  write_log(14);
  const std::vector<std::string> lines = lines_of(read(path_));
  const auto rewrite = [&](bool with_signed_lines) {
    std::vector<std::string> forgery;
    std::string prev(64, '0');
    for (const std::string& text : lines) {
      if (!with_signed_lines && !forgery.empty() && Json::parse(text).contains("sig")) continue;
      forgery.push_back(forged(text, prev, [&](nlohmann::json& line) {
        line["seq"] = forgery.size() + 1;
        if (line["kind"] == "request") line["bytes_upstream"] = 0;
      }));
      prev = Json::parse(forgery.back())["hash"];
    }
    write(path_, text_of_lines(forgery));
    write(path_ + ".head", std::to_string(forgery.size()) + ":" + prev + "\n");
  };
  rewrite(true);
  EXPECT_EQ(verify().bad_seq, 7);  // the first checkpoint behind a changed request
  EXPECT_THAT(verify().reason, HasSubstr("signature"));
  rewrite(false);
  EXPECT_THAT(verify().reason, HasSubstr("checkpoint is missing"));
}

TEST_F(Audit, AnotherKeyDoesNotVerify) {
  write_log(3);
  AuditOptions other = options_;
  other.path = folder_ + "/other.jsonl", other.key_file = folder_ + "/other.key";
  ASSERT_TRUE(AuditLog::open(other, policy_));
  const auto check = verify_audit(path_, folder_ + "/other.pub", "");
  ASSERT_TRUE(check);
  EXPECT_FALSE(check->ok);
  EXPECT_EQ(check->bad_seq, 1);
  EXPECT_FALSE(verify_audit(path_, folder_ + "/nothing.pub", ""));
}

TEST_F(Audit, HeadsAreHeldAgainstTheLog) {
  write_log(4);
  const std::string text = read(path_), head = verify().head;
  EXPECT_TRUE(verify(head).ok);
  EXPECT_FALSE(verify("3:" + std::string(64, 'a')).ok);
  EXPECT_EQ(verify("3:" + std::string(64, 'a')).bad_seq, 3);
  EXPECT_FALSE(verify("99:" + std::string(64, 'a')).ok);
  EXPECT_FALSE(verify_audit(path_, "", "99"));
  fs::remove(path_ + ".head");
  auto lines = lines_of(text);
  lines.resize(lines.size() - 2);
  write(path_, text_of_lines(lines));
  EXPECT_TRUE(verify().ok);  // without any head a cut cannot be seen, and that is said
  EXPECT_THAT(verify().notes, ElementsAre(HasSubstr("no head")));
  EXPECT_FALSE(verify(head).ok);
  write(path_ + ".head", "x");
  EXPECT_FALSE(verify().ok);
  write(path_, "");
  EXPECT_FALSE(verify().ok);
  fs::remove(path_);
  write(path_ + ".head", head);
  EXPECT_FALSE(verify().ok);
  fs::remove(path_ + ".head");
  EXPECT_FALSE(verify_audit(path_, "", ""));
}

TEST_F(Audit, ATornLastLineIsCutOffAndNamed) {
  options_.fsync_lines = true;
  write_log(4);
  const std::string torn = "{\"action\":\"mask\",\"byt";
  std::ofstream(path_, std::ios::app) << torn;
  EXPECT_EQ(verify().reason, "the line is cut off");
  write_log(1);
  EXPECT_TRUE(verify().ok) << verify().reason;
  bool named = false;
  for (const std::string& text : lines_of(read(path_))) {
    const Json line = Json::parse(text);
    if (line.contains("torn")) named = line["torn"]["bytes"] == torn.size() && line["torn"]["sha256"] == sha256_hex(torn);
  }
  EXPECT_TRUE(named);
}

TEST_F(Audit, ATornFirstLineBeginsAfresh) {
  write(path_, "{\"kind\":\"sta");
  write_log(1);
  EXPECT_TRUE(verify().ok) << verify().reason;
}

TEST_F(Audit, LostLinesAreNamedWhereTheyMayBeLostAndRefusedWhereNot) {
  write_log(4);
  const std::string text = read(path_);
  auto lines = lines_of(text);
  const std::string head = verify().head;
  lines.resize(lines.size() - 2);
  write(path_, text_of_lines(lines));
  options_.fsync_lines = true;
  EXPECT_THAT(refusal(), HasSubstr("missing"));
  options_.fsync_lines = false;
  write_log(1);
  EXPECT_THAT(read(path_), HasSubstr("\"lost\":\"" + head + "\""));
  EXPECT_TRUE(verify().ok);
}

TEST_F(Audit, ADamagedLogIsNotContinued) {
  write_log(4);
  std::string text = read(path_);
  text[text.size() / 2] ^= 1;
  write(path_, text);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("cannot open the audit log"), HasSubstr("line ")));
  EXPECT_EQ(read(path_), text);
  fs::remove(path_);
  EXPECT_THAT(refusal(), HasSubstr("is gone"));
}

TEST_F(Audit, OneWriterAtATime) {
  const auto log = open();
  EXPECT_THAT(refusal(), HasSubstr("another program"));
}

TEST_F(Audit, KeysAreLookedAfter) {
  write_log(1);
  chmod((folder_ + "/audit.key").c_str(), 0644);
  EXPECT_THAT(refusal(), HasSubstr("mode 600"));
  fs::remove(folder_ + "/audit.key");
  EXPECT_THAT(refusal(), HasSubstr("missing"));
  fs::remove(folder_ + "/audit.pub");
  EXPECT_THAT(refusal(), HasSubstr("signature"));  // a new key does not continue the log of the old one
}

TEST_F(Audit, AFullDiskIsAnErrorAndLeavesNoHalfLine) {
  const pid_t child = fork();
  if (child == 0) {  // limits hold for a whole process
    signal(SIGXFSZ, SIG_IGN);
    auto log = AuditLog::open(options_, policy_);
    if (!log) _exit(2);
    for (int n = 0; n < 3; ++n)
      if (!(*log)->append("request", request(n))) _exit(3);
    const rlimit limit{fs::file_size(path_) + 100, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(4);
    const Status full = (*log)->append("request", request(9));
    const rlimit more{RLIM_INFINITY, RLIM_INFINITY};
    if (full || setrlimit(RLIMIT_FSIZE, &more) != 0) _exit(5);
    if (!(*log)->append("request", request(4))) _exit(6);
    log->reset();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(verify().ok) << verify().reason;
}

TEST_F(Audit, AKilledProgramLeavesAWholeChain) {
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      auto log = AuditLog::open(options_, policy_);
      for (int n = 0; log; ++n) static_cast<void>((*log)->append("request", request(n)));
      _exit(2);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  write_log(1);
  EXPECT_TRUE(verify().ok) << verify().reason;
  EXPECT_GT(verify().lines, 20);
}

TEST_F(Audit, ManyThreadsWriteOneChain) {
  {
    const auto log = open();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int n = 0; n < 100; ++n) EXPECT_TRUE(log->append("request", request(n)));
      });
  }
  EXPECT_TRUE(verify().ok);
  EXPECT_EQ(audit_stats(path_, "", "")->at("requests"), 400);
}

TEST_F(Audit, FullFilesArePartsOfOneChain) {
  options_.rotate_bytes = 4000;
  write_log(40);
  write_log(10);
  const std::string first = path_ + ".000001", second = path_ + ".000002";
  ASSERT_TRUE(fs::exists(first) && fs::exists(second));
  const AuditCheck whole = verify();
  EXPECT_TRUE(whole.ok) << whole.reason;
  EXPECT_EQ(Json::parse(lines_of(read(second)).front())["prev"], Json::parse(lines_of(read(first)).back())["hash"]);
  EXPECT_EQ(audit_stats(path_, "", "")->at("requests"), 50);
  for (const std::string& part : {first, second}) {  // a byte, a line, or a part less is seen
    const std::string text = read(part);
    std::string damaged = text;
    damaged[damaged.size() / 2] ^= 1;
    write(part, damaged);
    EXPECT_FALSE(verify().ok);
    auto lines = lines_of(text);
    lines.pop_back();
    write(part, text_of_lines(lines));
    EXPECT_FALSE(verify().ok);
    write(part, "");
    EXPECT_FALSE(verify().ok);
    write(part, text);
  }
  fs::rename(second, folder_ + "/kept");
  EXPECT_FALSE(verify().ok);
  EXPECT_THAT(verify().reason, HasSubstr("part"));
  fs::rename(folder_ + "/kept", second);
  fs::remove(first);  // the oldest may go
  const AuditCheck rest = verify();
  EXPECT_TRUE(rest.ok) << rest.reason;
  EXPECT_THAT(rest.notes, ElementsAre(HasSubstr("older parts")));
  EXPECT_LT(rest.lines, whole.lines);
  EXPECT_EQ(rest.seq, whole.seq);
  write_log(3);
  EXPECT_TRUE(verify().ok);
}

TEST_F(Audit, ACrashBetweenTwoPartsIsGoneOnFrom) {
  options_.rotate_bytes = 4000;
  write_log(12);
  fs::rename(path_, path_ + ".000099");
  fs::rename(path_ + ".000099", path_ + ".00000" + std::to_string(Json::parse(lines_of(read(path_ + ".000099")).front())["part"].get<int>()));
  write_log(2);
  EXPECT_TRUE(verify().ok) << verify().reason;
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(Audit, OldPartsGoAfterTheirTime) {
  options_.rotate_bytes = 4000, options_.retention_days = 30;
  write_log(20);
  const std::string first = path_ + ".000001";
  ASSERT_TRUE(fs::exists(first));
  fs::last_write_time(first, fs::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  write_log(1);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_TRUE(verify().ok);
  std::string all;
  for (const auto& file : fs::directory_iterator(folder_))
    if (file.path().filename().string().starts_with("audit.jsonl")) all += read(file.path().string());
  EXPECT_THAT(all, HasSubstr("\"dropped_parts\":1"));
}

TEST_F(Audit, TotalsComeFromTheLogAlone) {
  {
    const auto log = open();
    for (int n = 0; n < 4; ++n) ASSERT_TRUE(log->append("request", request(n)));
    Json sent = request(1), refused = request(0);
    sent["findings"][0]["class"] = "org", sent["findings"][0]["action"] = "allow";
    refused["route"] = "refused", refused["status"] = 403, refused["code"] = "privacy_refused", refused["model"] = "";
    ASSERT_TRUE(log->append("request", sent));
    ASSERT_TRUE(log->append("request", refused));
    ASSERT_TRUE(log->append("consent", {{"event", "taken"}, {"decision", "mask_once"}}));
  }
  const auto stats = audit_stats(path_, "", "");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->at("requests"), 6);
  EXPECT_EQ(stats->at("routes"), (Json{{"cloud-masked", 3}, {"local", 2}, {"refused", 1}}));
  EXPECT_EQ(stats->at("classes"), (Json{{"card", {{"kept", 1 + 3 + 1}, {"masked", 2 + 1}, {"sent", 0}}}, {"org", {{"kept", 0}, {"masked", 0}, {"sent", 2}}}}));
  EXPECT_EQ(stats->at("consents"), (Json{{"mask_once", 1}}));
  EXPECT_EQ(stats->at("errors"), (Json{{"privacy_refused", 1}}));
  EXPECT_EQ(audit_stats(path_, "2999-01-01", "")->at("requests"), 0);
  EXPECT_EQ(audit_stats(path_, "2020-01-01", "2999-01-01T00:00Z")->at("requests"), 6);
  EXPECT_EQ(audit_stats(path_, "", "2020-01-01")->at("requests"), 0);
  EXPECT_FALSE(audit_stats(path_, "yesterday", ""));
}

TEST_F(Audit, TheTableIsSafeToOpen) {
  {
    const auto log = open();
    Json line = request(1);
    line["requested"] = "=cmd|' /C calc'!A0", line["endpoint"] = "a,\"b\"\nc";
    ASSERT_TRUE(log->append("request", line));
  }
  char* data = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&data, &size);
  EXPECT_TRUE(export_audit_csv(path_, out));
  std::fclose(out);
  const std::string text(data, size);
  free(data);
  EXPECT_THAT(text, AllOf(HasSubstr("seq,time,id,"), HasSubstr(",'=cmd|' /C calc'!A0,"), HasSubstr("\"a,\"\"b\"\"\nc\""), HasSubstr(",card=2,\n")));
}

TEST_F(Audit, AMillionLinesInTenSeconds) {
  options_.checkpoint_lines = 100;
  write_log(20'000);  // a fiftieth of them, in processor time: other tests may run beside this one
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(verify().ok);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("seconds", std::to_string(seconds));
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 10.0 / 50);
#endif
}

}  // namespace
