// prompt: renders messages, fills in between two texts, finds where other prompts will branch off.
#include "engine/prompt.h"
#include <algorithm>
#include "core/json.h"
#include "engine/plain_tools.h"
#include "engine/reasoning.h"

namespace {
constexpr std::string_view open_tag = "<think>", close_tag = "</think>";

// "role: content" lines, for models that bring no template.
Result<std::string> plain_layout(const std::string& messages_json) {
  TRY(const JsonDocument document, JsonDocument::parse("messages", messages_json));
  simdjson::dom::array messages;
  if (document.root().get(messages) != simdjson::SUCCESS) return Error{Code::invalid_request, "cannot read messages: an array was expected"};
  std::string text;
  for (JsonView message : messages) {
    const auto role = find_string(message, "role");
    if (!role) return Error{Code::invalid_request, "cannot read messages: one has no role"};
    text.append(*role).append(": ");
    simdjson::dom::array parts;
    if (const auto content = find_string(message, "content")) text += *content;
    else if (const auto list = find(message, "content"); list && list->get(parts) == simdjson::SUCCESS)
      for (JsonView part : parts) text += find_string(part, "text").value_or("");
    text += '\n';
  }
  return text + "assistant:";
}

Result<TemplateInput> template_input(const CompleterParts& parts, const ChatRequest& request, bool plain_tools) {
  const Tokenizer& tokenizer = *parts.tokenizer;
  const auto token_text = [&](std::optional<TokenId> id) { return id ? std::string(tokenizer.bytes(*id, false)) : std::string(); };
  const bool tools = request.tool_choice.kind != ToolChoice::Kind::none;
  std::string messages = request.messages_json;
  if (plain_tools && (!request.tools_json.empty() || messages.find("tool") != std::string::npos)) {  // past calls may come without tools
    TRY(messages, with_plain_tools(messages, tools ? request.tools_json : ""));
  }
  return TemplateInput{std::move(messages), tools && !plain_tools ? request.tools_json : "", true, request.template_kwargs_json, token_text(tokenizer.bos()), token_text(tokenizer.eos())};
}

// The content of the last message, which has to be an assistant's.
Result<std::string> final_content(const std::string& messages_json) {
  TRY(const JsonDocument document, JsonDocument::parse("messages", messages_json));
  simdjson::dom::array messages;
  if (document.root().get(messages) != simdjson::SUCCESS || messages.size() == 0) return Error{Code::invalid_request, "cannot continue the final message: there is none"};
  const JsonView last = messages.at(messages.size() - 1);
  if (find_string(last, "role") != "assistant") return Error{Code::invalid_request, "cannot continue the final message: it is not the assistant's"};
  return std::string(find_string(last, "content").value_or(""));
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

// The rendering ends where the final message's content does; what the template puts behind it is cut off.
Result<std::string> render_open(const ChatTemplate& chat_template, TemplateInput input) {
  TRY(const std::string content, final_content(input.messages_json));
  input.add_generation_prompt = false;
  TRY(std::string text, chat_template.render(input));
  std::string_view mark = content;
  size_t at = mark.empty() ? std::string::npos : text.rfind(mark);
  if (at == std::string::npos) {  // templates trim
    mark = trimmed(content);
    at = mark.empty() ? std::string::npos : text.rfind(mark);
  }
  if (at == std::string::npos) return Error{Code::invalid_request, "cannot continue the final message: the chat template does not show its text"};
  text.resize(at + mark.size());
  return text;
}

std::vector<TokenId> joined(std::vector<TokenId> ids, std::span<const TokenId> more) {
  ids.insert(ids.end(), more.begin(), more.end());
  return ids;
}

// Encodes, taking the tokens of an earlier turn where the text begins with it and goes on with a special token.
std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text, uint64_t space, Turns& turns) {
  if (const auto known = turns.find(space, text)) {
    const auto rest = tokenizer.encode(std::string_view(text).substr(known->text.size()));
    if (!rest.empty() && tokenizer.is_special(rest.front())) return joined(known->ids, rest);
  }
  return tokenizer.encode(text);
}

// How many tokens lie before the last special token that starts within the first `bytes` of the text: text behind it may differ
// without changing how they are cut.
int border_before(const Tokenizer& tokenizer, const RenderedPrompt& prompt, size_t bytes) {
  size_t at = 0;
  int border = 0;
  for (size_t i = 0; i < prompt.ids.size() && at < bytes; ++i) {
    if (tokenizer.is_special(prompt.ids[i])) border = static_cast<int>(i);
    at += tokenizer.bytes(prompt.ids[i], false).size();
  }
  return border;
}

// Where the system message (and the tools before it) end: what differs from a rendering with other words behind it.
void add_system_border(const CompleterParts& parts, const TemplateInput& input, RenderedPrompt& prompt) {
  const auto document = JsonDocument::parse("messages", input.messages_json);
  simdjson::dom::array messages;
  if (!document || document->root().get(messages) != simdjson::SUCCESS || messages.size() < 2 || find_string(messages.at(0), "role") != "system") return;
  TemplateInput other = input;
  other.messages_json = "[" + std::string(simdjson::minify(JsonView(messages.at(0)))) + R"(,{"role":"user","content":"\u2028"}])";
  const auto text = parts.chat_template->render(other);
  if (!text) return;
  const auto [mine, theirs] = std::ranges::mismatch(prompt.text, *text);
  const int border = border_before(*parts.tokenizer, prompt, static_cast<size_t>(mine - prompt.text.begin()));
  if (border > 0) prompt.branch_points.push_back(border);
}

// Where the last message begins: another one may take its place.
void add_last_message_border(const CompleterParts& parts, const TemplateInput& input, RenderedPrompt& prompt) {
  const auto document = JsonDocument::parse("messages", input.messages_json);
  simdjson::dom::array messages;
  if (!document || document->root().get(messages) != simdjson::SUCCESS || messages.size() < 3) return;
  TemplateInput shorter = input;
  shorter.add_generation_prompt = false;
  shorter.messages_json = "[";
  for (size_t i = 0; i + 1 < messages.size(); ++i) shorter.messages_json.append(i > 0 ? "," : "").append(simdjson::minify(JsonView(messages.at(i))));
  shorter.messages_json += "]";
  const auto text = parts.chat_template->render(shorter);
  if (!text || !prompt.text.starts_with(*text)) return;
  const int border = border_before(*parts.tokenizer, prompt, text->size() + 1);
  if (border > 0) prompt.branch_points.push_back(border);
}

Result<RenderedPrompt> fill_in(const CompleterParts& parts, const ChatRequest& request) {
  const Tokenizer& tokenizer = *parts.tokenizer;
  const auto marks = find_fill_in(tokenizer);
  if (!marks) return Error{Code::unsupported, "cannot write before a suffix: the model " + parts.model_name + " has no tokens for filling in"};
  RenderedPrompt prompt;
  const EncodeOptions plain{.special = false};
  prompt.ids = joined(joined({marks->prefix}, tokenizer.encode(*request.prompt, plain)), std::vector{marks->suffix});
  prompt.ids = joined(joined(std::move(prompt.ids), tokenizer.encode(*request.suffix, plain)), std::vector{marks->middle});
  return prompt;
}
}  // namespace

