// help: --help written from the tables of commands and options.
#include <fmt/format.h>
#include "app/options.h"

namespace {

struct Heading { uint32_t groups; const char* title; };
constexpr Heading kHeadings[] = {
    {kPrompt | kConversation, "Conversation"}, {kSampling, "Sampling"}, {kBench, "Measuring"},          {kEval | kTokenize | kDetokenize | kInspect, "What to print"},
    {kServed, "A served model"},               {kServe, "Serving"},     {kModel | kHub | kConfig, "Model"}, {kContext | kDevice | kPacked | kPack, "Engine"}, {kScan | kGateView | kPolicy | kAudit, "Privacy"}, {kGeneral, "General"},
    {kFamiliar, "Taken from llama-server's command lines, without effect"},
};

std::string option_line(const OptionSpec& spec) {
  std::string left = spec.names;
  if (*spec.value != 0) left += std::string(" ") + spec.value;
  std::string right = spec.help;
  if (*spec.environment != 0) right += fmt::format(" [{}]", spec.environment);
  if (left.size() > 27) return fmt::format("  {}\n  {:27} {}\n", left, "", right);
  return fmt::format("  {:27} {}\n", left, right);
}

std::string wrapped(std::string_view text, size_t width) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (column != 0 && column + 1 + end > width) out += '\n', column = 0;
    if (column != 0) out += ' ', column++;
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string help_text(std::span<const Command> commands) {
  std::string out = "calla: runs language models on this machine.\n\nUsage: calla COMMAND [MODEL] [options]\n\nCommands:\n";
  for (const Command& command : commands) out += fmt::format("  {:11} {}\n", command.name, command.summary);
  out += "\nA model is a path (a .gguf file or a folder with config.json), owner/repo of the Hugging Face cache, or an alias such as starter.\n";
  out += "\nExamples:\n";
  out += "  calla pull starter                              fetch the small starter model\n";
  out += "  calla chat starter                              talk to it\n";
  out += "  calla run starter \"What is a fjord?\"            one answer on standard output\n";
  out += "  calla serve starter --port 8080                 answer over HTTP as OpenAI's API does\n";
  out += "\n'calla COMMAND --help' tells more. Exit status: 0 done, 1 it failed, 2 the command line is wrong, 130 interrupted.\n";
  return out;
}

std::string help_text(const Command& command) {
  std::string out = fmt::format("calla {}: {}\n\nUsage: calla {} {}{}[options]\n", command.name, command.summary, command.name, command.arguments, *command.arguments ? " " : "");
  if (*command.details != 0) out += "\n" + wrapped(command.details, 100) + "\n";
  out += "\nExamples:\n";
  for (const char* example : command.examples) out += fmt::format("  {}\n", example);
  for (const Heading& heading : kHeadings) {
    std::string lines;
    for (const OptionSpec& spec : option_table())
      if ((spec.groups & heading.groups) != 0 && (spec.groups & (command.groups | kGeneral)) != 0 && (spec.groups & kHidden) == 0) {
        const bool first = [&] {  // an option of several groups is listed under the first heading that holds it
          for (const Heading& earlier : kHeadings) {
            if (earlier.title == heading.title) return true;
            if ((spec.groups & earlier.groups & command.groups) != 0) return false;
          }
          return true;
        }();
        if (first) lines += option_line(spec);
      }
    if (!lines.empty()) out += fmt::format("\n{}:\n{}", heading.title, lines);
  }
  return out;
}

namespace {

// "`--max-body`, `-b`": names as code.
std::string as_code(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "`" : ", `") + name + "`";
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : c == '<' ? std::string("&lt;") : std::string(1, c);
  return out;
}

std::string environment_of(const OptionSpec& spec) { return *spec.environment == 0 ? "" : fmt::format("`{}`", fmt::join(split_names(spec.environment), "`, `")); }

}  // namespace

std::string options_reference() {
  std::string out;
  for (const Heading& heading : kHeadings) {
    std::string rows;
    for (const OptionSpec& spec : option_table()) {
      const Heading* first = nullptr;
      for (const Heading& h : kHeadings)
        if (first == nullptr && (spec.groups & h.groups) != 0) first = &h;
      if (first != &heading || (spec.groups & kHidden) != 0) continue;
      const std::string value = *spec.value == 0 ? "" : fmt::format(" {}", spec.value);
      const bool key = (spec.groups & kConfigurable) != 0 && !configuration_keys(spec).empty();
      rows += fmt::format("| {}{} | {} | {} | {} |\n", as_code(option_names(spec)), escaped(value), key ? as_code(configuration_keys(spec)) : "", environment_of(spec), escaped(spec.help));
    }
    if (!rows.empty()) out += fmt::format("\n**{}**\n\n| option | key | variable | |\n|---|---|---|---|\n{}", heading.title, rows);
  }
  return out;
}
