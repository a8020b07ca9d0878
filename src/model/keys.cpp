// keys: the table of key names, and look-ups that collect what is missing or absurd.
#include "model/keys.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace {

// One setting: Hugging Face's name, its other name, and GGUF's suffix after "architecture.".
struct KeyName {
  std::string_view key, alias, gguf;
};
constexpr KeyName key_names[] = {
    {"hidden_size", "", "embedding_length"},
    {"num_hidden_layers", "", "block_count"},
    {"num_attention_heads", "", "attention.head_count"},
    {"num_key_value_heads", "", "attention.head_count_kv"},
    {"head_dim", "", "attention.key_length"},
    {"intermediate_size", "", "feed_forward_length"},
    {"vocab_size", "", "vocab_size"},
    {"max_position_embeddings", "", "context_length"},
    {"num_experts", "num_local_experts", "expert_count"},
    {"num_experts_per_tok", "top_k_experts", "expert_used_count"},
    {"moe_intermediate_size", "", "expert_feed_forward_length"},
    {"shared_expert_intermediate_size", "", "expert_shared_feed_forward_length"},
    {"rms_norm_eps", "", "attention.layer_norm_rms_epsilon"},
    {"sliding_window", "", "attention.sliding_window"},
    {"sliding_window_pattern", "_sliding_window_pattern", "attention.sliding_window_pattern"},
    {"full_attention_interval", "", "full_attention_interval"},
    {"linear_conv_kernel_dim", "", "ssm.conv_kernel"},
    {"linear_num_key_heads", "", "ssm.group_count"},
    {"linear_num_value_heads", "", "ssm.time_step_rank"},
    {"linear_key_head_dim", "", "ssm.state_size"},
    {"linear_value_head_dim", "", "ssm.state_size"},
    {"final_logit_softcapping", "", "final_logit_softcapping"},
    {"attn_logit_softcapping", "", "attn_logit_softcapping"},
    {"hidden_size_per_layer_input", "", "embedding_length_per_layer_input"},
    {"num_kv_shared_layers", "", "attention.shared_kv_layers"},
};

const KeyName* find_key(std::string_view key) {
  const auto* at = std::ranges::find(key_names, key, &KeyName::key);
  return at == std::end(key_names) ? nullptr : at;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

}  // namespace

std::string cut(std::string text, size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) longest--;  // no half characters
  text.resize(longest);
  return text + "...";
}

std::string bounded_list(const std::vector<std::string>& items, size_t unlisted, size_t most) {
  std::string text;
  for (size_t i = 0; i < items.size() && i < most; i++) text += (i ? "; " : "") + items[i];
  const size_t rest = unlisted + items.size() - std::min(items.size(), most);
  if (rest > 0) text += "; and " + std::to_string(rest) + " more";
  return text;
}

Result<std::unique_ptr<Keys>> Keys::open(const WeightFile& file) {
  std::unique_ptr<Keys> keys(new Keys(file));
  if (keys->gguf()) {
    const auto name = meta_string(file, "general.architecture");
    if (!name) return Error{Code::corrupt_file, "cannot load " + file.path() + ": general.architecture is missing"};
    keys->model_type_ = *name;
    return keys;
  }
  if (file.config().empty()) return Error{Code::not_found, "cannot load " + file.path() + ": a config.json beside the weights expected, none found"};
  TRY(keys->document_, JsonDocument::parse("config.json of " + file.path(), file.config()));
  const JsonView root = keys->document_->root();
  if (!root.is_object()) return Error{Code::corrupt_file, "cannot load " + file.path() + ": config.json: an object expected"};
  keys->text_ = ::find(root, "text_config");
  const auto type = ::find_string(root, "model_type");
  if (!type) return Error{Code::corrupt_file, "cannot load " + file.path() + ": config.json: model_type is missing"};
  keys->model_type_ = *type;
  return keys;
}

std::optional<JsonView> Keys::root() const { return document_ ? std::optional(document_->root()) : std::nullopt; }

std::optional<JsonView> Keys::json(std::string_view key) const {
  if (!document_) return std::nullopt;
  if (text_)
    if (const auto value = ::find(*text_, key)) return value;
  return ::find(document_->root(), key);
}

const MetaValue* Keys::meta_value(std::string_view suffix) const {
  return gguf() && !suffix.empty() ? file_.meta(model_type_ + "." + std::string(suffix)) : nullptr;
}

