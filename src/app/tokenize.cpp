// tokenize, detokenize, template: the text tools; they open a model's file and load no weights.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include "app/commands.h"
#include "app/console.h"
#include "app/open.h"
#include "app/text_parts.h"
#include "app/values.h"
#include "core/json.h"

namespace {

struct TextModel {
  OpenedFile file;
  std::shared_ptr<const Tokenizer> tokenizer;
};

Result<TextModel> open_text_model(const Options& options) {
  TextModel model;
  TRY(model.file, open_file(options));
  TRY(model.tokenizer, open_tokenizer(*model.file.weights));
  return model;
}

void write_exactly(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (is_terminal(1) && !text.ends_with('\n')) std::fputc('\n', stdout);
  std::fflush(stdout);
}

Result<std::vector<TokenId>> tokenize(const Options& options) {
  TRY(const TextModel model, open_text_model(options));
  TRY(const std::string text, read_standard_input("the text"));
  return model.tokenizer->encode(text, {.special = !options.plain, .bos_eos = options.bos});
}

Result<std::string> detokenize(const Options& options) {
  std::string list;
  if (options.arguments.empty()) {
    TRY(list, read_standard_input("the ids"));
  } else {
    list = options.arguments[0];
  }
  for (char& c : list)
    if (c == '[' || c == ']') c = ' ';
  std::vector<TokenId> ids;
  if (list.find_first_not_of(", \t\r\n") != std::string::npos && !parse_list<TokenId>(list, 0, INT32_MAX, ids))
    return Error{Code::invalid_request, "cannot detokenize: the ids: whole numbers with commas or blanks between expected"};
  TRY(const TextModel model, open_text_model(options));
  return model.tokenizer->decode(ids, options.skip_special);
}

Result<TemplateInput> template_input(std::string_view text) {
  TRY(const JsonDocument document, JsonDocument::parse("the messages", text));
  const JsonView root = document.root();
  TemplateInput input;
  if (root.is_array()) {
    input.messages_json = simdjson::to_string(root);
    return input;
  }
  const auto messages = find(root, "messages");
  if (!messages || !messages->is_array()) return Error{Code::invalid_request, "cannot render: standard input: a list of messages, or an object with one, expected"};
  input.messages_json = simdjson::to_string(*messages);
  if (const auto tools = find(root, "tools")) {
    if (!tools->is_array()) return Error{Code::invalid_request, "cannot render: tools: a list expected"};
    input.tools_json = simdjson::to_string(*tools);
  }
  if (const auto kwargs = find(root, "chat_template_kwargs")) input.kwargs_json = simdjson::to_string(*kwargs);
  if (const auto flag = find(root, "add_generation_prompt")) {
    if (!flag->is_bool()) return Error{Code::invalid_request, "cannot render: add_generation_prompt: true or false expected"};
    input.add_generation_prompt = find_bool(root, "add_generation_prompt").value_or(true);
  }
  return input;
}

struct Rendered { std::string prompt; std::vector<TokenId> ids; };

Result<Rendered> render(const Options& options) {
  TRY(const TextModel model, open_text_model(options));
  TRY(auto chat_template, open_chat_template(*model.file.weights));
  if (!chat_template) {
    TRY(auto built_in, built_in_chat_template(*model.tokenizer));
    chat_template = std::move(built_in.compiled);
    if (chat_template && options.verbose) note("no chat template in this checkpoint; the built-in one for " + built_in.token + " is used");
  }
  if (!chat_template) return Error{Code::unsupported, "cannot render: " + model.file.path + ": no chat template in this checkpoint"};
  TRY(const std::string text, read_standard_input("the messages"));
  TRY(TemplateInput input, template_input(text));
  input.bos_token = token_text(*model.tokenizer, model.tokenizer->bos());
  input.eos_token = token_text(*model.tokenizer, model.tokenizer->eos());
  Rendered rendered;
  TRY(rendered.prompt, chat_template->render(input));
  rendered.ids = model.tokenizer->encode(rendered.prompt);
  return rendered;
}

}  // namespace

int tokenize_command(const Options& options) {
  const auto ids = tokenize(options);
  if (!ids) return fail(ids.error());
  if (options.json) {
    print_json({{"ids", *ids}});
  } else {
    fmt::print("{}\n", fmt::join(*ids, " "));
  }
  return 0;
}

int detokenize_command(const Options& options) {
  const auto text = detokenize(options);
  if (!text) return fail(text.error());
  if (options.json) {
    print_json({{"text", *text}});
  } else {
    write_exactly(*text);
  }
  return 0;
}

int template_command(const Options& options) {
  const auto rendered = render(options);
  if (!rendered) return fail(rendered.error());
  if (options.json) {
    print_json({{"prompt", rendered->prompt}, {"ids", rendered->ids}});
  } else {
    write_exactly(rendered->prompt);
  }
  return 0;
}
