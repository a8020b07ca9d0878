// privacy_train: fits the weights of one tagger to marked texts, with the features and windows that the program itself uses.
// usage: privacy_train latin|han TRAINING HELD OUT    Texts as english.py and chinese.py write them; OUT: links (floats), then rows (bytes).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/tagger.h"

namespace {

constexpr int n_epochs = 2;
constexpr float rate = 0.12f, decay = 2e-7f, largest_weight = 5.0f, forbidden = -30.0f;
constexpr double hidden_texts = 0.35, hidden_words = 0.6;  // how often known names are shown as unknown words

struct Span { size_t begin, end; uint8_t tag; };
struct Marked { std::string text; std::vector<Span> spans; };

Marked read(const std::string& line) {
  Marked out;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == 1) {
      const char kind = line[++i];
      out.spans.push_back({out.text.size(), 0, static_cast<uint8_t>(kind == 'p' ? begin_person : kind == 'o' ? begin_org : kind == 'c' ? begin_place : begin_address)});
    } else if (c == 2) {
      out.spans.back().end = out.text.size();
    } else {
      out.text += c == 3 ? '\n' : c;
    }
  }
  return out;
}

struct Sequence { std::vector<uint32_t> rows; std::vector<uint8_t> tags; };  // n_features rows a token
struct Corpus { std::vector<Sequence> sequences; size_t n_features = 0, n_tokens = 0, missed = 0; };

std::vector<uint8_t> tags_of(const Tokens& tokens, const std::vector<Span>& spans) {
  std::vector<uint8_t> tags(tokens.size(), outside);
  size_t at = 0;
  for (const Span& span : spans) {
    while (at < tokens.size() && tokens[at].end <= span.begin) ++at;
    bool first = true;
    for (; at < tokens.size() && tokens[at].begin < span.end; ++at) {
      tags[at] = first ? span.tag : static_cast<uint8_t>(span.tag + 1);
      first = false;
    }
  }
  return tags;
}

void add(const Marked& marked, bool latin, bool training, std::mt19937& random, Corpus& corpus) {
  const Tokens tokens = tokenise(marked.text);
  TaggedText text(marked.text, tokens);
  const std::vector<uint8_t> tags = tags_of(tokens, marked.spans);
  std::uniform_real_distribution<double> chance(0, 1);
  if (training && latin && chance(random) < hidden_texts) {
    for (LexiconEntry& entry : text.entries) {
      if ((entry.bits() & (first_name | surname | place_name)) != 0 && (entry.bits() & ordinary_word) == 0 && chance(random) < hidden_words) entry = {};
    }
  }
  size_t covered = 0;
  for (const TokenRange& window : latin ? latin_windows(text) : han_windows(text)) {
    Sequence sequence;
    Features features;
    for (size_t i = window.first; i < window.last; ++i) {
      if (latin) latin_features(text, i, features);
      else han_features(text, i, features);
      corpus.n_features = features.n;
      sequence.rows.insert(sequence.rows.end(), features.rows.begin(), features.rows.begin() + static_cast<long>(features.n));
      sequence.tags.push_back(tags[i]);
      covered += tags[i] != outside;
    }
    corpus.n_tokens += sequence.tags.size();
    corpus.sequences.push_back(std::move(sequence));
  }
  corpus.missed += static_cast<size_t>(std::count_if(tags.begin(), tags.end(), [](uint8_t t) { return t != outside; })) - covered;
}

Corpus load(const char* path, bool latin, bool training) {
  Corpus corpus;
  std::ifstream in(path);
  std::mt19937 random(1);
  for (std::string line; std::getline(in, line);) add(read(line), latin, training, random, corpus);
  std::cerr << path << ": " << corpus.sequences.size() << " windows, " << corpus.n_tokens << " tokens, " << corpus.missed << " tokens of names outside windows\n";
  return corpus;
}

using Row = std::array<float, n_tags>;

class Field {
 public:
  explicit Field(size_t n_rows) : weights_(n_rows), squares_(n_rows) {
    for (size_t from = 0; from < n_tags; ++from) {
      for (size_t to = 0; to < n_tags; ++to) link_[from][to] = allowed(from, to) ? 0 : forbidden;
    }
  }
  static bool allowed(size_t from, size_t to) { return to == outside || to % 2 == 1 || from == to || from + 1 == to; }

