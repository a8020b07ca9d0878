// privacy tests: a gate with a scanner that knows a handful of words, a local model that says its name, and a cloud on loopback.
#pragma once
#include <gmock/gmock.h>
#include <algorithm>
#include <map>
#include "privacy/gate_parts.h"
#include "privacy/upstream_harness.h"

// Finds words of a list wherever they stand.
class WordScanner : public Scanner {
 public:
  struct Word { std::string text; PrivacyClass cls; bool statement = false; };
  std::vector<Word> words = {{"Jane Roe", PrivacyClass::person}, {"Zoe Poe", PrivacyClass::person}, {"jane@example.org", PrivacyClass::email}, {"4000007654321097", PrivacyClass::card},
                             {"hunter2", PrivacyClass::secret}, {"Nordstar", PrivacyClass::custom}, {"BLOB", PrivacyClass::opaque}, {"hepatitis", PrivacyClass::health, true}};
  std::function<void(std::string_view)> before = [](std::string_view) {};
  ScanReport scan(std::string_view text) const override {
    before(text);
    ScanReport report;
    for (const Word& word : words) {
      for (size_t at = text.find(word.text); at != text.npos; at = text.find(word.text, at + 1)) {
        Finding found;
        found.cls = word.cls;
        found.kind = "word";
        found.detector = "words";
        found.begin = at, found.end = at + word.text.size();
        found.score = 0.9f;
        (word.statement ? report.statements : report.findings).push_back(found);
      }
    }
    std::sort(report.findings.begin(), report.findings.end(), [](const Finding& a, const Finding& b) { return a.begin < b.begin; });
    return report;
  }
};

class LocalModel : public Completer {
 public:
  int answers = 0;
  std::vector<ChatRequest> seen;
  Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token) override {
    {
      const std::lock_guard lock(mutex_);
      ++answers;
      seen.push_back(request);
    }
    Delta delta;
    delta.text = "local says hi";
    out(delta);
    return Finish{};
  }
  std::vector<ModelInfo> models() const override {
    ModelInfo info;
    info.name = "small";
    info.context_tokens = 4096;
    return {info};
  }
  Result<Embeddings> embed(const EmbedRequest& request, std::stop_token) override { return Embeddings{{{1.0f}}, static_cast<int>(request.texts.size())}; }
  Result<std::vector<TokenId>> tokenize(const std::string& model, std::string_view, bool, bool) override { return model == "small" ? std::vector<TokenId>{1, 2} : std::vector<TokenId>{}; }

 private:
  std::mutex mutex_;  // of what is written by several threads; read when they have ended
};

class MemoryLog : public AuditLog {
 public:
  std::vector<std::pair<std::string, Json>> lines;
  bool broken = false;
  Status append(std::string_view kind, Json line) override {
    const std::lock_guard lock(mutex_);
    if (broken) return Error{Code::io, "cannot write the audit log: the disk is full"};
    lines.emplace_back(kind, std::move(line));
    return ok_status();
  }
  std::vector<Json> requests() const {
    std::vector<Json> out;
    for (const auto& [kind, line] : lines) {
      if (kind == "request") out.push_back(line);
    }
    return out;
  }

 private:
  std::mutex mutex_;
};

// The cloud: says what it is told to, by default that all is well.
inline void say_ok(Peer& peer) { peer.events(said("ok") + ended() + done); }

class GateTest : public testing::Test {
 protected:
  GateTest() : cloud([this](Peer& peer) { script(peer); }) {
    policy.id = "test";
    policy.sha256 = std::string(64, 'a');
    policy.cloud_by_default = true;
    policy.classes[static_cast<size_t>(PrivacyClass::opaque)].action = Action::ask;
    options = options_for(cloud);
    options.retries = 0;
  }
  ~GateTest() override { expect_one_line_each(); }

  Gate& gate() {
    if (gate_) return *gate_;
    auto parts = std::make_unique<GateParts>();
    parts->policy = policy;
    parts->upstreams.push_back(upstream_of(options));
    parts->scanner = scanner;
    parts->vaults = std::move(*VaultBook::open("", 3600));
    parts->consents = std::move(*ConsentBook::open(""));
    auto log = std::make_unique<MemoryLog>();
    audit = log.get();
    parts->audit = std::move(log);
    parts->local = &local;
    return *(gate_ = assemble_gate(std::move(parts)));
  }

  ChatRequest to(const std::string& model, const std::string& text) {
    ChatRequest request = asking(text);
    request.model = model;
    request.gate.endpoint = "/v1/chat/completions";
    request.gate.key = "key-1";
    request.gate.body_sha256 = std::string(64, 'b');
    request.gate.body_bytes = text.size();
    request.gate.routed = [this](const RouteReport& report) {
      if (reports.empty()) deltas_when_routed = heard.deltas;
      reports.push_back(report);
    };
    return request;
  }

  // One answer; `n` choices of it.
  Result<std::vector<Finish>> ask(const ChatRequest& request, int n = 1, std::stop_token stop = {}) {
    heard.forget();
    reports.clear();
    ++asked;
    const std::vector<ChatRequest> requests(static_cast<size_t>(n), request);
    auto out = gate().complete_all(requests, heard.sink, std::move(stop));
    const bool failed_late = reports.size() == 2 && reports[0].code.empty() && !reports[1].code.empty();
    EXPECT_TRUE(reports.size() == 1 || failed_late) << "a request is announced once, and once more when its answer breaks off";
    if (reports.empty()) reports.emplace_back();
    EXPECT_EQ(deltas_when_routed, 0);
    EXPECT_EQ(reports[0].policy, "test@aaaaaaaaaaaa");
    return out;
  }
  const RouteReport& report() const { return reports.front(); }
  Json privacy() const { return Json::parse(report().privacy_json, nullptr, false); }
  Json line() const { return audit->requests().back(); }
  std::string text() const { return heard.choices[0].text; }
  Json sent(size_t i = 0) const {
    const auto requests = cloud.requests();
    return i < requests.size() ? Json::parse(requests[i].substr(requests[i].find("\r\n\r\n") + 4), nullptr, false) : Json();
  }
  // What stands where a word stood: the placeholder in "say X please".
  std::string placeholder(size_t i = 0) const {
    const std::string content = sent(i)["messages"].back()["content"];
    const size_t begin = content.find("say ") + 4;
    return content.substr(begin, content.find(' ', begin) - begin);
  }
  void expect_one_line_each() const {
    EXPECT_EQ(audit ? audit->requests().size() : 0, static_cast<size_t>(asked)) << "A1: one line for each request";
  }

  std::function<void(Peer&)> script = say_ok;
  Loopback cloud;
  Policy policy;
  UpstreamOptions options;
  std::shared_ptr<WordScanner> scanner = std::make_shared<WordScanner>();
  LocalModel local;
  MemoryLog* audit = nullptr;
  Heard heard;
  std::vector<RouteReport> reports;
  int deltas_when_routed = 0, asked = 0;
  std::unique_ptr<Gate> gate_;
};
