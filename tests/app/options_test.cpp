// options_test: the table of options, near misses, and help that shows examples for every command.
#include <gtest/gtest.h>
#include <fstream>
#include <set>
#include "app/commands.h"
#include "app/values.h"

namespace {

const Command& command(std::string_view name) {
  for (const Command& c : commands())
    if (c.name == name) return c;
  ADD_FAILURE() << name;
  return commands()[0];
}

Result<Options> parse(std::string_view name, std::vector<std::string_view> words, std::vector<std::pair<std::string, std::string>> environment = {}) {
  return parse_options(command(name), words, [&](const char* variable) -> const char* {
    for (const auto& [key, value] : environment)
      if (key == variable) return value.c_str();
    return nullptr;
  });
}

std::string refusal(std::string_view name, std::vector<std::string_view> words, std::vector<std::pair<std::string, std::string>> environment = {}) {
  const auto options = parse(name, std::move(words), std::move(environment));
  return options ? "" : options.error().message;
}

}  // namespace

TEST(Options, FamiliarNamesAreUnderstood) {
  const auto o = parse("run", {"-m", "x.gguf", "-c", "4096", "-t4", "--temp", "0.5", "--top-k=40", "--top-p", "0.9", "--min-p", "0.05", "--repeat-penalty", "1.1", "-s", "7",
                               "-n", "16", "--isa", "avx2", "--precision", "exact", "--pin", "--trace", "dispatch", "--json", "--verbose", "--offline", "the prompt"});
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->model, "x.gguf");
  EXPECT_EQ(o->context, 4096);
  EXPECT_EQ(o->threads, 4);
  EXPECT_FLOAT_EQ(*o->temperature, 0.5f);
  EXPECT_EQ(*o->top_k, 40);
  EXPECT_FLOAT_EQ(*o->top_p, 0.9f);
  EXPECT_FLOAT_EQ(*o->min_p, 0.05f);
  EXPECT_FLOAT_EQ(*o->repetition_penalty, 1.1f);
  EXPECT_EQ(*o->seed, 7u);
  EXPECT_EQ(*o->max_tokens, 16);
  EXPECT_EQ(o->isa, "avx2");
  EXPECT_EQ(o->precision, Precision::exact);
  EXPECT_TRUE(o->pin && o->trace_dispatch && o->json && o->verbose && o->offline);
  EXPECT_EQ(o->arguments, std::vector<std::string>{"the prompt"});
  for (const char* name : {"-n", "--max-tokens", "--n-predict"}) EXPECT_EQ(parse("run", {"m", name, "5"})->max_tokens, 5) << name;
}

TEST(Options, ModelComesFromTheFirstArgumentOrTheOptionOrTheEnvironment) {
  EXPECT_EQ(parse("run", {"m", "p"})->model, "m");
  EXPECT_EQ(parse("run", {"m", "p"}, {{"CALLA_MODEL", "e"}})->model, "m");
  EXPECT_EQ(parse("chat", {}, {{"CALLA_MODEL", "e"}})->model, "e");
  EXPECT_EQ(parse("inspect", {}, {{"CALLA_MODEL", "e"}})->model, "e");
  EXPECT_EQ(parse("perplexity", {"-m", "m", "file"})->arguments, std::vector<std::string>{"file"});
  EXPECT_EQ(parse("run", {"m", "--", "--json"})->arguments, std::vector<std::string>{"--json"});
}

