// id detector: every way to join a chain's tokens is looked up by length and shape; grouping, check and labels give the score.
#include "privacy/detect/numbers/id_detector.h"

#include <algorithm>
#include "privacy/detect/numbers/card_details.h"
#include "privacy/view.h"

namespace numbers {
namespace {

constexpr size_t max_groups = 10;
constexpr float least = 0.3f;           // what scores less is not worth telling
constexpr float typo = 0.6f;            // labelled, though the check fails
constexpr float label_alone = 0.85f;    // right after a label, with nothing to check
constexpr float label_near = 0.6f;      // farther from it
constexpr float label_general = 0.8f;   // near a word for any identity number, when the check passes
constexpr float other_thing = 0.3f;     // less, after "order no"
constexpr size_t other_reach = 24;      // code points

constexpr std::string_view general_words =
    "id|id no|id number|id card|national id|national id number|national identity number|identity number|identity card|identity card number|personal id|personal number|identification number|"
    "身分證|身分證號|身分證字號|身份證|身份證號碼|身份证|身份证号|身份证号码|證件號碼|证件号|证件号码|身分証|身分証番号|身分証明書番号|国民識別番号|신분증|신분증번호|국민식별번호|"
    "ausweis|ausweisnummer|numéro d'identité|carte d'identité|documento de identidad|documento de identidade|carta d'identità";

constexpr std::string_view other_things[] = {
    "order", "order no", "order number", "order id", "invoice", "invoice no", "isbn", "issn", "ean", "upc", "sku", "tracking", "tracking number", "shipment", "part no", "part number",
    "serial", "serial number", "model", "version", "commit", "build", "revision", "timestamp", "epoch", "uuid", "guid", "pid", "ticket", "issue", "request id", "trace id",
    "transaction id", "訂單", "订单", "訂單編號", "订单号", "追蹤", "追踪", "物流", "快遞", "快递", "運單", "运单", "書號", "书号", "型號",
    "型号", "序號", "序列号", "版本", "時間戳", "时间戳", "注文", "注文番号", "追跡番号", "伝票番号", "주문", "주문번호", "송장", "bestellnummer", "commande", "pedido", "ordine"};

// Part of a longer number: a tail of a UUID, the decimals of a fraction, a telephone number after "+".
bool attached(std::string_view text, std::span<const Token> chain, size_t first, size_t last) {
  const auto ties = [](char link) { return link == '-' || link == '.'; };
  if (first > 0 && chain[first - 1].digit && ties(chain[first - 1].link)) return true;
  if (last + 1 < chain.size() && chain[last + 1].digit && ties(chain[last].link)) return true;
  return chain[first].begin > 0 && text[chain[first].begin - 1] == '+';
}

// Among more numbers with spaces between: a row of a table, a line of a log.
bool in_a_row(std::span<const Token> chain, size_t first, size_t last) {
  const auto number = [](const Token& token) { return token.digit && !token.letter; };
  if (first > 0 && number(chain[first - 1]) && chain[first - 1].link == ' ') return true;
  return last + 1 < chain.size() && number(chain[last + 1]) && chain[last].link == ' ';
}

// As pages are: Thai and Devanagari letters come apart.
std::vector<std::string> folded_words(std::string_view labels) {
  std::vector<std::string> out;
  for (const std::string_view word : alternatives(labels)) out.push_back(folded(word).text);
  return out;
}

LabelSet add_words(LabelBook& book, const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return book.add(views);
}

// "312345678 is my passport number", 312345678是我的護照號碼.
bool introduced_after(const Page& page, LabelSet labels, size_t end) {
  static constexpr std::string_view verbs[] = {" is my ", " is our ", " is the ", " is her ", " is his ", " is their ", "為", "为", "是", "係", " 為", " 为", " 是", "が", "は"};
  const std::string_view rest = page.text.substr(end);
  return std::ranges::any_of(verbs, [&](std::string_view verb) { return rest.starts_with(verb); }) && page.labels.after(labels, end);
}

}  // namespace

struct IdDetector::Candidate {
  Candidate(std::span<const Token> of, size_t from) : chain(of), first(from) {}

