// tools: how models of each family write calls of tools, read as it streams, and made to order.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "text/grammar.h"

// One function a model may call.
struct ToolSpec {
  std::string name, description;
  std::string parameters_json;  // JSON Schema of the arguments; "" for any object
  bool strict = false;          // its arguments must follow the schema
};
Result<std::vector<ToolSpec>> read_tools(std::string_view tools_json);  // the "tools" array of a chat request

struct ToolEvent {
  enum class Kind : uint8_t {
    text,        // prose outside of calls
    begin,       // a call starts: `index`, `name`
    arguments,   // the next piece of its arguments' JSON text
    end,         // it is complete; all its pieces together are valid JSON
    cut,         // it stops short: the text ended inside it, or what follows is no JSON and comes as text
    malformed,   // what looked like a call is none, or calls a tool that was not offered: `text` is what was held back of it
  } kind = Kind::text;
  int index = 0;
  std::string name, text;
};

// Reads one answer. Holds back only what may be the beginning of a call's markup, a call until it is certain to be one (its name is
// known and its arguments begin), and values that can only be cast when they are whole. Nothing else is lost but the markup of calls and
// the white space between them: what is no call comes back as text. A call is announced once; its end or cut always follows.
class ToolParser {
 public:
  virtual ~ToolParser() = default;
  virtual void push(std::string_view text, std::vector<ToolEvent>& out) = 0;
  virtual void flush(std::vector<ToolEvent>& out) = 0;  // no more text will come
  virtual bool inside_call() const = 0;
};

// One family's way. Immutable.
class ToolSyntax {
 public:
  virtual ~ToolSyntax() = default;
  virtual std::string_view name() const = 0;
  // Argument values that the syntax writes without JSON types are cast by the tool's schema.
  virtual std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const = 0;
  // Exactly one call or, with `parallel`, one or more, of any of `tools`, from the first byte of the markup to its last.
  virtual Result<GrammarBuilder::Node> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const = 0;
  // The markup that a free answer opens a call with; text up to and including it is unconstrained, what follows obeys `calls`.
  virtual std::string_view trigger() const = 0;
  // Parts of the markup that a vocabulary may have as control tokens, whose text is usually left out: here it must reach the parser,
  // and a grammar must be able to ask for it.
  virtual std::vector<std::string_view> control_texts() const { return {}; }
};
// The syntax that a template was written for, judged by what it renders; a JSON fallback when it is none of the known ones.
// Null when the template ignores tools.
class ChatTemplate;
const ToolSyntax* find_tool_syntax(const ChatTemplate& chat_template, std::string_view source);
std::span<const ToolSyntax* const> tool_syntaxes();