std::optional<FillIn> find_fill_in(const Tokenizer& tokenizer) {
  // Qwen, CodeGemma; StarCoder, SmolLM; Code Llama; DeepSeek.
  constexpr std::string_view names[][3] = {{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
                                           {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
                                           {"▁<PRE>", "▁<SUF>", "▁<MID>"},
                                           {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"}};
  for (const auto& [prefix, suffix, middle] : names) {
    const auto a = tokenizer.find(prefix), b = tokenizer.find(suffix), c = tokenizer.find(middle);
    if (a && b && c) return FillIn{*a, *b, *c};
  }
  return std::nullopt;
}

bool template_thinks(const CompleterParts& parts) { return parts.chat_template && parts.chat_template->source().find(open_tag) != std::string_view::npos; }

Result<RenderedPrompt> make_prompt(const CompleterParts& parts, const ChatRequest& request, bool plain_tools, uint64_t space, Turns& turns) {
  const Tokenizer& tokenizer = *parts.tokenizer;
  RenderedPrompt prompt;
  if (!request.prompt_ids.empty()) return prompt.ids = request.prompt_ids, prompt;
  if (request.prompt && request.suffix) return fill_in(parts, request);
  if (request.prompt) return prompt.ids = tokenizer.encode(*request.prompt), prompt.text = *request.prompt, prompt;
  prompt.may_think = true;
  if (!parts.chat_template) {
    TRY(prompt.text, plain_layout(request.messages_json));
    if (request.continue_final_message) return Error{Code::unsupported, "cannot continue the final message: the model " + parts.model_name + " has no chat template"};
    prompt.ids = tokenizer.encode(prompt.text);
    return prompt;
  }
  TRY(TemplateInput input, template_input(parts, request, plain_tools));
  if (request.continue_final_message) {
    TRY(prompt.text, render_open(*parts.chat_template, input));
    prompt.ids = encode(tokenizer, prompt.text, space, turns);
    const size_t opened = prompt.text.rfind(open_tag), closed = prompt.text.rfind(close_tag);
    prompt.inside_think = opened != std::string::npos && (closed == std::string::npos || closed < opened);
    return prompt;
  }
  TRY(prompt.text, parts.chat_template->render(input));
  prompt.ids = encode(tokenizer, prompt.text, space, turns);
  prompt.inside_think = ends_inside_think(prompt.text);
  add_system_border(parts, input, prompt);
  add_last_message_border(parts, input, prompt);
  // What add_generation_prompt appends (an open <think>, say) is often missing from the same turn when it comes back as history.
  input.add_generation_prompt = false;
  std::string_view tail = prompt.text;
  if (const auto history = parts.chat_template->render(input); history && prompt.text.size() > history->size() && prompt.text.starts_with(*history)) {
    tail = std::string_view(prompt.text).substr(history->size());
    const size_t tail_tokens = tokenizer.encode(tail).size();
    if (tail_tokens < prompt.ids.size()) prompt.branch_points.push_back(static_cast<int>(prompt.ids.size() - tail_tokens));
  }
  prompt.may_open_think = !prompt.inside_think && template_thinks(parts) && tail.find(close_tag) == std::string_view::npos;
  return prompt;
}
