// classify: windows of texts become sequences of one step, without anything remembered between steps.
#include "engine/classify.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>

namespace {

constexpr int kPageTokens = 32;

// One window waiting for its step.
struct Job {
  std::span<const TokenId> ids;
  std::vector<float> logits;  // [ids, labels]
  Status status = ok_status();
  bool done = false;
};

TokenLabel best_of(std::span<const float> row) {
  const auto best = std::ranges::max_element(row);
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x) - *best);
  return {static_cast<int>(best - row.begin()), static_cast<float>(1 / sum)};
}

class LocalClassifier final : public TokenClassifier {
 public:
  LocalClassifier(std::unique_ptr<Device> device, std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer, Windows windows)
      : device_(std::move(device)), model_(std::move(model)), tokenizer_(std::move(tokenizer)), windows_(windows), pages_each_((windows.tokens + kPageTokens - 1) / kPageTokens),
        pages_(static_cast<size_t>(pages_each_ * windows.per_step)) {
    std::iota(pages_.begin(), pages_.end(), 0);
  }

  Status allocate() { return device_->allocate_state(model_->states(), {pages_each_ * windows_.per_step, kPageTokens, 1}); }
  std::span<const std::string> labels() const override { return model_->config().labels; }

  Result<std::vector<float>> logits(std::span<const TokenId> ids) override {
    if (ids.empty()) return std::vector<float>{};
    if (ids.size() > static_cast<size_t>(windows_.tokens)) return Error{Code::too_large, "cannot label: " + std::to_string(ids.size()) + " tokens, a window holds " + std::to_string(windows_.tokens)};
    std::vector<Job> jobs(1);
    jobs[0].ids = ids;
    run(jobs);
    TRY_STATUS(jobs[0].status);
    return std::move(jobs[0].logits);
  }

  Result<std::vector<LabelledSpan>> classify(std::string_view text) override {
    const std::vector<TokenId> ids = tokenizer_->encode(text, {.special = false});
    if (ids.empty()) return std::vector<LabelledSpan>{};
    const size_t size = static_cast<size_t>(windows_.tokens), stride = size - static_cast<size_t>(windows_.overlap);
    std::vector<Job> jobs;
    std::vector<size_t> starts;
    for (size_t at = 0;; at += stride) {
      starts.push_back(at);
      jobs.emplace_back().ids = std::span(ids).subspan(at, std::min(size, ids.size() - at));
      if (at + size >= ids.size()) break;
    }
    run(jobs);
    std::vector<TokenLabel> chosen(ids.size());
    std::vector<size_t> margins(ids.size());
    const size_t n_labels = labels().size();
    for (size_t w = 0; w < jobs.size(); w++) {
      TRY_STATUS(jobs[w].status);
      const size_t n = jobs[w].ids.size();
      const bool first = w == 0, last = w + 1 == jobs.size();
      for (size_t i = 0; i < n; i++) {  // the text's own ends are no edges
        const size_t margin = 1 + std::min(first ? size : i, last ? size : n - 1 - i);
        if (margin <= margins[starts[w] + i]) continue;
        margins[starts[w] + i] = margin;
        chosen[starts[w] + i] = best_of(std::span(jobs[w].logits).subspan(i * n_labels, n_labels));
      }
    }
    return merge_labels(labels(), chosen, token_places(*tokenizer_, ids, text), text);
  }

 private:
  // Whoever finds nobody at work takes what is queued, a step at a time, until its own jobs are done.
  void run(std::vector<Job>& jobs) {
    std::unique_lock lock(mutex_);
    for (Job& job : jobs) queue_.push_back(&job);
    const auto all_done = [&] { return std::ranges::all_of(jobs, &Job::done); };
    while (!all_done()) {
      if (busy_ || queue_.empty()) {
        changed_.wait(lock);
        continue;
      }
      busy_ = true;
      std::vector<Job*> taken;
      while (!queue_.empty() && taken.size() < static_cast<size_t>(windows_.per_step)) taken.push_back(queue_.front()), queue_.pop_front();
      lock.unlock();
      const Status status = step(taken);
      lock.lock();
      busy_ = false;
      for (Job* job : taken) {
        if (!status) job->status = status.error();
        job->done = true;
      }
      changed_.notify_all();
    }
  }