  std::span<const Token> chain;
  size_t first, last = 0;
  std::array<char, max_compact> compact;        // letters in upper case
  size_t length = 0, shortest = max_compact;    // `shortest` of the groups but the last
  uint64_t digits = 0, letters = 0;
  bool lower = false, uniform = true;           // one separator throughout
  bool label_before = false, label = false;     // any rule's
  Grouping grouping, whole;                     // of the groups but the last, and of all

  bool add(std::string_view text, size_t at);
  bool single() const { return first == last; }
  std::string_view view() const { return {compact.data(), length}; }
  size_t begin() const { return chain[first].begin; }
  size_t end() const { return chain[last].end; }
  bool may_be_date() const { return letters == 0 && !single() && shortest < 3 && length <= 8; }
};

// False when it has grown too long.
bool IdDetector::Candidate::add(std::string_view text, size_t at) {
  const Token& token = chain[at];
  if (length + token.size() > max_compact) return false;
  for (size_t i = token.begin; i < token.end; ++i, ++length) {
    const char c = text[i];
    const bool is_digit = c <= '9';
    (is_digit ? digits : letters) |= uint64_t{1} << length;
    compact[length] = is_digit ? c : static_cast<char>(c & ~0x20);
  }
  lower |= token.lower;
  if (at > first) {
    const Token& before = chain[at - 1];
    grouping.add(before.size(), before.link);
    shortest = std::min(shortest, before.size());
    uniform = uniform && before.link == chain[first].link && (before.link == ' ' || before.link == '-' || before.link == '.');
  }
  whole = grouping;
  whole.add(token.size(), 0);
  last = at;
  return true;
}

IdDetector::IdDetector(char tier, std::vector<IdRule> rules, LabelBook& book) : tier_(tier), rules_(std::move(rules)), others_(book.add(other_things)) {
  std::erase_if(rules_, [&](const IdRule& rule) { return rule.tier != tier; });
  for (const IdRule& rule : rules_) written_.push_back(groupings_of(rule.written));
  const std::vector<std::string> general = folded_words(general_words);
  general_words_ = add_words(book, general);
  std::vector<std::string> all_words = general;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const std::vector<std::string> words = folded_words(rules_[i].labels);
    all_words.insert(all_words.end(), words.begin(), words.end());
    const LabelSet labels = add_words(book, words);
    for (const Shape& shape : shapes_of(rules_[i].shape)) {
      Length& length = by_length_[shape.length];
      const Ready ready{&rules_[i], shape, labels, &written_[i]};
      length.rules.insert(ready.alone() ? length.rules.begin() + static_cast<std::ptrdiff_t>(length.n_alone++) : length.rules.end(), ready);
      if ((shape.letters & 1) == 0) longest_after_digit_ = std::max(longest_after_digit_, shape.length);
      if ((shape.digits & 1) == 0) longest_after_letter_ = std::max(longest_after_letter_, shape.length);
    }
  }
  all_words_ = add_words(book, all_words);
}

void IdDetector::find(const Page& page, std::vector<Hit>& out) const {
  Chains chains(page.text);
  const size_t known = out.size();
  for (auto chain = chains.next(); !chain.empty(); chain = chains.next()) {
    for (size_t first = 0; first < chain.size(); ++first) read_from(page, chain, first, out);
  }
  add_expiry_dates(page, out, known);
}

void IdDetector::read_from(const Page& page, std::span<const Token> chain, size_t first, std::vector<Hit>& out) const {
  Candidate candidate(chain, first);
  candidate.label_before = page.labels.before(all_words_, chain[first].begin);
  for (size_t at = first; at < std::min(chain.size(), first + max_groups); ++at) {
    if (!candidate.add(page.text, at)) return;
    const bool crumbs = at - first >= 2 && candidate.length < at - first + 3;  // single digits are for the squeezed view
    if (crumbs || candidate.length > ((candidate.digits & 1) != 0 ? longest_after_digit_ : longest_after_letter_)) return;
    if (candidate.digits != 0 && !by_length_[candidate.length].rules.empty()) judge(page, candidate, out);
  }
}

