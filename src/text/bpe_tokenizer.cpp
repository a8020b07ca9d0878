// bpe tokenizer: added tokens, normaliser, pre-tokeniser and byte-pair encoding in Hugging Face's order; decoded bytes by table.
#include "text/bpe_tokenizer.h"

#include "text/unicode.h"

namespace {
class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(TokenizerParts parts)
      : vocabulary_(std::move(parts.vocabulary)), normalizer_(std::move(parts.normalizer)), pre_tokenizer_(std::move(parts.pre_tokenizer)),
        bpe_(vocabulary_.get(), std::move(parts.merges), parts.bpe), before_(std::move(parts.before)), after_(std::move(parts.after)), bos_(parts.bos),
        eos_(parts.eos) {}
  Status take_added(std::vector<AddedToken> added);
  void decode_all(const TokenDecoder& decoder);

  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override;
  std::string_view bytes(TokenId id, bool skip_special) const override {
    const Decoded* entry = shown(id, skip_special);
    return entry ? std::string_view(arena_).substr(entry->begin, entry->length) : std::string_view();
  }
  std::string_view bytes_at_start(TokenId id, bool skip_special) const override {
    const Decoded* entry = shown(id, skip_special);
    return entry ? std::string_view(arena_).substr(entry->start_begin, entry->start_length) : std::string_view();
  }
  bool is_special(TokenId id) const override { return id >= 0 && id < size() && decoded_[static_cast<size_t>(id)].special; }
  std::optional<TokenId> find(std::string_view token) const override {
    if (const auto id = vocabulary_->find(token)) return id;
    return extra_.find(token);
  }
  int size() const override { return static_cast<int>(decoded_.size()); }
  std::optional<TokenId> bos() const override { return bos_; }
  std::optional<TokenId> eos() const override { return eos_; }

 private:
  struct Decoded {
    size_t begin = 0, start_begin = 0;
    uint32_t length = 0, start_length = 0;
    bool special = false;
  };
  const Decoded* shown(TokenId id, bool skip_special) const {
    if (id < 0 || id >= size()) return nullptr;
    const Decoded& entry = decoded_[static_cast<size_t>(id)];
    return skip_special && entry.special ? nullptr : &entry;
  }
  std::string_view token_text(TokenId id) const { return vocabulary_->has(id) ? vocabulary_->text(id) : extra_.text(id); }
  void encode_plain(std::string text, bool first, bool match_added, std::vector<TokenId>& out) const;
  void encode_normalized(std::string text, bool first, std::vector<TokenId>& out) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  Vocabulary extra_;  // added tokens that the model's vocabulary lacks
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe bpe_;
  AddedMatcher raw_, normalized_;  // matched before and after normalising
  std::vector<std::pair<TokenId, std::string>> normalized_texts_;  // decoding shows an added token in its normalised form
  std::vector<Decoded> decoded_;
  std::string arena_;
  std::vector<TokenId> before_, after_;
  std::optional<TokenId> bos_, eos_;
};
}  // namespace

Status BpeTokenizer::take_added(std::vector<AddedToken> added) {
  std::vector<bool> never_whole(static_cast<size_t>(vocabulary_->size()));
  int highest = vocabulary_->size();
  std::vector<TokenId> specials;
  for (AddedToken& token : added) {
    if (token.content.empty()) continue;
    if (const auto id = vocabulary_->find(token.content)) {
      token.id = *id;
      // Hugging Face never gets here with such a piece, because it matches the token first; with special = false we would.
      never_whole[static_cast<size_t>(*id)] = token.special;
    } else {
      if (vocabulary_->has(token.id)) return Error{Code::corrupt_file, "tokenizer: added token " + std::to_string(token.id) + " has the id of another token"};
      TRY_STATUS(extra_.add(token.content, token.id));
      highest = std::max(highest, token.id + 1);
    }
    if (token.special) specials.push_back(token.id);
    if (token.normalized) {
      std::string text = normalizer_.apply(token.content);
      if (text != token.content) normalized_texts_.emplace_back(token.id, text), token.content = std::move(text);
    }
    (token.normalized ? normalized_ : raw_).add(token);
  }
  bpe_.set_never_whole(std::move(never_whole));
  decoded_.resize(static_cast<size_t>(highest));
  for (const TokenId id : specials) decoded_[static_cast<size_t>(id)].special = true;
  return ok_status();
}

void BpeTokenizer::decode_all(const TokenDecoder& decoder) {
  const auto store = [&](TokenId id, std::string_view text) {
    Decoded& entry = decoded_[static_cast<size_t>(id)];
    const std::string running = decoder.decode(text, false), start = decoder.decode(text, true);
    entry.begin = entry.start_begin = arena_.size();
    entry.length = static_cast<uint32_t>(running.size()), entry.start_length = static_cast<uint32_t>(start.size());
    arena_ += running;
    if (running.ends_with(start)) entry.start_begin += running.size() - start.size();
    else entry.start_begin = arena_.size(), arena_ += start;
  };
  for (TokenId id = 0; id < size(); ++id)
    if (vocabulary_->has(id) || extra_.has(id)) store(id, token_text(id));
  for (const auto& [id, text] : normalized_texts_) store(id, text);
}

void BpeTokenizer::encode_normalized(std::string text, bool first, std::vector<TokenId>& out) const {
  if (text.empty()) return;
  std::vector<Piece> pieces;
  pieces.push_back({std::move(text), first});
  pre_tokenizer_.apply(pieces);
  for (const Piece& piece : pieces) bpe_.encode(piece.text, out);
}

void BpeTokenizer::encode_plain(std::string text, bool first, bool match_added, std::vector<TokenId>& out) const {
  text = normalizer_.apply(std::move(text));
  if (!match_added || normalized_.empty()) return encode_normalized(std::move(text), first, out);
  for (const AddedSplit& split : normalized_.split(text)) {
    if (split.id >= 0) out.push_back(split.id);
    else encode_normalized(text.substr(split.begin, split.end - split.begin), first && split.begin == 0, out);
  }
}

std::vector<TokenId> BpeTokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<TokenId> out;
  out.reserve(text.size() / 3 + 8);
  if (options.bos_eos) out = before_;
  const std::string clean = replace_invalid_utf8(text);
  if (!options.special || raw_.empty()) {
    encode_plain(clean, true, options.special, out);
  } else {
    for (const AddedSplit& split : raw_.split(clean)) {
      if (split.id >= 0) out.push_back(split.id);
      else encode_plain(clean.substr(split.begin, split.end - split.begin), split.begin == 0, true, out);
    }
  }
  if (options.bos_eos) out.insert(out.end(), after_.begin(), after_.end());
  return out;
}

Result<std::shared_ptr<const Tokenizer>> make_tokenizer(TokenizerParts parts) {
  std::vector<AddedToken> added = std::move(parts.added);
  const TokenDecoder decoder = std::move(parts.decoder);
  auto tokenizer = std::make_shared<BpeTokenizer>(std::move(parts));
  TRY_STATUS(tokenizer->take_added(std::move(added)));
  tokenizer->decode_all(decoder);
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}