TEST(Options, ABadValueNamesOptionValueAndWhatIsExpected) {
  EXPECT_EQ(refusal("run", {"m", "--temp", "hot"}), "cannot read the command line: --temp: 'hot': a number from 0 to 10; 0 takes the likeliest token expected");
  EXPECT_EQ(refusal("run", {"m", "-c", "1e3"}), "cannot read the command line: -c: '1e3': a whole number from 0 to 16777216 expected");
  EXPECT_EQ(refusal("serve", {"--port", "65536"}), "cannot read the command line: --port: '65536': a whole number from 0 to 65535 expected");
  EXPECT_EQ(refusal("eval", {"m", "--ids", "1,x"}), "cannot read the command line: --ids: '1,x': token ids with commas between expected");
  EXPECT_EQ(refusal("run", {"m", "--precision", "half"}), "cannot read the command line: --precision: 'half': exact or fast expected");
  EXPECT_EQ(refusal("run", {"m", "--seed"}), "cannot read the command line: --seed: nothing after it: a whole number, not negative expected");
  EXPECT_EQ(refusal("run", {"m", "--json=yes"}), "cannot read the command line: --json: 'yes': no value expected");
  EXPECT_EQ(refusal("chat", {}, {{"CALLA_THREADS", "many"}}), "cannot read the command line: CALLA_THREADS: 'many': a whole number from 0 to 1024 expected");
  for (const char* value : {"nan", "inf", "-1", "", " 1", "1 "}) EXPECT_NE(refusal("run", {"m", "--temp", value}), "") << value;
}

TEST(Options, UnknownOnesGetANearMiss) {
  EXPECT_EQ(refusal("run", {"m", "--tmp", "1"}), "cannot read the command line: --tmp: no such option here, did you mean --temp?");
  EXPECT_EQ(refusal("run", {"m", "--wholly-unlike"}), "cannot read the command line: --wholly-unlike: no such option here, --help lists them");
  EXPECT_NE(refusal("pull", {"m", "--temp", "1"}), "");  // known, but not to this command
}

TEST(Options, ArgumentsAreCounted) {
  EXPECT_NE(refusal("perplexity", {"m"}).find("too few"), std::string::npos);
  EXPECT_NE(refusal("inspect", {"a", "b"}).find("'b' is too much"), std::string::npos);
  EXPECT_EQ(refusal("inspect", {"a", "--help"}), "");
}

TEST(Options, NearestFindsSlipsOnly) {
  const std::vector<std::string> names{"chat", "run", "serve", "selftest", "tokenize", "detokenize"};
  EXPECT_EQ(nearest("caht", names), "chat");
  EXPECT_EQ(nearest("sevre", names), "serve");
  EXPECT_EQ(nearest("tokenise", names), "tokenize");
  EXPECT_EQ(nearest("rnu", names), "run");
  EXPECT_EQ(nearest("token", names), "tokenize");
  EXPECT_EQ(nearest("banana", names), "");
  EXPECT_EQ(nearest("", names), "");
}

TEST(Options, SetTakesAnySpelling) {
  Options o;
  EXPECT_TRUE(set_option(o, kSampling, "temp", "0.25"));
  EXPECT_TRUE(set_option(o, kSampling, "top_k", "3"));
  EXPECT_TRUE(set_option(o, kSampling, "--top-p", "0.5"));
  EXPECT_FLOAT_EQ(*o.temperature, 0.25f);
  EXPECT_EQ(*o.top_k, 3);
  EXPECT_EQ(set_option(o, kSampling, "tmp", "1").error().message, "cannot set tmp: no such setting, did you mean temp?");
  EXPECT_FALSE(set_option(o, kSampling, "threads", "1"));
}

TEST(Options, LlamaServersNamesAreUnderstood) {
  const auto o = parse("serve", {"-m", "x.gguf", "-c", "4096", "-n", "-1", "-t", "4", "-np", "2", "-b", "1024", "-ub", "256", "--host", "0.0.0.0", "--port", "9", "--api-key", "k", "-a", "big,other",
                                 "-ctk", "q8_0", "--chat-template-kwargs", "{\"a\":1}", "--reasoning", "off", "--reasoning-budget", "64", "-cram", "512", "--sleep-idle-seconds", "90", "--models-max", "3",
                                 "--timeout", "600", "--sse-ping-interval", "30", "--temp", "0.5", "--typical", "0.9", "--dry-multiplier", "0.8", "--offline"});
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->batch, 1024);
  EXPECT_EQ(o->micro_batch, 256);
  EXPECT_EQ(o->parallel, 2);
  EXPECT_FALSE(o->max_tokens);
  EXPECT_EQ(o->served_name, "big");
  EXPECT_EQ(o->aliases, (std::vector<std::pair<std::string, std::string>>{{"other", "big"}}));
  EXPECT_EQ(o->kv, KvType::int8);
  EXPECT_EQ(o->template_kwargs, "{\"a\":1}");
  EXPECT_EQ(o->think, false);
  EXPECT_EQ(o->reasoning_budget, 64);
  EXPECT_EQ(o->state_bytes, size_t{512} << 20);
  EXPECT_EQ(o->keep_alive, std::chrono::seconds(90));
  EXPECT_EQ(o->max_loaded, 3);
  EXPECT_EQ(o->write_timeout_s, 600);
  EXPECT_EQ(o->ping_interval_s, 30);
  EXPECT_FLOAT_EQ(*o->typical_p, 0.9f);
  EXPECT_FLOAT_EQ(*o->dry_multiplier, 0.8f);
  EXPECT_TRUE(o->notes.empty());
  EXPECT_TRUE(parse("serve", {"-hf", "owner/repo:Q4_0"})->fetch);
  EXPECT_FALSE(parse("serve", {"--cache-ram", "0"})->prefix_cache);
}

