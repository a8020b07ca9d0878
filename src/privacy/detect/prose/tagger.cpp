// prose: where to look for names, and the most likely tags there with their probabilities.
#include "privacy/detect/prose/tagger.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr size_t around = 3;           // tokens beside what may be a name
constexpr size_t longest_window = 512;
constexpr size_t longest_name = 8;       // words of a person, an organisation or a place
constexpr float least_probability = 0.25f;

// Marks collected as ranges that do not overlap.
class Ranges {
 public:
  void add(size_t at, size_t n_tokens) {
    const size_t first = at > around ? at - around : 0, last = std::min(n_tokens, at + around + 1);
    if (!ranges_.empty() && first <= ranges_.back().last && last - ranges_.back().first <= longest_window) ranges_.back().last = std::max(last, ranges_.back().last);
    else ranges_.push_back({ranges_.empty() ? first : std::max(first, ranges_.back().last), last});
  }
  std::vector<TokenRange> take() { return std::move(ranges_); }

 private:
  std::vector<TokenRange> ranges_;
};

struct Weights {
  std::span<const int8_t> rows;
  std::span<const float> links;  // scale, then transitions [from][to]
  bool ready() const { return !rows.empty() && links.size() == 1 + n_tags * n_tags; }
};

using Scores = std::array<float, n_tags>;
// Weights of one row, with what follows it in the file: sixteen are read at once, nine are meant.
using Sixteen = int8_t __attribute__((vector_size(16)));
using Sums = int16_t __attribute__((vector_size(32)));  // most_features rows of at most 127 fit

// Best path, then probabilities where it is not all outside; these are scaled per token, so nothing over- or underflows.
class Chain {
 public:
  explicit Chain(const Weights& weights) : weights_(weights) {
    for (size_t from = 0; from < n_tags; ++from) {
      for (size_t to = 0; to < n_tags; ++to) {
        link_[from][to] = weights.links[1 + from * n_tags + to];
        link_exp_[from][to] = link_exp_turned_[to][from] = std::exp(link_[from][to]);
      }
    }
  }
  void start(size_t n) {
    n_ = 0;
    emission_.resize(n);
    best_.resize(n);
    from_.resize(n);
    tags_.resize(n);
  }
  void push(const Features& features) {
    Sums sums{};
    for (size_t i = 0; i < features.n; ++i) {
      Sixteen row;
      std::memcpy(&row, weights_.rows.data() + size_t{features.rows[i]} * n_tags, sizeof row);
      sums += __builtin_convertvector(row, Sums);
    }
    for (size_t k = 0; k < n_tags; ++k) emission_[n_][k] = static_cast<float>(sums[k]) * weights_.links[0];
    ++n_;
  }
  // False: all outside.
  bool decode() {
    for (size_t i = 0; i < n_; ++i) step(i);
    size_t tag = static_cast<size_t>(std::max_element(best_[n_ - 1].begin(), best_[n_ - 1].end()) - best_[n_ - 1].begin());
    bool found = false;
    for (size_t i = n_; i-- > 0;) {
      tags_[i] = static_cast<uint8_t>(tag);
      found = found || tag != outside;
      tag = from_[i][tag];
    }
    if (found) weigh();
    return found;
  }
  uint8_t tag(size_t at) const { return tags_[at]; }
  float probability(size_t at) const { return probability_[at]; }

