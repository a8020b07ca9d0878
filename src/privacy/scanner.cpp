// scanner: folds a text, has every detector read its views, and brings their hits home to the original.
#include "privacy/scanner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include "privacy/characters.h"
#include "privacy/overlap.h"
#include "privacy/terms.h"
#include "privacy/view_derive.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr float least_score = 0.3f;
constexpr size_t label_reach = 120;  // bytes between a label and its value: 40 Han
constexpr size_t max_decoded_bytes = size_t{1} << 20;  // of one text

struct Rules {
  ScanOptions options;
  std::unique_ptr<LabelBook> book;
  Detectors detectors;
  std::unique_ptr<const TermFinder> terms;
  std::shared_ptr<SpanModel> model;
  bool reads_reversed = false;
};

bool is_decoded(ViewKind kind) { return kind >= ViewKind::base64 && kind <= ViewKind::gzip; }
bool is_blob(ViewKind kind) { return kind == ViewKind::base64 || kind == ViewKind::hex || kind == ViewKind::gzip; }

// A view of the text, or of another view of it.
struct Leaf {
  View view;
  const Leaf* parent = nullptr;
  int depth = 0;             // decoders above it
  bool is_excerpts = false;  // of its parent, rewritten; else the parent folded

  View::Origin home(size_t begin, size_t end) const {
    const View::Origin origin = view.origin(begin, end);
    return parent == nullptr ? origin : parent->home(origin.begin, origin.end);
  }
  // Whether the span is news: excerpts repeat their surroundings. An escape can hide a value's border or its label too: "card%204000…".
  bool is_news(size_t begin, size_t end) const {
    const bool is_escaped = view.kind == ViewKind::escapes || view.kind == ViewKind::quoted_printable;
    return is_seen_first(begin, end, [&](const View& v, size_t b, size_t e) { return v.changed(b, e) || (is_escaped && v.is_near_change(b, e, label_reach)); });
  }
  bool is_rewritten(size_t begin, size_t end) const {
    return is_seen_first(begin, end, [](const View& v, size_t b, size_t e) { return v.changed(b, e); });
  }

 private:
  bool is_seen_first(size_t begin, size_t end, const auto& here) const {
    if (parent == nullptr) return true;
    if (is_excerpts) return here(view, begin, end);
    const View::Origin origin = view.origin(begin, end);
    return parent->is_seen_first(origin.begin, origin.end, here);
  }
};

// One scan. Any member that gives false has met a limit or a failure, which `why` names: the text counts as unscanned.
class Reading {
 public:
  Reading(const Rules& rules, std::string_view text, Clock::time_point until) : rules_(rules), text_(text), until_(until) {}

  bool read() {
    const Leaf& base = add(folded(text_), nullptr, 0);
    return read_page(base) && ask_model() && in_time();
  }
  std::string_view why() const { return why_; }
  std::optional<Resolved> resolved() {
    drop_allowed();
    return resolve(text_, std::move(candidates_));
  }

 private:
  bool fail(std::string_view why) {
    why_ = why;
    return false;
  }
  bool in_time() { return Clock::now() <= until_ || fail("too_slow"); }

  const Leaf& add(View view, const Leaf* parent, int depth, bool is_excerpts = false) {
    leaves_.push_back({std::move(view), parent, depth, is_excerpts});
    return leaves_.back();
  }
  // A view is folded again before it is read.
  bool read_view(View view, const Leaf& parent, int depth) {
    if (view.text.empty()) return true;
    const Leaf& leaf = add(std::move(view), &parent, depth, true);
    if (first_beyond_ascii(leaf.view.text) == leaf.view.text.size()) return read_page(leaf);
    View again = folded(leaf.view.text);
    again.kind = leaf.view.kind;
    return read_page(add(std::move(again), &leaf, depth));
  }
  bool read_rewritten(ViewKind kind, Rewrites&& rewrites, const Leaf& leaf) {
    if (leaf.parent != nullptr) std::erase_if(rewrites.all(), [&](const Rewrites::One& one) { return !leaf.is_rewritten(one.begin, one.end); });
    if (rewrites.empty()) return true;
    if (!is_decoded(kind)) return read_view(excerpts(leaf.view.text, kind, rewrites), leaf, leaf.depth);
    if (leaf.depth >= rules_.options.limits.decode_depth) return fail("too_deep");
    View view = excerpts(leaf.view.text, kind, rewrites);
    if (view.text.size() > bytes_left_) return fail("too_much_encoded");
    bytes_left_ -= view.text.size();
    return read_view(std::move(view), leaf, leaf.depth + 1);
  }