  Status step(std::span<Job* const> jobs) {
    std::vector<TokenId> ids;
    std::vector<int32_t> positions, rows;
    std::vector<SequenceRows> sequences;
    for (size_t j = 0; j < jobs.size(); j++) {
      const auto n = static_cast<int32_t>(jobs[j]->ids.size());
      sequences.push_back({static_cast<int32_t>(ids.size()), n, 0, pages_.data() + j * static_cast<size_t>(pages_each_), 0});
      for (int32_t i = 0; i < n; i++) positions.push_back(i);
      ids.insert(ids.end(), jobs[j]->ids.begin(), jobs[j]->ids.end());
    }
    rows.resize(ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    const Batch batch{ids, positions, sequences, rows};
    const Tensor logits = model_->forward(device_->begin(), batch);
    TRY_STATUS(device_->finish());
    const std::span<const float> all = device_->host(logits);
    const size_t n_labels = labels().size();
    for (size_t j = 0; j < jobs.size(); j++) {
      const auto part = all.subspan(static_cast<size_t>(sequences[j].first_row) * n_labels, jobs[j]->ids.size() * n_labels);
      jobs[j]->logits.assign(part.begin(), part.end());
    }
    return ok_status();
  }

  const std::unique_ptr<Device> device_;
  const std::unique_ptr<Model> model_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const Windows windows_;
  const int pages_each_;
  std::vector<int32_t> pages_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job*> queue_;
  bool busy_ = false;
};

// "B-PER" as {'B', "PER"}; a label without such a prefix as {'S', itself}, "O" as {'O', ""}.
std::pair<char, std::string_view> split_label(std::string_view name) {
  if (name == "O") return {'O', {}};
  if (name.size() > 2 && (name[1] == '-' || name[1] == '_') && std::string_view("BIESLU").find(name[0]) != std::string_view::npos) return {name[0], name.substr(2)};
  return {'-', name};
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Result<std::unique_ptr<TokenClassifier>> TokenClassifier::make(std::unique_ptr<Device> device, std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer, Windows windows) {
  if (model->config().labels.empty()) return Error{Code::unsupported, "cannot label texts: this model has no labels, a token classifier expected"};
  if (windows.tokens < 2 || windows.overlap < 0 || windows.overlap >= windows.tokens || windows.per_step < 1) return Error{Code::invalid_request, "cannot label texts: windows of at least 2 tokens, less of them in the overlap, expected"};
  windows.tokens = std::min(windows.tokens, model->config().max_positions);
  windows.overlap = std::min(windows.overlap, windows.tokens - 1);
  auto made = std::make_unique<LocalClassifier>(std::move(device), std::move(model), std::move(tokenizer), windows);
  TRY_STATUS(made->allocate());
  return std::unique_ptr<TokenClassifier>(std::move(made));
}

std::string_view span_label(std::string_view label) { return split_label(label).second; }

std::vector<std::pair<size_t, size_t>> token_places(const Tokenizer& tokenizer, std::span<const TokenId> ids, std::string_view text) {
  constexpr size_t reach = 64;  // bytes within which a changed stretch must end
  std::vector<std::pair<size_t, size_t>> places(ids.size());
  size_t at = 0, lost = 0;      // lost: the first token whose place is not known yet
  for (size_t i = 0; i < ids.size(); i++) {
    const std::string_view piece = i == 0 ? tokenizer.bytes_at_start(ids[i], false) : tokenizer.bytes(ids[i], false);
    const size_t found = piece.empty() ? text.npos : lost == i ? (text.substr(at).starts_with(piece) ? at : text.npos) : text.substr(0, std::min(text.size(), at + reach + piece.size())).find(piece, at);
    if (found == text.npos) continue;
    for (; lost < i; lost++) places[lost] = {at, found};
    places[i] = {found, found + piece.size()};
    at = found + piece.size();
    lost = i + 1;
  }
  for (; lost < ids.size(); lost++) places[lost] = {at, text.size()};
  return places;
}

std::vector<LabelledSpan> merge_labels(std::span<const std::string> names, std::span<const TokenLabel> labels, std::span<const std::pair<size_t, size_t>> places, std::string_view text) {
  std::vector<LabelledSpan> spans;
  size_t tokens = 0;    // of the open span
  bool open = false;
  const auto close = [&] {
    if (!open) return;
    open = false;
    LabelledSpan& span = spans.back();
    span.score /= static_cast<float>(tokens);
    while (span.begin < span.end && is_space(text[span.begin])) span.begin++;
    while (span.begin < span.end && is_space(text[span.end - 1])) span.end--;
    while (span.end < text.size() && (static_cast<unsigned char>(text[span.end]) & 0xC0) == 0x80) span.end++;      // whole characters
    while (span.begin > 0 && (static_cast<unsigned char>(text[span.begin]) & 0xC0) == 0x80) span.begin--;
    if (span.begin == span.end) spans.pop_back();
  };
  for (size_t i = 0; i < labels.size(); i++) {
    const auto [mark, name] = split_label(names[static_cast<size_t>(labels[i].label)]);
    if (mark == 'O') {
      close();
      continue;
    }
    const bool goes_on = open && (mark == 'I' || mark == 'E' || mark == 'L' || mark == '-') && spans.back().label == name;
    if (!goes_on) {
      close();
      spans.push_back({std::string(name), places[i].first, places[i].second, 0});
      open = true, tokens = 0;
    }
    spans.back().end = std::max(spans.back().end, places[i].second);
    spans.back().score += labels[i].probability;
    tokens++;
    if (mark == 'E' || mark == 'L' || mark == 'S' || mark == 'U') close();
  }
  close();
  return spans;
}
