// text_parts: a checkpoint's tokenizer, chat template and stop tokens, found in a folder's files or in GGUF metadata.
#pragma once
#include "file/file.h"
#include "model/model.h"
#include "text/text.h"

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const WeightFile& file);
// Null when the checkpoint has none. chat_template.jinja goes before tokenizer_config.json, "default" before other names.
Result<std::shared_ptr<const ChatTemplate>> open_chat_template(const WeightFile& file);
// The template's source; "" for none.
Result<std::string> chat_template_source(const WeightFile& file);
// For checkpoints that bring no template but whose vocabulary has the tokens of a known way of taking turns: our own short template for
// it, and in `token` the token that told. Null when there are none.
struct BuiltInTemplate {
  std::shared_ptr<const ChatTemplate> compiled;
  std::string token;
};
Result<BuiltInTemplate> built_in_chat_template(const Tokenizer& tokenizer);
// Adds the tokenizer's end of sequence and the special tokens that end a turn in the families we know.
void add_stop_ids(const Tokenizer& tokenizer, GenerationDefaults& defaults);
// What a template sees as bos_token and eos_token.
std::string token_text(const Tokenizer& tokenizer, std::optional<TokenId> id);