// The best rule's hit of each class.
void IdDetector::judge(const Page& page, Candidate& candidate, std::vector<Hit>& out) const {
  const size_t begin = candidate.begin(), end = candidate.end();
  candidate.label = candidate.label_before || page.labels.after(all_words_, end);
  const Length& length = by_length_[candidate.length];
  const size_t known = out.size();
  for (const Ready& ready : std::span(length.rules).first(candidate.label ? length.rules.size() : length.n_alone)) {
    if (!ready.shape.fits(candidate.digits, candidate.letters)) continue;
    const std::optional<Evidence> found = evidence(page, candidate, ready);
    if (!found) continue;
    const auto [points, validated] = score(page, candidate, *ready.rule, *found);
    if (points < least || !at_word_start(page.text, begin) || !at_word_end(page.text, end)) continue;
    const Hit hit{.cls = ready.rule->cls, .kind = ready.rule->kind, .begin = begin, .end = end, .score = points, .validated = validated};
    const auto same = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(known), out.end(), [&](const Hit& other) { return other.cls == hit.cls; });
    if (same == out.end()) out.push_back(hit);
    else if (points > same->score) *same = hit;
  }
  const bool closed = !candidate.single() && candidate.chain[candidate.last - 1].link == '(' && page.text.substr(end, 1) == ")";
  for (size_t i = known; closed && i < out.size(); ++i) ++out[i].end;
}

bool IdDetector::is_usual(const Candidate& candidate, const Ready& ready) const {
  if (candidate.single()) return false;
  if (ready.rule->loose > 0 && candidate.uniform && candidate.shortest >= ready.rule->loose) return true;
  return std::ranges::find(*ready.written, candidate.whole) != ready.written->end();
}

// What speaks for a rule before its check is asked. Nothing: it is not this one.
std::optional<IdDetector::Evidence> IdDetector::evidence(const Page& page, const Candidate& candidate, const Ready& ready) const {
  const IdRule& rule = *ready.rule;
  if (!candidate.view().starts_with(rule.prefix)) return std::nullopt;
  Evidence out;
  out.usual = is_usual(candidate, ready);
  out.in_row = in_a_row(candidate.chain, candidate.first, candidate.last);
  if (!candidate.single() && !out.usual && (!candidate.uniform || out.in_row)) return std::nullopt;
  out.alone = candidate.single() ? rule.bare : out.usual ? rule.grouped : no;
  if (out.alone < sure) {
    if (candidate.lower || (out.alone < strong && out.in_row)) out.alone = no;
    if (out.alone == no && !candidate.label) return std::nullopt;
    if (attached(page.text, candidate.chain, candidate.first, candidate.last)) return std::nullopt;
  }
  if (candidate.label) {
    const size_t begin = candidate.begin(), end = candidate.end();
    out.introduced = page.labels.introduces(ready.labels, begin);
    out.labelled = out.introduced || (rule.introduced ? introduced_after(page, ready.labels, end) : page.labels.near(ready.labels, begin, end));
    out.general = !out.labelled && rule.cls == PrivacyClass::gov_id && rule.labelled >= sure && page.labels.near(general_words_, begin, end);
  }
  if (out.alone == no && !out.labelled && !out.general) return std::nullopt;
  return out;
}

IdDetector::Score IdDetector::score(const Page& page, const Candidate& candidate, const IdRule& rule, const Evidence& evidence) const {
  const Verdict verdict = rule.check(candidate.view().substr(rule.prefix.size()));
  const bool passed = verdict == Verdict::passed;
  const bool digits_alone = page.kind == ViewKind::squeezed || page.kind == ViewKind::numerals;  // how they were grouped is not to be seen there
  const float alone = verdict == Verdict::impossible || verdict == Verdict::failed || (digits_alone && !passed) ? no : evidence.alone;
  if (verdict == Verdict::impossible) return {};
  if (passed && evidence.labelled) return {std::max(rule.labelled, alone), true};
  if (passed && evidence.general) return {std::max(label_general, alone), true};
  if (!evidence.labelled) {
    const bool other = alone < sure && page.labels.before(others_, candidate.begin(), other_reach);
    return {other ? alone - other_thing : alone, passed && alone >= likely};
  }
  if (verdict == Verdict::unchecked) {
    if (candidate.may_be_date() && !evidence.usual) return {alone, false};
    return {std::max(alone, evidence.introduced ? std::min(rule.labelled, label_alone) : label_near), evidence.introduced};  // its own label beats another's near by
  }
  const bool whole = candidate.letters != 0 || (!evidence.in_row && (evidence.introduced || evidence.usual));
  return {whole ? typo : no, false};
}

}  // namespace numbers