 private:
  void step(size_t i) {
    Scores most;
    std::array<uint8_t, n_tags> source{};
    if (i == 0) {
      most = link_[outside];
    } else {
      for (size_t to = 0; to < n_tags; ++to) most[to] = best_[i - 1][0] + link_[0][to];
      for (size_t from = 1; from < n_tags; ++from) {
        const float before = best_[i - 1][from];
        for (size_t to = 0; to < n_tags; ++to) {
          const float score = before + link_[from][to];
          source[to] = score > most[to] ? static_cast<uint8_t>(from) : source[to];
          most[to] = std::max(most[to], score);
        }
      }
    }
    from_[i] = source;
    for (size_t to = 0; to < n_tags; ++to) best_[i][to] = most[to] + emission_[i][to];
  }
  void weigh() {
    forward_.resize(n_);
    probability_.resize(n_);
    for (size_t i = 0; i < n_; ++i) {
      const float top = *std::max_element(emission_[i].begin(), emission_[i].end());
      for (float& e : emission_[i]) e = std::exp(e - top);
      Scores total = link_exp_[outside];
      if (i > 0) {
        total.fill(0);
        for (size_t from = 0; from < n_tags; ++from) {
          for (size_t to = 0; to < n_tags; ++to) total[to] += forward_[i - 1][from] * link_exp_[from][to];
        }
      }
      float sum = 0;
      for (size_t k = 0; k < n_tags; ++k) sum += forward_[i][k] = total[k] * emission_[i][k];
      for (float& p : forward_[i]) p /= sum;
    }
    Scores later;
    later.fill(1);
    for (size_t i = n_; i-- > 0;) {
      float sum = 0, norm = 0;
      for (size_t k = 0; k < n_tags; ++k) sum += forward_[i][k] * later[k];
      probability_[i] = forward_[i][tags_[i]] * later[tags_[i]] / sum;
      Scores earlier{};
      for (size_t to = 0; to < n_tags; ++to) {
        const float weight = emission_[i][to] * later[to];
        for (size_t from = 0; from < n_tags; ++from) earlier[from] += link_exp_turned_[to][from] * weight;
      }
      for (const float e : earlier) norm += e;
      for (size_t k = 0; k < n_tags; ++k) later[k] = earlier[k] / norm;
    }
  }

  const Weights& weights_;
  std::array<Scores, n_tags> link_, link_exp_, link_exp_turned_;
  size_t n_ = 0;
  std::vector<Scores> emission_, best_, forward_;
  std::vector<std::array<uint8_t, n_tags>> from_;
  std::vector<uint8_t> tags_;
  std::vector<float> probability_;
};

PrivacyClass class_of(uint8_t tag) {
  if (tag < begin_org) return PrivacyClass::person;
  if (tag < begin_place) return PrivacyClass::org;
  return tag < begin_address ? PrivacyClass::place : PrivacyClass::address;
}

using FeaturesOf = void (*)(const TaggedText&, size_t, Features&);

// Whether the span is in the tagger's own script and could be a name at all; marks at its end are cut off.
bool own(const TaggedText& text, NamedSpan& span, bool han) {
  const auto loose = [&](const Token& token) { return token.kind == TokenKind::line || (token.kind == TokenKind::mark && token.hash != '.' && token.hash != '#'); };
  while (span.last > span.first && loose(text.tokens[span.last - 1])) --span.last;
  const auto leads_in = [&](const Token& token) { return loose(token) || (token.shape == WordShape::lower && token.end == token.begin + 1); };  // the s of "name's"
  while (span.last > span.first && leads_in(text.tokens[span.first])) ++span.first;
  size_t n_han = 0, n_words = 0, n_lines = 0;
  for (size_t i = span.first; i < span.last; ++i) {
    n_han += text.tokens[i].kind == TokenKind::han;
    n_words += text.tokens[i].kind == TokenKind::word;
    n_lines += text.tokens[i].kind == TokenKind::line;
  }
  if (han != (n_han > 0) || n_han + n_words == 0) return false;
  return span.cls == PrivacyClass::address || (n_lines == 0 && n_words <= longest_name && n_han <= 2 * longest_name);
}

