// commands: the list, and the way from the first word to a command.
#include "app/commands.h"

#include <cstdlib>
#include "app/console.h"

namespace {

constexpr uint32_t kLoad = kModel | kContext | kDevice | kPacked;
constexpr uint32_t kTalk = kLoad | kSampling | kConversation | kConfig;

const std::vector<Command>& list() {
  static const std::vector<Command> all = {
      {"chat", "[MODEL]", "talk to a model",
       "Lines are edited with the usual keys; a backslash at the end, or \"\"\" around it, makes a message of several lines. Ctrl-C stops the answer, Ctrl-D leaves. /help lists what "
       "can be said to the program itself. Without a model it is starter. With --config, the models of the file are asked through its privacy gate: before anything "
       "leaves that the policy asks about, the exact text is shown and you are asked.",
       kTalk, 0, 1, {"calla chat starter", "calla chat ./model.gguf --system \"You answer in rhymes.\" --temp 0.7", "calla chat --config calla.toml --model auto", "printf 'Hello\\n' | calla chat starter"}, chat_command},
      {"run", "MODEL [PROMPT]", "answer one prompt",
       "Text on standard input is the document: it is put in front of the prompt, or is the prompt when there is none. Standard output gets the answer and nothing else.",
       kTalk | kPrompt, 1, 2,
       {"calla run starter \"Write one sentence about the sea.\"", "calla run starter \"Sum this up in one line.\" < notes.txt", "git diff | calla run starter \"Write a commit message.\" --temp 0",
        "calla run starter \"Name three colours.\" --json"}, run_command},
      {"serve", "[MODEL]", "answer over HTTP as OpenAI's, Anthropic's and Ollama's APIs do",
       "The model named here is loaded at the start and stays; all others on this machine are loaded when a request names them and leave when they are idle. Stops on SIGINT or SIGTERM when what is "
       "running has been answered; a second signal ends it at once. docs/serving.md tells of the configuration file, TLS, keys and limits.",
       kLoad | kSampling | kServe | kServed | kFamiliar, 0, 1,
       {"calla serve starter", "calla serve owner/repo --port 8000 --parallel 8", "calla serve ./model.gguf --host 0.0.0.0 --api-key secret", "calla serve --config calla.toml"}, serve_command},
      {"pull", "NAME", "fetch a model from the hub", "Resumes, verifies size and sha256, and says which file of several was chosen and why.", kHub, 1, 1,
       {"calla pull starter", "calla pull owner/repo", "calla pull owner/repo:Q4_K_M"}, pull_command},
      {"pack", "MODEL", "write the packed file that --packed starts from",
       "Weights in the order in which the processor reads them, in CALLA_CACHE/packed or ~/.cache/calla/packed; about as large as the model. It may be deleted at any time. Without --verify it is "
       "written unless it is there and belongs to the model as it is now.",
       kModel | kDevice | kPack, 1, 1, {"calla pack starter", "calla pack ./model.gguf --verify"}, pack_command},
      {"list", "", "models on this machine", "", kHub | kConfig, 0, 0, {"calla list", "calla list --json", "calla list --config calla.toml"}, list_command},
      {"rm", "NAME...", "remove models", "Files that other models share stay.", kHub, 1, 64, {"calla rm starter", "calla rm owner/repo:Q4_K_M"}, remove_command},
      {"inspect", "MODEL", "what a model is, how it is quantised, whether it fits", "Opens the file; loads no weights.", kModel | kContext | kInspect, 1, 1,
       {"calla inspect starter", "calla inspect ./model.gguf --tensors", "calla inspect starter --json"}, inspect_command},
      {"bench", "MODEL", "speed, and how near it is to what memory allows",
       "Prefill and decode in tokens/s, medians of interleaved repetitions. Right before each, all threads read memory and multiply int8 in registers: decode is given as a share of the one, "
       "prefill of the other. The last lines say what holds the speed up and what might help. Exit status 1 when the generated ids differ between repetitions.",
       kLoad | kBench, 1, 1,
       {"calla bench starter", "calla bench starter -p 512 -n 64 -d 0,512,4096 -r 5", "calla bench ./model.gguf -p 0 -n 64 --depths 0,32768", "calla bench starter --precision exact --json"},
       bench_command},
      {"selftest", "MODEL", "prove on this machine that the engine agrees with itself",
       "Batched equals alone, continued equals afresh, any thread count, any instruction set, any prefill chunk; how far fast is from exact. Exit status 1 when a line fails.", kLoad, 1, 1,
       {"calla selftest starter", "calla selftest ./model.gguf --json"}, selftest_command},
      {"eval", "MODEL", "logits and greedy tokens for given ids", "Prints {\"logits\":[{\"pos\":p,\"top\":[[id,value] x 20]}],\"generated\":[ids]}. End of text is ignored.", kLoad | kEval, 1, 1,
       {"calla eval starter --ids 1,2,3 --n-predict 8 --precision exact", "calla eval starter --ids 1,2,3 --all-positions --json"}, eval_command},
      {"tokenize", "MODEL", "text on standard input to token ids", "The bytes as they come, a last newline included. Text of special tokens becomes their id unless --plain; nothing is added unless --bos.",
       kModel | kTokenize, 1, 1, {"printf 'Hello world' | calla tokenize starter", "calla tokenize starter --bos --json < text.txt"}, tokenize_command},
      {"detokenize", "MODEL [IDS]", "token ids to text", "Ids as an argument or on standard input, with commas or blanks between.", kModel | kDetokenize, 1, 2,
       {"calla detokenize starter 1,2,3", "printf hello | calla tokenize starter | calla detokenize starter"}, detokenize_command},
      {"template", "MODEL", "messages on standard input to the prompt that the model sees",
       "Standard input is a list of messages, or an object with messages, tools, add_generation_prompt and chat_template_kwargs.", kModel, 1, 1,
       {"echo '[{\"role\":\"user\",\"content\":\"Hi\"}]' | calla template starter", "calla template starter --json < request.json"}, template_command},
      {"perplexity", "MODEL FILE", "how well the model foresees a text", "One window over the whole text, up to the context; the mean is over tokens 2 to n. FILE may be - for standard input.", kLoad, 2, 2,
       {"calla perplexity starter text.txt", "calla perplexity starter text.txt --precision exact --json"}, perplexity_command},
      {"scan", "[FILE...]", "find private values in texts, files and folders",
       "Names, addresses, accounts, identifiers, credentials and the like, however they are written or encoded. Without files one text on standard input is read. Folders are searched "
       "through, .git and binary files left out. Exit status 0 nothing was found, 1 something was, 2 something could not be read: fit for hooks and CI.",
       kScan, 0, 1'000'000, {"calla scan notes.txt src/", "git diff --cached | calla scan", "calla scan --json --policy calla.toml letter.txt", "calla scan --jsonl texts.jsonl", "calla scan --tiers a src/"}, scan_command},
      {"gate", "[FILE]", "show what would leave this machine, beside what stays",
       "A text, from FILE or standard input, as a cloud model would be sent it: nothing is sent. Without --policy the default policy is shown.", kGateView, 0, 1,
       {"calla gate letter.txt", "calla gate --policy calla.toml < letter.txt", "calla gate --json letter.txt"}, gate_command},
      {"policy", "check|explain|test|hash CONFIG [FILE...]", "check the privacy policy of a configuration, and ask it what it would do",
       "check: errors are FILE:LINE: KEY: message, exit status 2. explain: a chat completion request on standard input, what would happen to it and why, and the exact body that would leave; "
       "nothing is sent. test: FILE holds cases, texts with the action and route expected of them (docs/policy.md); exit status 1 when one fails. hash: terms on standard input, one a line, as "
       "terms_hmac wants them; CONFIG is not needed.",
       kPolicy, 1, 1'000'000,
       {"calla policy check calla.toml", "calla policy explain calla.toml --model auto < request.json", "calla policy explain calla.toml --header 'X-Calla-Privacy: local' < request.json",
        "calla policy test calla.toml cases.toml", "calla policy hash --key-env TERMS_KEY < names.txt"}, policy_command},
      {"audit", "verify|stats|export|report FILE", "prove from the audit log what stayed and what left",
       "verify: the chain of hashes, the signed checkpoints and the head; exit status 1 when a line was edited, removed, inserted, moved or cut off. stats: what the requests of a period add up to. "
       "export: a table. report: one HTML page for an administrator, complete in itself. Rotated files of the same name are read along.",
       kAudit, 2, 2,
       {"calla audit verify audit.jsonl", "calla audit verify audit.jsonl --pub audit.pub --head 7:HASH", "calla audit stats audit.jsonl --since 2026-11-01 --json", "calla audit export audit.jsonl --csv > audit.csv",
        "calla audit report audit.jsonl --out report.html"}, audit_command},
      {"version", "", "version, compiler and devices", "", 0, 0, 0, {"calla version", "calla version --json"}, version_command},
  };
  return all;
}

const Command* find_command(std::string_view name) {
  if (name == "ls") name = "list";
  if (name == "remove" || name == "delete") name = "rm";
  if (name == "--version" || name == "-V") name = "version";
  if (name == "show") name = "inspect";
  if (name == "download" || name == "get") name = "pull";
  for (const Command& command : list())
    if (command.name == name) return &command;
  return nullptr;
}

Error unknown_command(std::string_view word) {
  std::vector<std::string> names{"help"};
  for (const Command& command : list()) names.emplace_back(command.name);
  const std::string near = nearest(word, names);
  return {Code::invalid_request, "cannot read the command line: '" + std::string(word) + "': no such command, " + (near.empty() ? "'calla --help' lists them" : "did you mean " + near + "?")};
}

int print_help(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

std::span<const Command> commands() { return list(); }

int run_calla(std::span<const std::string_view> words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return print_help(help_text(commands()));
  const bool help = words[0] == "help";
  if (help && words.size() == 1) return print_help(help_text(commands()));
  if (help && words.size() == 2 && words[1] == "--markdown") return print_help(options_reference());
  const std::string_view name = words[help ? 1 : 0];
  const Command* command = find_command(name);
  if (command == nullptr) return usage_error(unknown_command(name));
  if (help) return print_help(help_text(*command));
  const auto options = parse_options(*command, words.subspan(1), [](const char* variable) -> const char* { return std::getenv(variable); });
  if (!options) return usage_error(options.error());
  if (options->help) return print_help(help_text(*command));
  return command->run(*options);
}
