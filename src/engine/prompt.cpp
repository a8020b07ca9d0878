// prompt: renders messages, fills in between two texts, finds where other prompts will branch off.
#include "engine/prompt.h"
#include <algorithm>
#include "engine/messages.h"
#include "engine/plain_tools.h"
#include "engine/reasoning.h"

namespace {
// "role: content" lines, for models that bring no template.
Result<std::string> plain_layout(const std::string& messages_json) {
  TRY(const RequestMessages messages, RequestMessages::read(messages_json));
  std::string text;
  for (const JsonView message : messages.list) {
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
  TRY(const RequestMessages messages, RequestMessages::read(messages_json));
  if (messages.size() == 0) return Error{Code::invalid_request, "cannot continue the final message: there is none"};
  const JsonView last = messages[messages.size() - 1];
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

void add_border(const Tokenizer& tokenizer, RenderedPrompt& prompt, size_t bytes) {
  if (const int border = border_before(tokenizer, prompt, bytes); border > 0) prompt.branch_points.push_back(border);
}

// Where later prompts are likely to leave this one: where the system message (and the tools before it) end, which is what differs from a
// rendering with other words behind it, and where the last message begins, which another one may replace.
void add_message_borders(const CompleterParts& parts, TemplateInput input, RenderedPrompt& prompt) {
  const auto messages = RequestMessages::read(input.messages_json);
  if (!messages || messages->size() < 2) return;
  if (find_string((*messages)[0], "role") == "system") {
    TemplateInput other = input;
    other.messages_json = messages->first(1, R"({"role":"user","content":"\u2028"})");
    if (const auto text = parts.chat_template->render(other)) {
      const auto [mine, theirs] = std::ranges::mismatch(prompt.text, *text);
      add_border(*parts.tokenizer, prompt, static_cast<size_t>(mine - prompt.text.begin()));
    }
  }
  if (messages->size() < 3) return;
  input.add_generation_prompt = false;
  input.messages_json = messages->first(messages->size() - 1);
  if (const auto text = parts.chat_template->render(input); text && prompt.text.starts_with(*text)) add_border(*parts.tokenizer, prompt, text->size() + 1);
}

// What add_generation_prompt appends (an open <think>, say) is often missing from the same turn when it comes back as history. The whole
// prompt when the template shows no such border.
std::string_view generation_tail(const CompleterParts& parts, TemplateInput input, const RenderedPrompt& prompt) {
  input.add_generation_prompt = false;
  const auto history = parts.chat_template->render(input);
  const bool border = history && prompt.text.size() > history->size() && prompt.text.starts_with(*history);
  return std::string_view(prompt.text).substr(border ? history->size() : 0);
}

// The rendered text of a chat; `input` for renderings of parts of it.
Result<std::string> render_chat(const PromptMaker& maker, const ChatRequest& request, TemplateInput& input) {
  const CompleterParts& parts = maker.parts;
  TRY_STATUS(check_readable(request.messages_json));
  if (!parts.chat_template) {
    if (request.continue_final_message) return Error{Code::unsupported, "cannot continue the final message: the model " + parts.model_name + " has no chat template"};
    return plain_layout(request.messages_json);
  }
  TRY(input, template_input(parts, request, maker.plain_tools));
  return request.continue_final_message ? render_open(*parts.chat_template, input) : parts.chat_template->render(input);
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

bool template_thinks(const CompleterParts& parts) { return parts.chat_template && parts.chat_template->source().find(think_open) != std::string_view::npos; }

Result<RenderedPrompt> PromptMaker::make(const ChatRequest& request, uint64_t space, Turns& turns) const {
  const Tokenizer& tokenizer = *parts.tokenizer;
  RenderedPrompt prompt;
  if (!request.prompt_ids.empty()) return prompt.ids = request.prompt_ids, prompt;
  if (request.prompt && request.suffix) return fill_in(parts, request);
  if (request.prompt) return prompt.ids = tokenizer.encode(*request.prompt), prompt.text = *request.prompt, prompt;
  prompt.may_think = true;
  TemplateInput input;
  TRY(prompt.text, render_chat(*this, request, input));
  if (!parts.chat_template) return prompt.ids = tokenizer.encode(prompt.text), prompt;
  prompt.ids = encode(tokenizer, prompt.text, space, turns);
  if (request.continue_final_message) {
    const size_t opened = prompt.text.rfind(think_open), closed = prompt.text.rfind(think_close);
    prompt.inside_think = opened != std::string::npos && (closed == std::string::npos || closed < opened);
    return prompt;
  }
  prompt.inside_think = ends_inside_think(prompt.text);
  const bool may_open = !prompt.inside_think && template_thinks(parts);
  if (!borders && !may_open) return prompt;
  const std::string_view tail = generation_tail(parts, input, prompt);
  prompt.may_open_think = may_open && tail.find(think_close) == std::string_view::npos;
  if (!borders) return prompt;
  add_message_borders(parts, input, prompt);
  if (tail.size() == prompt.text.size()) return prompt;
  const size_t tail_tokens = tokenizer.encode(tail).size();
  if (tail_tokens < prompt.ids.size()) prompt.branch_points.push_back(static_cast<int>(prompt.ids.size() - tail_tokens));
  return prompt;
}

Result<std::string> PromptMaker::text(const ChatRequest& request) const {
  if (!request.messages_json.empty() && request.prompt_ids.empty() && !request.prompt) {
    TemplateInput input;
    return render_chat(*this, request, input);
  }
  Turns none;
  TRY(const RenderedPrompt prompt, make(request, 0, none));
  return prompt.text.empty() ? parts.tokenizer->decode(prompt.ids, false) : prompt.text;
}