std::optional<int64_t> Keys::meta(std::string_view suffix) const {
  const MetaValue* value = meta_value(suffix);
  if (!value) return std::nullopt;
  if (const auto* one = std::get_if<int64_t>(&value->value)) return *one;
  if (const auto* yes = std::get_if<bool>(&value->value)) return *yes;
  const auto* many = std::get_if<std::vector<int64_t>>(&value->value);
  if (!many || many->empty()) return std::nullopt;
  return *std::ranges::max_element(*many);
}

std::optional<double> Keys::meta_number(std::string_view suffix) const {
  const MetaValue* value = meta_value(suffix);
  if (!value) return std::nullopt;
  if (const auto* real = std::get_if<double>(&value->value)) return *real;
  const auto whole = meta(suffix);
  return whole ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<std::string_view> Keys::meta_text(std::string_view suffix) const {
  const MetaValue* value = meta_value(suffix);
  const auto* text = value ? std::get_if<std::string_view>(&value->value) : nullptr;
  return text ? std::optional(*text) : std::nullopt;
}

std::vector<int64_t> Keys::meta_list(std::string_view suffix) const {
  const MetaValue* value = meta_value(suffix);
  if (!value) return {};
  if (const auto* many = std::get_if<std::vector<int64_t>>(&value->value)) return *many;
  const auto one = meta(suffix);
  return one ? std::vector<int64_t>{*one} : std::vector<int64_t>{};
}

std::vector<int64_t> Keys::list(std::string_view key) const {
  const KeyName* name = find_key(key);
  if (gguf()) return name ? meta_list(name->gguf) : std::vector<int64_t>{};
  std::vector<int64_t> out;
  const auto value = json(key);
  int64_t one = 0;
  simdjson::dom::array many;
  if (value && value->get(one) == simdjson::SUCCESS) out.push_back(one);
  if (value && value->get(many) == simdjson::SUCCESS)
    for (const auto item : many)
      if (item.get(one) == simdjson::SUCCESS) out.push_back(one);
  return out;
}

bool Keys::has(std::string_view key) const {
  const KeyName* name = find_key(key);
  if (gguf()) return name && meta_value(name->gguf);
  return json(key) || (name && !name->alias.empty() && json(name->alias));
}

std::string Keys::shown(std::string_view key) const {
  const KeyName* name = find_key(key);
  return gguf() && name ? model_type_ + "." + std::string(name->gguf) : std::string(key);
}

std::optional<double> Keys::number(std::string_view key, bool integral) {
  if (!has(key)) return std::nullopt;
  const KeyName* name = find_key(key);
  std::optional<double> value;
  if (gguf()) {
    value = meta_number(name->gguf);
  } else {
    const auto stored = json(key) ? json(key) : json(name->alias);
    double real = 0;
    if (stored->get(real) == simdjson::SUCCESS) value = real;
  }
  if (value && (!integral || (std::isfinite(*value) && *value == std::floor(*value)))) return value;
  refuse(shown(key) + (integral ? ": an integer expected" : ": a number expected"));
  return std::nullopt;
}

double Keys::check(std::string_view what, double value, double low, double high) {
  if (value >= low && value <= high) return value;  // false for NaN
  refuse(shown(what) + " = " + number_text(value) + ": " + number_text(low) + " to " + number_text(high) + " expected");
  return low;
}

int64_t Keys::need(std::string_view key, int64_t low, int64_t high) {
  if (!has(key)) refuse(shown(key) + " is missing");
  return get(key, low, low, high);
}

int64_t Keys::get(std::string_view key, int64_t fallback, int64_t low, int64_t high) {
  const auto value = number(key, true);
  return value ? static_cast<int64_t>(check(key, *value, static_cast<double>(low), static_cast<double>(high))) : fallback;
}

double Keys::get_number(std::string_view key, double fallback, double low, double high) {
  const auto value = number(key, false);
  return value ? check(key, *value, low, high) : fallback;
}

bool Keys::get_flag(std::string_view key, bool fallback) {
  const auto value = json(key);
  bool flag = fallback;
  if (value && value->get(flag) != simdjson::SUCCESS) refuse(std::string(key) + ": true or false expected");
  return flag;
}

std::string Keys::get_text(std::string_view key, std::string_view fallback) {
  const auto value = json(key);
  std::string_view text = fallback;
  if (value && value->get(text) != simdjson::SUCCESS) refuse(std::string(key) + ": a string expected");
  return std::string(text);
}

Status Keys::status() const {
  if (problems_.empty()) return ok_status();
  return Error{unsupported_ ? Code::unsupported : Code::corrupt_file,
               "cannot load " + file_.path() + (gguf() ? ": metadata: " : ": config.json: ") + bounded_list(problems_)};
}