TEST(Options, WhatHasNoEffectIsSaid) {
  const auto o = parse("serve", {"m", "-ngl", "99", "-fa", "--mlock", "--jinja", "-fa", "on", "--metrics"});
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->model, "m");
  ASSERT_EQ(o->notes.size(), 6u);
  EXPECT_EQ(o->notes[0], "-ngl has no effect: --device says where a model runs");
  EXPECT_EQ(refusal("serve", {"--flash-atn"}), "cannot read the command line: --flash-atn: no such option here, did you mean --flash-attn?");
  EXPECT_EQ(refusal("serve", {"--fit=maybe"}), "cannot read the command line: --fit: 'maybe': on or off expected");
  EXPECT_NE(refusal("run", {"m", "-ngl", "1"}), "");
}

TEST(Options, WhereToListen) {
  const auto where = [](std::vector<std::string_view> words, std::vector<std::pair<std::string, std::string>> environment = {}) {
    const auto o = parse("serve", std::move(words), std::move(environment));
    return o ? o->host + " " + std::to_string(o->port) : o.error().message;
  };
  EXPECT_EQ(where({}), "127.0.0.1 8080");
  EXPECT_EQ(where({"--listen", "0.0.0.0:9"}), "0.0.0.0 9");
  EXPECT_EQ(where({"--listen", ":9"}), "127.0.0.1 9");
  EXPECT_EQ(where({"--listen", "[::1]:9"}), "[::1] 9");
  EXPECT_EQ(where({"--listen", "unix:/run/c"}), "unix:/run/c 8080");
  EXPECT_EQ(where({"--host", "/run/c.sock"}), "unix:/run/c.sock 8080");
  for (const char* bad : {"", "here", "::1:9", "h:", "h:70000", "unix:", "[::1]9"}) EXPECT_NE(refusal("serve", {"--listen", bad}), "") << bad;
  EXPECT_EQ(where({}, {{"OLLAMA_HOST", "0.0.0.0"}}), "0.0.0.0 11434");
  EXPECT_EQ(where({}, {{"OLLAMA_HOST", "http://127.0.0.1:5000/"}}), "127.0.0.1 5000");
  EXPECT_EQ(where({}, {{"OLLAMA_HOST", ":5000"}}), "127.0.0.1 5000");
  EXPECT_EQ(where({"--port", "1"}, {{"OLLAMA_HOST", "0.0.0.0:5000"}}), "127.0.0.1 1");
  EXPECT_EQ(where({}, {{"OLLAMA_HOST", "0.0.0.0:5000"}, {"CALLA_PORT", "2"}}), "0.0.0.0 2");
}