  bool read_page(const Leaf& leaf) {
    const ViewKind kind = leaf.view.kind;
    const Labels labels(*rules_.book, leaf.view.text);
    const Page page{leaf.view.text, kind, labels};
    std::vector<Hit> hits;
    for (const auto& detector : rules_.detectors) {
      if (!detector->reads(kind)) continue;
      if (!in_time()) return false;
      hits.clear();
      detector->find(page, hits);
      for (const Hit& hit : hits) {
        if (!take(leaf, hit, detector->name())) return false;
      }
    }
    if (kind != ViewKind::folded && !is_decoded(kind)) return true;
    return find_terms(leaf) && read_further(leaf);
  }

  bool read_further(const Leaf& leaf) {
    const std::string_view page = leaf.view.text;
    if (rules_.reads_reversed && leaf.depth == 0 && !read_view(reversed_view(page), leaf, 0)) return false;
    Blobs blobs = find_blobs(page, bytes_left_);
    if (blobs.over_limit) return fail("too_much_encoded");
    for (const View::Origin& blob : blobs.opaque) add_opaque(leaf, blob);
    return read_rewritten(ViewKind::numerals, find_numerals(page), leaf) && read_rewritten(ViewKind::squeezed, find_digits_apart(page), leaf) &&
           read_rewritten(ViewKind::escapes, find_escapes(page), leaf) && read_rewritten(ViewKind::quoted_printable, find_quoted_printable(page), leaf) &&
           read_rewritten(ViewKind::base64, std::move(blobs.base64), leaf) && read_rewritten(ViewKind::hex, std::move(blobs.hex), leaf) &&
           read_rewritten(ViewKind::gzip, std::move(blobs.gzip), leaf);
  }

  // A hit that lies outside its page is a failure of its detector.
  bool take(const Leaf& leaf, const Hit& hit, std::string_view detector) {
    if (hit.begin >= hit.end || hit.end > leaf.view.text.size() || !(hit.score >= 0 && hit.score <= 1.01f)) return fail("failed");
    if (hit.score < least_score || !leaf.is_news(hit.begin, hit.end)) return true;
    const View::Origin home = whole_characters(leaf.home(hit.begin, hit.end));
    Candidate c;
    c.finding = {hit.cls, std::string(hit.kind), std::string(detector), view_name(leaf, hit.begin, hit.end), home.begin, home.end, std::min(hit.score, 1.0f), hit.internal};
    c.validated = hit.validated || is_blob(leaf.view.kind);
    c.statement = hit.statement;
    candidates_.push_back(std::move(c));
    return true;
  }
  static std::string view_name(const Leaf& leaf, size_t begin, size_t end) {
    const ViewKind kind = leaf.view.kind;
    if (kind == ViewKind::folded) return leaf.view.changed(begin, end) ? "folded" : "plain";
    if (kind != ViewKind::escapes && kind != ViewKind::quoted_printable) return std::string(name_of(kind));
    if (leaf.is_excerpts && !leaf.view.changed(begin, end)) return "plain";  // an escape stands beside it
    if (kind != ViewKind::escapes) return std::string(name_of(kind));
    if (!leaf.is_excerpts) {
      const View::Origin origin = leaf.view.origin(begin, end);
      return view_name(*leaf.parent, origin.begin, origin.end);
    }
    return std::string(name_of(escape_kind(leaf.parent->view.text[leaf.view.first_change(begin, end)])));
  }

  void add_opaque(const Leaf& leaf, View::Origin blob) {
    if (!leaf.is_rewritten(blob.begin, blob.end)) return;
    const View::Origin home = leaf.home(blob.begin, blob.end);
    candidates_.push_back({{PrivacyClass::opaque, "blob", "opaque", view_name(leaf, blob.begin, blob.end), home.begin, home.end, 0.9f, false}, false, false});
  }

  bool find_terms(const Leaf& leaf) {
    const auto hits = rules_.terms->find(leaf.view.text, until_);
    if (!hits) return fail("too_slow");
    for (const TermFinder::Hit& hit : *hits) {
      if (!leaf.is_news(hit.begin, hit.end)) continue;
      const View::Origin home = leaf.home(hit.begin, hit.end);
      if (hit.term->allowed) {
        allowed_.push_back(home);
      } else {
        candidates_.push_back({{PrivacyClass::custom, hit.term->name, "term", view_name(leaf, hit.begin, hit.end), home.begin, home.end, 1.0f, false}, true, false});
      }
    }
    return true;
  }

