// keys: one look at a model's settings by Hugging Face's key names, whether they lie in config.json or in GGUF metadata.
#pragma once
#include <limits>
#include <optional>
#include "core/json.h"
#include "file/file.h"

// A name or value from outside may be megabytes long: an error line holds its first bytes.
std::string cut(std::string text, size_t longest = 300);

// Look-ups never fail at once: what is missing or absurd is noted in problems(), and the loader refuses the model with all of them.
class Keys {
 public:
  static Result<std::unique_ptr<Keys>> open(const WeightFile& file);

  bool gguf() const { return file_.container() == Container::gguf; }
  const WeightFile& file() const { return file_; }
  std::string_view model_type() const { return model_type_; }  // root model_type, or general.architecture
  std::optional<JsonView> json(std::string_view key) const;    // text_config's value, or the root's; nullopt for GGUF
  std::optional<JsonView> root() const;                        // all of config.json; nullopt for GGUF

  int64_t need(std::string_view key, int64_t low, int64_t high);                   // missing: a problem, and `low` is returned
  int64_t get(std::string_view key, int64_t fallback, int64_t low, int64_t high);  // missing: fallback
  double get_number(std::string_view key, double fallback, double low, double high);
  bool get_flag(std::string_view key, bool fallback);
  std::string get_text(std::string_view key, std::string_view fallback);
  bool has(std::string_view key) const;
  std::vector<int64_t> list(std::string_view key) const;  // [] when absent; a number gives one element

  // GGUF only, by suffix after "architecture."; nullopt for config.json.
  std::optional<int64_t> meta(std::string_view suffix) const;
  std::optional<double> meta_number(std::string_view suffix) const;
  std::optional<std::string_view> meta_text(std::string_view suffix) const;
  std::vector<int64_t> meta_list(std::string_view suffix) const;

  // Notes a value outside [low, high] (NaN included); returns it, or low when it is refused.
  double check(std::string_view what, double value, double low, double high);
  void refuse(std::string problem) { problems_.push_back(cut(std::move(problem))); }
  void unsupported(std::string problem) { refuse(std::move(problem)), unsupported_ = true; }
  bool failed() const { return !problems_.empty(); }
  Status status() const;  // every problem in one line

 private:
  explicit Keys(const WeightFile& file) : file_(file) {}
  const MetaValue* meta_value(std::string_view suffix) const;
  std::optional<double> number(std::string_view key, bool integral);
  std::string shown(std::string_view key) const;

  const WeightFile& file_;
  std::optional<JsonDocument> document_;
  std::optional<JsonView> text_;
  std::string model_type_;
  std::vector<std::string> problems_;
  bool unsupported_ = false;
};

// The first `most` of `items` joined by "; ", then how many more there are, `unlisted` included.
std::string bounded_list(const std::vector<std::string>& items, size_t unlisted = 0, size_t most = 100);