void read_windows(const TaggedText& text, const std::vector<TokenRange>& windows, const Weights& weights, FeaturesOf features_of, bool han, NamedSpans& out) {
  if (windows.empty() || !weights.ready()) return;
  Chain chain(weights);
  Features features;
  for (const TokenRange& window : windows) {
    const size_t n = window.last - window.first;
    chain.start(n);
    for (size_t i = 0; i < n; ++i) {
      features_of(text, window.first + i, features);
      chain.push(features);
    }
    if (!chain.decode()) continue;
    for (size_t i = 0; i < n;) {
      const uint8_t tag = chain.tag(i);
      if (tag == outside) {
        ++i;
        continue;
      }
      const uint8_t inside = static_cast<uint8_t>((tag | 1) + 1);
      size_t last = i + 1;
      float probability = chain.probability(i);
      while (last < n && chain.tag(last) == inside) probability = std::min(probability, chain.probability(last++));
      NamedSpan span{class_of(tag), "tagged", window.first + i, window.first + last, probability};
      if (probability >= least_probability && own(text, span, han)) out.push_back(span);
      i = last;
    }
  }
}

}  // namespace

TaggedText::TaggedText(std::string_view whole, const Tokens& all) : text(whole), tokens(all), entries(all.size()), covers(all.size()) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == TokenKind::word) {
      entries[i] = prose_model().word(tokens[i].hash);
    } else if (tokens[i].kind == TokenKind::han) {
      for (size_t n = 2; n <= 4 && is_han(tokens, i + n - 1); ++n) covers[i] |= static_cast<uint8_t>(han_ordinary(tokens, i, n) ? 1 << (n - 2) : 0);
    }
  }
}

std::vector<TokenRange> latin_windows(const TaggedText& text) {
  Ranges ranges;
  for (size_t i = 0; i < text.tokens.size(); ++i) {
    const Token& token = text.tokens[i];
    if (token.kind != TokenKind::word) continue;
    const uint32_t bits = text.entries[i].bits();
    const bool ordinary = (bits & ordinary_word) != 0 || (token.classes & (preposition_word | month_word | weekday_word)) != 0;
    const bool wanted = capitalised(token) ? !ordinary || ((bits & (first_name | surname)) != 0 && (bits & ordinary_word) != 0) || !token.opens
                                           : token.shape == WordShape::lower && (bits & (first_name | surname)) != 0 && (bits & (ordinary_word | frequent_word)) == 0 && token.classes == 0;
    if (wanted && !(token.shape == WordShape::capital && (token.hash == word_hash("i") || token.hash == word_hash("a")))) ranges.add(i, text.tokens.size());
  }
  return ranges.take();
}

std::vector<TokenRange> han_windows(const TaggedText& text) {
  Ranges ranges;
  const Tokens& tokens = text.tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != TokenKind::han) continue;
    const uint32_t classes = tokens[i].classes;
    const bool inside = text.covers[i] != 0 || (i > 0 && (text.covers[i - 1] & 1) != 0);
    const bool family = (classes & han_surname) != 0 && is_han(tokens, i + 1) && (!inside || (han_term(tokens, i + 2).classes & han_title) != 0 || (han_term(tokens, i + 3).classes & han_title) != 0);
    const bool foreign = (classes & han_transliteration) != 0 && is_han(tokens, i + 1) && is_han(tokens, i + 2) && (tokens[i + 1].classes & tokens[i + 2].classes & han_transliteration) != 0;
    const bool place = (classes & (han_region_unit | han_road_unit)) != 0 || (han_term(tokens, i).classes & (han_province | han_organisation)) != 0;
    const bool compound = (han_term(tokens, i).classes & han_surname) != 0;
    if (family || compound || foreign || place) ranges.add(i, tokens.size());
  }
  return ranges.take();
}

void find_tagged(std::string_view text, const Tokens& tokens, NamedSpans& out) {
  const TaggedText tagged(text, tokens);
  const ProseModel& model = prose_model();
  read_windows(tagged, latin_windows(tagged), {model.latin_weights, model.latin_links}, latin_features, false, out);
  read_windows(tagged, han_windows(tagged), {model.han_weights, model.han_links}, han_features, true, out);
}
