// fuzz: requests of any shape: walked or refused; what was found is gone from the masked request, its JSON is whole, and it comes back.
#include <cstdint>
#include <cstdlib>
#include "privacy/clean.h"
#include "privacy/restore.h"

namespace {

constexpr std::string_view value = "Jane Roe";

Json body_of(const CleanRequest& clean) {
  return {{"messages", clean.messages()}, {"tools", clean.tools()}, {"stop", clean.stop()}, {"constraint", clean.constraint().text}, {"prompt", clean.prompt().value_or("")}};
}

void check(const Masked& masked) {
  const std::string body = text_of(body_of(masked.clean));
  if (body.find(value) != std::string::npos || !Json::accept(body)) std::abort();
  if (!masked.clean.messages().is_array()) return;
  for (const Json& message : masked.clean.messages()) {
    if (!message.contains("tool_calls")) continue;
    for (const Json& call : message["tool_calls"]) {
      if (!call["function"].contains("arguments")) continue;
      const std::string arguments = call["function"]["arguments"];
      RestoreCounts counts;
      const std::string back = restore_whole(masked.ledger, {}, Restorer::Lane::arguments, arguments, counts);
      if (Json::accept(arguments) && !Json::accept(back)) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 16384) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (size_t at = text.find('\xf5'); at != std::string::npos; at = text.find('\xf5', at)) text.replace(at, 1, value);
  ChatRequest request;
  switch (data[0] & 3) {
    case 0: request.messages_json = text; break;
    case 1: request.tools_json = text; break;
    case 2: request.messages_json = text_of(Json::array({{{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({{{"id", "c"}, {"function", {{"name", "f"}, {"arguments", text}}}}})}}})); break;
    case 3: request.constraint = {Constraint::Kind::json_schema, text}, request.prompt = text, request.stop = {text}; break;
  }
  auto walk = Walk::of(request);
  if (!walk) return 0;
  std::vector<FieldFinding> findings;
  for (size_t place = 0; place < walk->fields().size(); ++place) {
    const TextField& field = walk->fields()[place];
    for (size_t at = field.text->find(value); at != std::string::npos; at = field.text->find(value, at + 1)) {
      Finding finding;
      finding.cls = PrivacyClass::person;
      finding.begin = at, finding.end = at + value.size();
      findings.push_back({finding, field.path, field.role, place});
    }
  }
  for (const std::string& path : walk->opaque()) findings.push_back({Finding(), path, "", 0});
  auto vault = Vault::make(std::string(32, 'k'));
  if (!vault) std::abort();
  static const Policy policy;
  const auto masked = Masker(**vault, policy).mask(request, std::move(*walk), findings, std::vector<Action>(findings.size(), Action::mask), 1);
  if (masked) check(*masked);
  return 0;
}
