// attention: keys and values appended and read back through scattered pages: windows, several sequences, prompts in chunks, decoding behind them, against double.
#include <algorithm>
#include <gtest/gtest.h>
#include "core/half.h"
#include "cuda/bounds.h"
#include "cuda/gpu.h"
#include "cuda/twins.h"

namespace {

struct Form { int n_kv, group, dk, dv, window; bool causal = true; int page = 32; };  // group: query heads of one kv head

// Queries, keys and values of one sequence, and what attention makes of any of its rows.
class Story {
 public:
  Story(const Form& f, int length, unsigned seed, bool halves)
      : f_(f), length_(length), q(noise(int64_t{length} * f.n_kv * f.group * f.dk, 3 * seed)), k(noise(int64_t{length} * f.n_kv * f.dk, 3 * seed + 1)), v(noise(int64_t{length} * f.n_kv * f.dv, 3 * seed + 2)), keys_(k), values_(v) {
    if (!halves) return;
    for (float& x : keys_) x = f16_to_float(float_to_f16(x));
    for (float& x : values_) x = f16_to_float(float_to_f16(x));
  }
  std::vector<double> twin(int row, int seen, float scale) const {  // seen: keys that there are; a causal row sees those up to its own
    const int heads = f_.n_kv * f_.group, to = f_.causal ? row + 1 : seen, from = f_.window > 0 ? std::max(0, row + 1 - f_.window) : 0;
    std::vector<double> y(static_cast<size_t>(heads * f_.dv)), p(static_cast<size_t>(to - from));
    for (int h = 0; h < heads; h++) {
      double total = 0;
      for (int i = from; i < to; i++) {
        const double score = dot(&q[static_cast<size_t>((int64_t{row} * heads + h) * f_.dk)], &keys_[static_cast<size_t>((int64_t{i} * f_.n_kv + h / f_.group) * f_.dk)], f_.dk);
        total += p[static_cast<size_t>(i - from)] = std::exp(score * double{scale});
      }
      for (int i = from; i < to; i++)
        for (int d = 0; d < f_.dv; d++) y[static_cast<size_t>(h * f_.dv + d)] += p[static_cast<size_t>(i - from)] / total * double{values_[static_cast<size_t>((int64_t{i} * f_.n_kv + h / f_.group) * f_.dv + d)]};
    }
    return y;
  }
  int length() const { return length_; }

 private:
  Form f_;
  int length_;

 public:
  const std::vector<float> q, k, v;

 private:
  std::vector<float> keys_, values_;
};

std::vector<float> rows_of(std::span<const float> all, int first, int rows, int width) {
  const auto part = all.subspan(static_cast<size_t>(int64_t{first} * width), static_cast<size_t>(int64_t{rows} * width));
  return {part.begin(), part.end()};
}

// Some sequences in one state, fed piece by piece; results lie in `out`, sequence by sequence.
class Rig {
 public:
  Rig(Gpu& gpu, const Form& f, std::span<const Story* const> stories, float scale) : gpu_(gpu), f_(f), stories_(stories.begin(), stories.end()), options_{scale, f.window, f.causal} {
    StateSpec spec;
    spec.kind = StateSpec::Kind::paged_kv;
    spec.n_kv_heads = f.n_kv, spec.key_dim = f.dk, spec.value_dim = f.dv, spec.window = f.window;
    int longest = 0;
    for (const Story* s : stories) longest = std::max(longest, s->length());
    each_ = (longest + f.page - 1) / f.page;
    pages_ = scattered_pages(each_ * static_cast<int>(stories.size()) + 1);
    gpu.allocate_state({&spec, 1}, {static_cast<int32_t>(pages_.size()), f.page, 1});
    for (const Story* s : stories) out.emplace_back(static_cast<size_t>(int64_t{s->length()} * width()), std::nanf(""));
  }
  int width() const { return f_.n_kv * f_.group * f_.dv; }
  void feed(std::span<const Step::Part> parts, bool apart = false) {
    const Step step(parts, pages_, each_);
    std::vector<float> q, k, v;
    for (const Step::Part& p : parts) {
      const Story& s = *stories_[static_cast<size_t>(p.sequence)];
      const auto add = [&](std::vector<float>& to, std::span<const float> from, int width) {
        const std::vector<float> part = rows_of(from, p.past, p.rows, width);
        to.insert(to.end(), part.begin(), part.end());
      };
      add(q, s.q, f_.n_kv * f_.group * f_.dk), add(k, s.k, f_.n_kv * f_.dk), add(v, s.v, f_.n_kv * f_.dv);
    }
    Tensor y;
    gpu_.run([&](Encoder& e) {
      const Tensor tq = gpu_.input(e, q, {step.rows(), f_.n_kv * f_.group, f_.dk}), tk = gpu_.input(e, k, {step.rows(), f_.n_kv, f_.dk}), tv = gpu_.input(e, v, {step.rows(), f_.n_kv, f_.dv});
      if (apart) e.append({0}, tk, tv, step.batch());
      y = apart ? e.attention(tq, {0}, step.batch(), options_) : e.append_attention(tk, tv, tq, {0}, step.batch(), options_);
    });
    const std::vector<float> all = gpu_.read(y);
    int row = 0;
    for (const Step::Part& p : parts) {
      std::copy_n(all.begin() + int64_t{row} * width(), int64_t{p.rows} * width(), out[static_cast<size_t>(p.sequence)].begin() + int64_t{p.past} * width());
      row += p.rows;
    }
  }
  std::vector<std::vector<float>> out;

