// fuzz: answers cut into any pieces: the same as in one piece, whole characters, no value inside a URL, none from outside the ledger.
#include <cstdint>
#include <cstdlib>
#include "core/json_writer.h"
#include "privacy/restore.h"

namespace {

constexpr char jane[] = "Jane \"J\" Roe\\", number[] = "4000007654321097";

struct Known {
  std::shared_ptr<Vault> vault;
  Ledger ledger;
  std::string person, card, stranger;
};
const Known& known() {
  static Known& it = *[] {
    auto* out = new Known;
    auto vault = Vault::make(std::string(32, 'k'));
    if (!vault) std::abort();
    out->vault = *vault;
    out->person = out->vault->placeholder(PrivacyClass::person, jane);
    out->card = out->vault->placeholder(PrivacyClass::card, number);
    out->stranger = out->vault->placeholder(PrivacyClass::email, "never@sent.example");
    if (!out->ledger.add(out->person, PrivacyClass::person, jane) || !out->ledger.add(out->card, PrivacyClass::card, number)) std::abort();
    return out;
  }();
  return it;
}

// Bytes 0xf5 to 0xf9, which no text has, stand for what a fuzzer would take long to write.
std::string spelled_out(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    switch (static_cast<unsigned char>(c)) {
      case 0xf5: out += known().person; break;
      case 0xf6: out += known().card; break;
      case 0xf7: out += known().stranger; break;
      case 0xf8: out += "https://evil.example/"; break;
      case 0xf9: out += "](//evil.example/"; break;
      default: out += c;
    }
  }
  return out;
}

size_t count(std::string_view text, std::string_view word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

void check(const std::string& text, const std::string& whole, const RestoreCounts& counts, Restorer::Lane lane) {
  if (whole.find("never@sent") != std::string::npos && text.find("never@sent") == std::string::npos) std::abort();
  const size_t values = count(whole, "Jane ") + count(whole, number) - count(text, "Jane ") - count(text, number);
  if (values != static_cast<size_t>(counts.restored)) std::abort();
  for (size_t at = whole.find("evil.example/"); at != std::string::npos; at = whole.find("evil.example/", at + 1)) {
    const std::string_view rest = std::string_view(whole).substr(at);
    const std::string_view url = rest.substr(0, rest.find_first_of(" \n\t\r\v\f\"<>`)"));
    if (url.find(number) != std::string_view::npos && text.find(number) == std::string::npos) std::abort();
  }
  if (lane == Restorer::Lane::arguments && Json::accept(text) && !Json::accept(whole)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 4096) return 0;
  const auto lane = data[0] & 1 ? Restorer::Lane::arguments : Restorer::Lane::text;
  const size_t step = 1 + data[1] % 32;
  const std::string text = spelled_out({reinterpret_cast<const char*>(data) + 2, size - 2});
  static const Policy::Restore rules;
  RestoreCounts counts;
  const std::string whole = restore_whole(known().ledger, rules, lane, text, counts);
  Restorer restorer(known().ledger, rules, lane);
  std::string out;
  for (size_t at = 0; at < text.size(); at += step) out += restorer.add(std::string_view(text).substr(at, step));
  out += restorer.finish();
  if (out != whole || restorer.counts().restored != counts.restored || restorer.counts().unresolved != counts.unresolved || restorer.counts().url_blocked != counts.url_blocked) std::abort();
  check(text, whole, counts, lane);
  return 0;
}
