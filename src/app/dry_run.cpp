// dry_run: requests made for the gate's explanations, and what comes back in them.
#include "app/dry_run.h"

#include <algorithm>
#include "app/span_model.h"

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

// A text, or the texts of a list of parts.
std::string joined(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string out;
  for (const Json& part : content)
    if (part.is_object()) out += part.value("text", std::string());
  return out;
}

}  // namespace

Result<GateConfig> dry_configuration(const std::string& path) {
  GateConfig config;
  if (!path.empty()) {
    TRY(config, read_gate_config(path));
  } else {
    config.policy.cloud_by_default = true;
  }
  if (config.upstreams.empty()) {
    UpstreamOptions cloud;
    cloud.name = "cloud", cloud.base_url = "https://cloud.invalid/v1", cloud.models = {"model"};
    config.upstreams.push_back(std::move(cloud));
  }
  config.policy.sha256 = policy_sha256(config.policy, config.upstreams);
  return config;
}

Result<std::unique_ptr<Gate>> dry_gate(GateConfig config) {
  TRY(auto model, open_span_model(config.model));
  return make_dry_gate(std::move(config), std::move(model));
}

ChatRequest request_of_text(std::string_view text, const std::string& model, const std::string& system) {
  ChatRequest request;
  Json messages = Json::array();
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  request.model = model.empty() ? "auto" : model;
  request.messages_json = text_of(messages);
  return request;
}

Status add_header(ChatRequest& request, std::string_view line) {
  const size_t colon = line.find(':');
  const std::string name = lower(trimmed(line.substr(0, colon))), value(trimmed(line.substr(std::min(colon, line.size() - 1) + 1)));
  if (name == "x-calla-privacy") return request.gate.stricter = value, ok_status();
  if (name == "x-calla-conversation") return request.gate.conversation = value, ok_status();
  if (name == "x-calla-consent" || name == "x-consent") return request.gate.consent = value, ok_status();
  return Error{Code::invalid_request, "cannot read the header " + name + ": X-Calla-Privacy, X-Calla-Conversation or X-Calla-Consent expected"};
}

std::optional<std::string> text_that_leaves(const Json& body) {
  if (!body.is_object() || !body.contains("messages") || !body["messages"].is_array()) return std::nullopt;
  std::optional<std::string> text;
  for (const Json& message : body["messages"])
    if (message.is_object() && message.value("role", std::string()) == "user" && message.contains("content")) text = joined(message["content"]);
  return text;
}