 private:
  Gpu& gpu_;
  Form f_;
  std::vector<const Story*> stories_;
  AttentionOptions options_;
  int each_ = 0;
  std::vector<int32_t> pages_;
};

void expect_twin(const Story& s, std::span<const float> out, int width, float scale, double bound, const std::string& what, int first = 0) {
  ASSERT_TRUE(std::ranges::all_of(out.subspan(static_cast<size_t>(int64_t{first} * width)), [](float v) { return std::isfinite(v); })) << what << ": not every element is a number";
  std::vector<int> rows;
  for (int row = first; row < s.length(); row += row < first + 66 ? 1 : std::max(1, s.length() / 90)) rows.push_back(row);
  if (rows.back() != s.length() - 1) rows.push_back(s.length() - 1);
  std::vector<float> got(rows.size() * static_cast<size_t>(width));
  std::vector<double> want(got.size());
  in_parallel(std::ssize(rows), [&](int64_t i) {
    const int row = rows[static_cast<size_t>(i)];
    const std::vector<double> y = s.twin(row, s.length(), scale);
    std::ranges::copy(y, want.begin() + i * width);
    std::copy_n(out.begin() + int64_t{row} * width, width, got.begin() + i * width);
  });
  expect_close(got, want, width, bound, what);
}

std::string describe(const Form& f, const char* test, Precision p) {
  return std::string(test) + " " + word(p) + ": kv heads " + std::to_string(f.n_kv) + " x " + std::to_string(f.group) + ", dims " + std::to_string(f.dk) + ", " + std::to_string(f.dv) + ", window " + std::to_string(f.window);
}

constexpr Form kForms[] = {{2, 8, 256, 256, 0}, {8, 4, 64, 64, 0}, {1, 3, 80, 48, 0}, {2, 2, 32, 32, 70}, {4, 4, 128, 128, 0, true, 16}, {1, 5, 20, 17, 0}, {1, 1, 96, 80, 0, false}, {1, 16, 128, 128, 600}, {1, 4, 512, 512, 0, true, 64}, {3, 1, 16, 16, 33}};

TEST(Attention, OfAPromptAndWhatFollowsEqualsDouble) {
  for (const Form& f : kForms)
    for (const Precision precision : kPrecisions) {
      Gpu& gpu = Gpu::of(precision);
      const Story s(f, 700, 1, precision == Precision::fast);
      const Story* const one[] = {&s};
      const float scale = 1 / std::sqrt(static_cast<float>(f.dk));
      for (const bool apart : {false, true}) {
        Rig rig(gpu, f, one, scale);
        if (!f.causal) {
          const Step::Part whole[] = {{700, 0, 0}};
          rig.feed(whole, apart);
        }
        for (int past = 0; f.causal && past < 700;) {  // a prompt, a chunk behind it, then token by token
          const int rows = past == 0 ? 513 : past == 513 ? 150 : 1;
          const Step::Part part[] = {{rows, past, 0}};
          rig.feed(part, apart);
          past += rows;
        }
        expect_twin(s, rig.out[0], rig.width(), scale, bounds(precision).chain, describe(f, "attention", precision));
        if (precision == Precision::exact) break;
      }
    }
}

TEST(Attention, OfSeveralSequencesInAStep) {
  for (const Form& f : {kForms[0], kForms[3], kForms[5]})
    for (const Precision precision : kPrecisions) {
      Gpu& gpu = Gpu::of(precision);
      const bool halves = precision == Precision::fast;
      const Story a(f, 301, 1, halves), b(f, 77, 2, halves), c(f, 200, 3, halves);
      const Story* const all[] = {&a, &b, &c};
      const float scale = 1 / std::sqrt(static_cast<float>(f.dk));
      Rig rig(gpu, f, all, scale);
      const Step::Part prompts[] = {{300, 0, 0}, {5, 0, 1}, {70, 0, 2}}, mixed[] = {{1, 300, 0}, {71, 5, 1}, {129, 70, 2}}, last[] = {{1, 76, 1}, {1, 199, 2}};
      rig.feed(prompts), rig.feed(mixed), rig.feed(last);
      for (size_t i = 0; i < 3; i++) expect_twin(*all[i], rig.out[i], rig.width(), scale, bounds(precision).chain, describe(f, "attention together", precision) + ", sequence " + std::to_string(i));
    }
}

// Decoding alone and among 31 others: the same bits.
TEST(Attention, ARowsBitsDoNotDependOnItsStep) {
  for (const Form& f : {kForms[0], kForms[1], kForms[3]})
    for (const Precision precision : kPrecisions) {
      Gpu& gpu = Gpu::of(precision);
      std::vector<Story> stories;
      for (int i = 0; i < 32; i++) stories.emplace_back(f, i == 3 ? 600 : 40 + 5 * i, static_cast<unsigned>(i), false);
      std::vector<const Story*> all;
      std::vector<Step::Part> last;
      for (const Story& s : stories) all.push_back(&s);
      Rig rig(gpu, f, all, 0.1f);
      for (int32_t i = 0; i < 32; i++) {
        const Step::Part prompt[] = {{stories[static_cast<size_t>(i)].length() - 1, 0, i}};
        rig.feed(prompt);
        last.push_back({1, stories[static_cast<size_t>(i)].length() - 1, i});
      }
      rig.feed(last);
      const auto together = rig.out;
      for (const int i : {0, 3, 31}) {
        rig.feed(std::span(last).subspan(static_cast<size_t>(i), 1));
        const auto at = static_cast<size_t>(i);
        expect_same_bits(std::span(rig.out[at]).last(static_cast<size_t>(rig.width())), std::span(together[at]).last(static_cast<size_t>(rig.width())), describe(f, "alone", precision) + ", sequence " + std::to_string(i));
      }
    }
}

TEST(Attention, AtALongContext) {
  const Form f = kForms[0];
  for (const Precision precision : kPrecisions) {
    Gpu& gpu = Gpu::of(precision);
    const Story s(f, 9001, 1, precision == Precision::fast);
    const Story* const one[] = {&s};
    Rig rig(gpu, f, one, 1 / 16.0f);
    const int chunk = precision == Precision::exact ? 4500 : 4096;
    for (int past = 0; past < 9000; past += chunk) {
      const Step::Part part[] = {{std::min(chunk, 9000 - past), past, 0}};
      rig.feed(part);
    }
    const Step::Part last[] = {{1, 9000, 0}};
    rig.feed(last);
    expect_twin(s, rig.out[0], rig.width(), 1 / 16.0f, bounds(precision).chain, describe(f, "attention long", precision), 8900);
  }
}

}  // namespace