  bool ask_model() {
    if (rules_.model == nullptr) return true;
    auto spans = rules_.model->spans(text_);
    if (!spans) return fail("no_model");
    for (SpanModel::Span& span : *spans) {
      if (span.begin >= span.end || span.end > text_.size() || !(span.score >= 0)) return fail("no_model");
      if (span.score < least_score) continue;
      const View::Origin whole = whole_characters({span.begin, span.end});
      candidates_.push_back({{span.cls, std::move(span.kind), "model", "plain", whole.begin, whole.end, std::min(span.score, 1.0f), false}, false, span.cls == PrivacyClass::health});
    }
    return true;
  }
  View::Origin whole_characters(View::Origin span) const {
    while (span.begin > 0 && continues(text_[span.begin])) --span.begin;
    while (span.end < text_.size() && continues(text_[span.end])) ++span.end;
    return span;
  }

  void drop_allowed() {
    if (allowed_.empty()) return;
    std::sort(allowed_.begin(), allowed_.end(), [](const View::Origin& a, const View::Origin& b) { return a.begin < b.begin; });
    // Of those that begin at or before a candidate, the one that reaches furthest.
    std::vector<size_t> reach;
    for (const View::Origin& a : allowed_) reach.push_back(std::max(reach.empty() ? 0 : reach.back(), a.end));
    std::erase_if(candidates_, [&](const Candidate& c) {
      const auto after = std::upper_bound(allowed_.begin(), allowed_.end(), c.finding.begin, [](size_t b, const View::Origin& a) { return b < a.begin; });
      return after != allowed_.begin() && reach[static_cast<size_t>(after - allowed_.begin()) - 1] >= c.finding.end;
    });
  }

  const Rules& rules_;
  std::string_view text_;
  Clock::time_point until_;
  std::deque<Leaf> leaves_;  // they point at each other
  std::vector<Candidate> candidates_;
  std::vector<View::Origin> allowed_;
  size_t bytes_left_ = max_decoded_bytes;
  std::string_view why_;
};

ScanReport unscanned(std::string_view text, std::string_view why) {
  ScanReport report;
  report.findings.push_back({PrivacyClass::unscanned, std::string(why), "limits", "plain", 0, text.size(), 1.0f, false});
  return report;
}

class RuleScanner final : public Scanner {
 public:
  explicit RuleScanner(Rules rules) : rules_(std::move(rules)) {}
  void use(std::shared_ptr<SpanModel> model) { rules_.model = std::move(model); }

  ScanReport scan(std::string_view text) const override {
    const Clock::time_point begin = Clock::now();
    ScanReport report = read(text, begin + std::chrono::milliseconds(rules_.options.limits.scan_ms));
    report.us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
    return report;
  }

 private:
  ScanReport read(std::string_view text, Clock::time_point until) const {
    if (text.empty()) return {};
    if (text.size() > rules_.options.limits.max_bytes || text.size() >= UINT32_MAX) return unscanned(text, "too_long");
    if (!valid_utf8(text)) return unscanned(text, "not_utf8");
    try {
      Reading reading(rules_, text, until);
      if (!reading.read()) return unscanned(text, reading.why());
      auto resolved = reading.resolved();
      if (!resolved) return unscanned(text, "too_many");
      return {std::move(resolved->findings), std::move(resolved->statements), 0};
    } catch (...) {  // a detector or the memory failed: nothing is known about this text
      return unscanned(text, "failed");
    }
  }

  Rules rules_;
};

}  // namespace

Result<std::shared_ptr<const Scanner>> make_scanner(ScanOptions options, std::unique_ptr<LabelBook> book, Detectors detectors, std::shared_ptr<SpanModel> model) {
  Rules rules;
  TRY(rules.terms, TermFinder::make(options.terms));
  std::erase_if(detectors, [&](const auto& detector) { return options.tiers.find(detector->tier()) == std::string::npos; });
  for (const auto& detector : detectors) rules.reads_reversed |= detector->reads(ViewKind::reversed);
  book->build();
  rules.options = std::move(options), rules.book = std::move(book), rules.detectors = std::move(detectors);
  auto scanner = std::make_shared<RuleScanner>(std::move(rules));
  (void)scanner->scan("Dear Jane Roe, 王小明 4.");  // what detectors make on first use is made here
  scanner->use(std::move(model));
  return std::shared_ptr<const Scanner>(std::move(scanner));
}

Result<std::shared_ptr<const Scanner>> Scanner::make(ScanOptions options, std::shared_ptr<SpanModel> model) {
  auto book = std::make_unique<LabelBook>();
  Detectors detectors = all_detectors(*book);
  return make_scanner(std::move(options), std::move(book), std::move(detectors), std::move(model));
}
