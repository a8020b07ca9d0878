// chat: what a completer says that does nothing but answer.
#include "chat/chat.h"

namespace {
Error cannot(const char* what) { return {Code::unsupported, std::string("cannot ") + what + " here"}; }
}  // namespace

Result<std::string> Completer::render(const ChatRequest&) { return cannot("render a prompt"); }
Result<std::vector<TokenId>> Completer::tokenize(const std::string&, std::string_view, bool, bool) { return cannot("tokenize"); }
Result<std::string> Completer::detokenize(const std::string&, std::span<const TokenId>) { return cannot("detokenize"); }
Result<Embeddings> Completer::embed(const EmbedRequest&, std::stop_token) { return cannot("make embeddings"); }
Status Completer::load(const std::string&, std::optional<std::chrono::seconds>) { return cannot("load another model"); }
Status Completer::unload(const std::string&) { return cannot("unload a model"); }
Status Completer::pull(const std::string&, const PullProgress&, std::stop_token) { return cannot("fetch a model"); }
Status Completer::remove(const std::string&) { return cannot("remove a model"); }
Status Completer::copy(const std::string&, const std::string&) { return cannot("name a model anew"); }