  void learn(const Sequence& s, size_t n_features) {
    const size_t n = s.tags.size();
    emit(s, n_features);
    infer(n);
    for (size_t i = 0; i < n; ++i) {
      Row gradient;
      for (size_t k = 0; k < n_tags; ++k) gradient[k] = marginal_[i][k] - (s.tags[i] == k ? 1.0f : 0.0f);
      for (size_t f = 0; f < n_features; ++f) step(weights_[s.rows[i * n_features + f]], squares_[s.rows[i * n_features + f]], gradient);
      const size_t gold_from = i == 0 ? size_t{outside} : s.tags[i - 1];
      for (size_t from = 0; from < n_tags; ++from) {
        if (i == 0 && from != outside) continue;
        for (size_t to = 0; to < n_tags; ++to) {
          if (!allowed(from, to)) continue;
          const float p = i == 0 ? marginal_[0][to] : forward_[i - 1][from] * expl_[from][to] * weighted_[i][to] / pair_norm_[i];
          const float g = p - (from == gold_from && to == s.tags[i] ? 1.0f : 0.0f);
          link_squares_[from][to] += g * g;
          link_[from][to] -= rate * g / std::sqrt(link_squares_[from][to] + 1.0f);
          expl_[from][to] = std::exp(link_[from][to]);
        }
      }
    }
  }
  // Tokens with a wrong tag, of those that are or should be names.
  std::pair<size_t, size_t> errors(const Sequence& s, size_t n_features) {
    emit(s, n_features);
    infer(s.tags.size());
    std::pair<size_t, size_t> out{0, 0};
    for (size_t i = 0; i < s.tags.size(); ++i) {
      const size_t best = static_cast<size_t>(std::max_element(marginal_[i].begin(), marginal_[i].end()) - marginal_[i].begin());
      out.first += best != s.tags[i];
      out.second += best != outside || s.tags[i] != outside;
    }
    return out;
  }
  void write(const char* path) const {
    std::ofstream out(path, std::ios::binary);
    const float scale = largest_weight / 127;
    out.write(reinterpret_cast<const char*>(&scale), sizeof scale);
    for (const Row& row : link_) out.write(reinterpret_cast<const char*>(row.data()), sizeof row);
    for (const Row& row : weights_) {
      for (const float w : row) out.put(static_cast<char>(std::lround(std::clamp(w / scale, -127.0f, 127.0f))));
    }
  }
  void prepare() {
    for (size_t from = 0; from < n_tags; ++from) {
      for (size_t to = 0; to < n_tags; ++to) expl_[from][to] = std::exp(link_[from][to]);
    }
  }

 private:
  static void step(Row& weight, Row& squares, const Row& gradient) {
    for (size_t k = 0; k < n_tags; ++k) {
      const float g = gradient[k] + decay * weight[k];
      squares[k] += g * g;
      weight[k] -= rate * g / std::sqrt(squares[k] + 1.0f);
    }
  }
  void emit(const Sequence& s, size_t n_features) {
    emission_.assign(s.tags.size(), {});
    for (size_t i = 0; i < s.tags.size(); ++i) {
      for (size_t f = 0; f < n_features; ++f) {
        const Row& row = weights_[s.rows[i * n_features + f]];
        for (size_t k = 0; k < n_tags; ++k) emission_[i][k] += row[k];
      }
      const float top = *std::max_element(emission_[i].begin(), emission_[i].end());
      for (float& e : emission_[i]) e = std::exp(e - top);
    }
  }
  void infer(size_t n) {
    forward_.resize(n);
    weighted_.resize(n);
    marginal_.resize(n);
    pair_norm_.resize(n);
    for (size_t i = 0; i < n; ++i) {
      float sum = 0;
      for (size_t to = 0; to < n_tags; ++to) {
        float total = 0;
        if (i == 0) total = expl_[outside][to];
        else
          for (size_t from = 0; from < n_tags; ++from) total += forward_[i - 1][from] * expl_[from][to];
        sum += forward_[i][to] = total * emission_[i][to];
      }
      for (float& p : forward_[i]) p /= sum;
    }
    Row later;
    later.fill(1);
    for (size_t i = n; i-- > 0;) {
      float sum = 0;
      for (size_t k = 0; k < n_tags; ++k) sum += marginal_[i][k] = forward_[i][k] * later[k];
      for (float& p : marginal_[i]) p /= sum;
      for (size_t k = 0; k < n_tags; ++k) weighted_[i][k] = emission_[i][k] * later[k];
      Row earlier;
      float norm = 0, pairs = 0;
      for (size_t from = 0; from < n_tags; ++from) {
        float total = 0;
        for (size_t to = 0; to < n_tags; ++to) total += expl_[from][to] * weighted_[i][to];
        if (i > 0) pairs += forward_[i - 1][from] * total;
        norm += earlier[from] = total;
      }
      pair_norm_[i] = pairs;
      for (size_t k = 0; k < n_tags; ++k) later[k] = earlier[k] / norm;
    }
  }

  std::vector<Row> weights_, squares_;
  std::array<Row, n_tags> link_{}, link_squares_{}, expl_{};
  std::vector<Row> emission_, forward_, weighted_, marginal_;
  std::vector<float> pair_norm_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: privacy_train latin|han TRAINING HELD OUT\n"), 2;
  const bool latin = std::strcmp(argv[1], "latin") == 0;
  Corpus training = load(argv[2], latin, true);
  const Corpus held = load(argv[3], latin, false);
  Field field(latin ? latin_rows : han_rows);
  field.prepare();
  std::mt19937 random(2);
  for (int epoch = 0; epoch < n_epochs; ++epoch) {
    std::shuffle(training.sequences.begin(), training.sequences.end(), random);
    for (const Sequence& s : training.sequences) field.learn(s, training.n_features);
    size_t wrong = 0, names = 0;
    for (const Sequence& s : held.sequences) {
      const auto [w, n] = field.errors(s, held.n_features);
      wrong += w;
      names += n;
    }
    std::cerr << "epoch " << epoch + 1 << ": held-apart tokens wrong " << wrong << ", of " << names << " in names\n";
  }
  field.write(argv[4]);
}
