// privacy_scan: processor time of a scan per KB, of ordinary texts and of hostile ones, with all detectors and with none (folding, labels, views, decoders).
//   bench_privacy_scan [BYTES] [FILE...]     files are measured beside the made-up texts; 128 KiB of each unless told otherwise
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include "privacy/scan.h"
#include "privacy/scanner.h"

namespace {

// Of this process, in ms: other work on the machine does not count.
double cpu_ms() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

std::mt19937 seeded(6);

template <size_t n> std::string_view any(const std::string_view (&words)[n]) { return words[seeded() % n]; }
std::string number(size_t digits) {
  std::string out;
  while (out.size() < digits) out.push_back(static_cast<char>('0' + seeded() % 10));
  return out;
}

std::string prose() {
  static constexpr std::string_view words[] = {"the", "a", "of", "and", "to", "in", "that", "was", "report", "number", "meeting", "Tuesday", "morning", "account",
      "should", "before", "office", "Berlin", "summary", "question", "public", "policy", "reading", "would", "their", "which", "between", "London", "garden", "river",
      "address", "phone", "order", "Margaret", "doctor", "street", "water", "through", "because", "system", "value", "example", "second", "result"};
  std::string out;
  for (int i = 0; i < 12; ++i) (out += any(words)) += i == 11 ? ".\n" : i % 5 == 4 ? ", " : " ";
  return out;
}
std::string code() {
  static constexpr std::string_view names[] = {"buffer", "index", "password_field", "token_count", "keyName", "result", "node", "request", "userId", "hash", "config", "secretName"};
  std::string out = "  if (";
  ((out += any(names)) += "->") += any(names);
  ((out += "(") += any(names)) += ") != " + number(1 + seeded() % 4) + ") {\n    ";
  (((out += any(names)) += " = ") += any(names)) += "[" + number(2) + "] + static_cast<size_t>(";
  (out += any(names)) += ".size()); // TODO: check the bound\n  }\n";
  return out;
}
std::string log_line() {
  static constexpr std::string_view what[] = {"GET /api/v1/items", "POST /login", "cache miss for key", "worker started", "connection closed by peer", "retry of job"};
  return "2026-11-30T17:" + number(2) + ":" + number(2) + "." + number(3) + "Z INFO [worker-" + number(2) + "] " + std::string(any(what)) + " id=" + number(9) + " took " +
         number(3) + "ms from 10.0." + number(2) + "." + number(2) + "\n";
}
std::string chinese() {
  static constexpr std::string_view words[] = {"我們", "今天", "會議", "報告", "電話", "號碼", "需要", "這個", "系統", "，", "。", "的", "是", "在", "王先生", "台北市", "公司", "問題", "帳號",
      "一個", "可以", "時間", "資料", "使用", "（", "）"};
  std::string out;
  for (int i = 0; i < 30; ++i) out += any(words);
  return out + "\n";
}

std::string filled(size_t bytes, const std::function<std::string()>& piece) {
  std::string out;
  while (out.size() <= bytes) out += piece();
  size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // at the border of a character
  out.resize(end);
  return out;
}
std::string repeated(size_t bytes, std::string_view piece) { return filled(bytes, [&] { return std::string(piece); }); }

std::string nested_base64(size_t bytes) {
  static constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = filled(bytes * 27 / 64, prose);
  for (int level = 0; level < 3; ++level) {
    std::string out;
    uint32_t bits = 0;
    int n = 0;
    for (const char c : text) {
      bits = bits << 8 | static_cast<unsigned char>(c), n += 8;
      for (; n >= 6; n -= 6) out.push_back(alphabet[bits >> (n - 6) & 63]);
    }
    text = std::move(out);
  }
  return text;
}

double median_ms(const Scanner& scanner, std::string_view text, std::string& verdict) {
  std::vector<double> all;
  for (const double begin = cpu_ms(); all.size() < 5 || (all.size() < 200 && cpu_ms() < begin + 200);) {
    const double before = cpu_ms();
    const ScanReport report = scanner.scan(text);
    all.push_back(cpu_ms() - before);
    verdict = report.findings.size() == 1 && report.findings[0].cls == PrivacyClass::unscanned ? "unscanned: " + report.findings[0].kind : std::to_string(report.findings.size());
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? static_cast<size_t>(std::atoll(argv[1])) : size_t{128} << 10;
  ScanOptions options;
  options.limits.scan_ms = 60'000;
  const auto all = Scanner::make(options);
  const auto none = make_scanner(options, std::make_unique<LabelBook>(), {});
  if (!all || !none || bytes == 0) return 1;

  std::vector<std::pair<std::string, std::string>> texts = {{"prose", filled(bytes, prose)}, {"code", filled(bytes, code)}, {"log", filled(bytes, log_line)}, {"Chinese", filled(bytes, chinese)}};
  for (int i = 2; i < argc; ++i) {
    std::ostringstream content;
    content << std::ifstream(argv[i], std::ios::binary).rdbuf();
    if (!content.str().empty()) texts.push_back({argv[i], filled(bytes, [&] { return content.str(); })});
  }
  texts.push_back({"digits", filled(bytes, [] { return number(64); })});
  texts.push_back({"base64 letters", filled(bytes, [] { return number(1) + static_cast<char>('A' + seeded() % 26) + static_cast<char>('a' + seeded() % 26); })});
  for (const auto& [name, piece] : std::initializer_list<std::pair<const char*, std::string_view>>{
           {"%41", "%41"}, {"%2541", "%2541"}, {"\\u0041", "\\u0041"}, {"&#65;", "&#65;"}, {"=41", "=41"}, {"combining", "a\u0301\u0302\u0303"}, {"combining run", "\u0301"}, {"a@", "a@"}, {"a.", "a."},
           {"zero width", "\u200b"}, {"digit, zero width", "4\u200b"}, {"full width", "４"}, {"look-alikes", "а1"}, {"numerals", "一二三"}, {"one two", "one two "}, {"1.2.", "1.2."}, {"41 42", "41 42 "},
           {"dots", "1。"}, {"dashes", "-"}, {"1-", "1-"}, {"spaces", " "}, {"newlines", "A\n"}, {"password", "password: "}, {"quotes", "\"'"}, {"brackets", "(["}, {"://", "a://b@"}, {"eyJ", "eyJhbGciOiJ."}, {"BEGIN", "-----BEGIN PRIVATE KEY-----\n"},
           {"capitals", "Aa Bb "}, {"Han", "王小明"}, {"colons", "a:b:"}, {"slashes", "/"}, {"1/", "1/2/"}, {"sk-", "sk-"}, {"name is", "my name is "}, {"street", "12 Main St, "}}) {
    texts.push_back({name, repeated(bytes, piece)});
  }
  texts.push_back({"nested base64", nested_base64(bytes)});

  std::printf("%-24s %12s %12s   us per KB; findings\n", "", "all", "no detector");
  for (const auto& [name, text] : texts) {
    std::string verdict, ignored;
    const double kb = static_cast<double>(text.size()) / 1024;
    const double with = median_ms(**all, text, verdict), without = median_ms(**none, text, ignored);
    std::printf("%-24s %12.2f %12.2f   %s\n", name.c_str(), with * 1e3 / kb, without * 1e3 / kb, verdict.c_str());
  }
}