TEST(Options, OllamasEnvironmentIsHonouredAndSaid) {
  const auto o = parse("serve", {"--parallel", "3"},
                       {{"OLLAMA_KEEP_ALIVE", "1h30m"}, {"OLLAMA_NUM_PARALLEL", "9"}, {"OLLAMA_MAX_LOADED_MODELS", "2"}, {"OLLAMA_MAX_QUEUE", "5"}, {"OLLAMA_CONTEXT_LENGTH", "2048"},
                        {"OLLAMA_ORIGINS", "https://a.example,https://b.example"}, {"OLLAMA_FLASH_ATTENTION", "1"}, {"OLLAMA_KV_CACHE_TYPE", "q8_0"}});
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->keep_alive, std::chrono::seconds(5400));
  EXPECT_EQ(o->parallel, 3);
  EXPECT_EQ(o->max_loaded, 2);
  EXPECT_EQ(o->max_waiting, 5);
  EXPECT_EQ(o->context, 2048);
  EXPECT_EQ(o->cors_origins, (std::vector<std::string>{"https://a.example", "https://b.example"}));
  EXPECT_EQ(o->kv, KvType::int8);
  EXPECT_EQ(o->notes.size(), 7u);
  EXPECT_EQ(parse("run", {"m", "p"}, {{"OLLAMA_CONTEXT_LENGTH", "2048"}})->context, 0);
  EXPECT_EQ(parse("serve", {}, {{"CALLA_CTX_SIZE", "1"}, {"OLLAMA_CONTEXT_LENGTH", "2048"}})->context, 1);
}

TEST(Values, DurationsAndSizes) {
  const auto seconds = [](std::string_view text) {
    std::chrono::seconds s{};
    return parse_duration(text, s) ? s.count() : -99;
  };
  EXPECT_EQ(seconds("300"), 300);
  EXPECT_EQ(seconds("0"), 0);
  EXPECT_EQ(seconds("5m"), 300);
  EXPECT_EQ(seconds("1h30m5s"), 5405);
  EXPECT_EQ(seconds("1.5h"), 5400);
  EXPECT_EQ(seconds("100ms"), 1);
  EXPECT_EQ(seconds("-1"), -1);
  EXPECT_EQ(seconds("-1m"), -1);
  for (const char* bad : {"", "-", "5x", "m", "1m5", "5 m", "1e3", "inf", "99999999999"}) EXPECT_EQ(seconds(bad), -99) << bad;
  const auto bytes = [](std::string_view text) {
    size_t b = 0;
    return parse_bytes(text, b) ? static_cast<int64_t>(b) : -99;
  };
  EXPECT_EQ(bytes("1048576"), 1048576);
  EXPECT_EQ(bytes("32M"), 32 << 20);
  EXPECT_EQ(bytes("1.5GiB"), int64_t{3} << 29);
  for (const char* bad : {"", "-1", "1X", "1M1K", "M", "1e20"}) EXPECT_EQ(bytes(bad), -99) << bad;
}

TEST(Help, EveryCommandShowsExamplesAndItsOptions) {
  for (const Command& c : commands()) {
    ASSERT_FALSE(c.examples.empty()) << c.name;
    const std::string help = help_text(c);
    for (const char* example : c.examples) {
      EXPECT_NE(help.find(example), std::string::npos) << c.name;
      EXPECT_NE(std::string(example).find("calla " + std::string(c.name)), std::string::npos) << example;
    }
    for (const OptionSpec& spec : option_table()) {
      const bool taken = (spec.groups & (c.groups | kGeneral)) != 0 && (spec.groups & kHidden) == 0;
      EXPECT_EQ(help.find("  " + std::string(spec.names) + (*spec.value ? " " + std::string(spec.value) : "")) != std::string::npos, taken) << c.name << " " << spec.names;
    }
    EXPECT_NE(help_text(commands()).find(c.name), std::string::npos);
  }
}

TEST(Help, TheReferenceInTheDocumentationIsTheTable) {
  std::ifstream file(CALLA_SOURCE_DIR "/docs/commands.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(page.ends_with(options_reference())) << "docs/commands.md should end with what 'calla help --markdown' prints";
}

TEST(Help, NoOptionIsNamedTwiceForOneCommand) {
  for (const Command& c : commands()) {
    std::set<std::string> seen;
    for (const OptionSpec& spec : option_table()) {
      if ((spec.groups & (c.groups | kGeneral)) == 0) continue;
      for (const std::string& name : option_names(spec)) EXPECT_TRUE(seen.insert(name).second) << c.name << " " << name;
    }
  }
}
