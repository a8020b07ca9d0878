// options_test: the table of options, near misses, and help that shows examples for every command.
#include <gtest/gtest.h>
#include <set>
#include "app/commands.h"

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

TEST(Help, EveryCommandShowsExamplesAndItsOptions) {
  for (const Command& c : commands()) {
    ASSERT_FALSE(c.examples.empty()) << c.name;
    const std::string help = help_text(c);
    for (const char* example : c.examples) {
      EXPECT_NE(help.find(example), std::string::npos) << c.name;
      EXPECT_NE(std::string(example).find("calla " + std::string(c.name)), std::string::npos) << example;
    }
    for (const OptionSpec& spec : option_table()) {
      const bool taken = (spec.groups & (c.groups | kGeneral)) != 0;
      EXPECT_EQ(help.find("  " + std::string(spec.names) + (*spec.value ? " " + std::string(spec.value) : "")) != std::string::npos, taken) << c.name << " " << spec.names;
    }
    EXPECT_NE(help_text(commands()).find(c.name), std::string::npos);
  }
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
