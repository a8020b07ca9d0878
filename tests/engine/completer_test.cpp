// completer: prompts, defaults, stop strings, reasoning and logprobs around an engine that says what the test wants.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include "core/json_writer.h"
#include "engine/engine.h"
#include "engine/reasoning.h"
#include "engine/turns.h"

namespace {
// Byte tokens 0 … 255; 256 is a control token that ends turns; 257 and 258 are "<think>" and "</think>".
class ByteTokenizer final : public Tokenizer {
 public:
  std::vector<TokenId> encode(std::string_view text, EncodeOptions) const override {
    std::vector<TokenId> ids;
    for (size_t i = 0; i < text.size();) {
      TokenId id = static_cast<unsigned char>(text[i]);
      for (TokenId added : {256, 257, 258})
        if (text.substr(i).starts_with(bytes(added, false))) id = added;
      ids.push_back(id);
      i += bytes(id, false).size();
    }
    return ids;
  }
  std::string_view bytes(TokenId id, bool skip_special) const override {
    static const std::string all = [] { std::string s; for (int i = 0; i < 256; ++i) s += static_cast<char>(i); return s; }();
    if (id >= 0 && id < 256) return std::string_view(all).substr(static_cast<size_t>(id), 1);
    return id == 257 ? "<think>" : id == 258 ? "</think>" : id == 256 && !skip_special ? "<|end|>" : "";
  }
  bool is_special(TokenId id) const override { return id == 256; }
  std::optional<TokenId> find(std::string_view token) const override {
    for (TokenId id : {256, 257, 258})
      if (bytes(id, false) == token) return id;
    return {};
  }
  int size() const override { return 259; }
  std::optional<TokenId> bos() const override { return {}; }
  std::optional<TokenId> eos() const override { return 256; }
};

// Says `script`, token by token, as far as the request's constraint lets it, and remembers what it was asked.
class ScriptEngine final : public Engine {
 public:
  Result<Finish> generate(const Generation& g, const TokenSink& out, std::stop_token) override {
    asked = g;
    Finish finish{.reason = Finish::Reason::length, .prompt_tokens = static_cast<int>(g.prompt.size())};
    std::vector<float> row(259);
    TokenConstraint* const bound = g.constraint;
    for (size_t i = 0; i < script.size();) {
      if (finish.completion_tokens == g.max_tokens) return finish;
      TokenId id = script[i];
      if (const auto forced = bound ? bound->forced() : std::nullopt) {
        id = *forced;
      } else {
        ++i;
        const auto mask = bound ? bound->mask() : std::span<const uint64_t>();
        if (!mask.empty() && (mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1) == 0) {
          ++refused;
          continue;
        }
      }
      if (bound) bound->accept(id);
      row.assign(259, 0);
      row[static_cast<size_t>(id)] = 5;
      const bool more = out({id, finish.completion_tokens++, g.want_logits ? std::span<const float>(row) : std::span<const float>()});
      if (more && std::ranges::find(g.stop_ids, id) == g.stop_ids.end() && !(bound && bound->ended())) continue;
      finish.reason = Finish::Reason::stop;
      return finish;
    }
    return finish;
  }
  int context_tokens() const override { return context; }
  const ModelConfig& config() const override { return config_; }
  EngineStats stats() const override { return {}; }
  std::vector<TokenId> script;
  Generation asked;
  int context = 100;
  int refused = 0;  // tokens of the script that a mask forbade

 private:
  ModelConfig config_{.architecture = "script"};
};

class EchoTemplate final : public ChatTemplate {  // "U:" and an open think block behind the generation prompt
 public:
  Result<std::string> render(const TemplateInput& input) const override { return std::string(input.add_generation_prompt ? "U:A:<think>\n" : "U:"); }
};

// "<role>content<|end|>" for every message, then "<assistant>".
class TurnTemplate final : public ChatTemplate {
 public:
  explicit TurnTemplate(bool thinks = false) : thinks_(thinks) {}
  Result<std::string> render(const TemplateInput& input) const override {
    const Json messages = Json::parse(input.messages_json);
    std::string text;
    for (const Json& message : messages) text += "<" + message["role"].get<std::string>() + ">" + message["content"].get<std::string>() + "<|end|>";
    return text + (input.add_generation_prompt ? "<assistant>" : "");
  }
  std::string_view source() const override { return thinks_ ? "<think>" : ""; }

 private:
  bool thinks_;
};

struct Said { std::string text, reasoning; std::vector<TokenLogprob> logprobs; Finish finish; std::vector<std::string> pieces; };

struct CompleterTest : testing::Test {
  ScriptEngine engine;
  CompleterParts parts{"m", std::make_shared<ByteTokenizer>(), nullptr, {.stop_ids = {256}}};
  ChatRequest chat;
  CompleterTest() { chat.messages_json = R"([{"role":"user","content":"hi"},{"role":"user","content":[{"type":"text","text":"x"}]}])"; }

  void script(std::string_view text, bool ends = true) {
    engine.script = ByteTokenizer().encode(text, {});
    if (ends) engine.script.push_back(256);
  }
  Said say(const ChatRequest& request) {
    Said said;
    auto finish = make_completer(engine, parts)->complete(request, [&](const Delta& d) {
      (d.kind == Delta::Kind::reasoning ? said.reasoning : said.text) += d.text;
      said.pieces.push_back(d.text);
      said.logprobs.insert(said.logprobs.end(), d.logprobs.begin(), d.logprobs.end());
      return true;
    }, {});
    EXPECT_TRUE(finish);
    if (finish) said.finish = *finish;
    return said;
  }
};
}  // namespace

TEST_F(CompleterTest, PlainLayoutAndPlainText) {
  script("hällo");
  const auto said = say(chat);
  EXPECT_EQ(said.text, "hällo");
  for (const auto& piece : said.pieces) EXPECT_NE(piece, "\xc3");  // whole characters only
  EXPECT_EQ(said.finish.reason, Finish::Reason::stop);
  EXPECT_EQ(engine.asked.prompt, ByteTokenizer().encode("user: hi\nuser: x\nassistant:", {}));
  EXPECT_EQ(engine.asked.n_valid_ids, 259);
  EXPECT_EQ(engine.asked.max_tokens, 100 - static_cast<int>(engine.asked.prompt.size()));
}

TEST_F(CompleterTest, StopStringsOverTokenBorders) {
  script("one STO two STOP three");
  chat.stop = {"STOP", "never"};
  auto said = say(chat);
  EXPECT_EQ(said.text, "one STO two ");
  EXPECT_EQ(said.finish.reason, Finish::Reason::stop);
  EXPECT_EQ(said.finish.completion_tokens, 16);
  script("one STO");  // held back, then let go
  said = say(chat);
  EXPECT_EQ(said.text, "one STO");
}

TEST_F(CompleterTest, ReasoningIsSplitOff) {
  parts.chat_template = std::make_shared<EchoTemplate>();
  script("I think</thin\nSTOP\n</think>\n\nSo: yes</think>.");
  chat.stop = {"STOP"};  // not in thoughts
  auto said = say(chat);
  EXPECT_EQ(said.reasoning, "I think</thin\nSTOP");
  EXPECT_EQ(said.text, "So: yes</think>.");
  EXPECT_EQ(engine.asked.snapshot_hints, std::vector<int>{2});
  script("endless thought\n", false);
  said = say(chat);
  EXPECT_EQ(said.reasoning, "endless thought\n");
  EXPECT_EQ(said.text, "");
}

TEST_F(CompleterTest, AnAnswerMayOpenItsOwnThinkBlockButARawCompletionHasNone) {
  const auto tokens = [&] {
    script("x\n");
    engine.script.insert(engine.script.begin(), {'\n', 257, '\n'});
    engine.script.insert(engine.script.end() - 1, {258, '\n', 'y'});
  };
  tokens();
  auto said = say(chat);
  EXPECT_EQ(said.reasoning, "x");
  EXPECT_EQ(said.text, "y");
  tokens();
  ChatRequest raw;
  raw.prompt = "p";
  said = say(raw);
  EXPECT_EQ(said.text, "\n<think>\nx\n</think>\ny");
  EXPECT_EQ(engine.asked.prompt, std::vector<TokenId>{'p'});
  raw.prompt_ids = {5, 6};
  say(raw);
  EXPECT_EQ(engine.asked.prompt, (std::vector<TokenId>{5, 6}));
  script("<thin");  // only looked like one
  EXPECT_EQ(say(chat).text, "<thin");
}

TEST(Reasoning, AnyCutGivesTheSameSplit) {
  const std::string text = " \n<think>\n\na<b\n</think></think>\n\n\nc\n<think>d</think>\n";
  for (size_t i = 0; i <= text.size(); ++i)
    for (size_t j = i; j <= text.size(); ++j) {
      ReasoningSplit split(false);
      std::string reasoning, content;
      split.push(text.substr(0, i), reasoning, content);
      split.push(text.substr(i, j - i), reasoning, content);
      split.push(text.substr(j), reasoning, content);
      split.flush(reasoning, content);
      ASSERT_EQ(reasoning, "a<b");
      ASSERT_EQ(content, "</think>\n\n\nc\n<think>d</think>\n");
    }
  EXPECT_TRUE(ends_inside_think("x<think>\n"));
  EXPECT_FALSE(ends_inside_think("x<think>\n\n</think>\n\n"));
  EXPECT_FALSE(ends_inside_think("user: what is <think> for?"));
  EXPECT_FALSE(ends_inside_think(""));
}

TEST_F(CompleterTest, DefaultsAndOverrides) {
  script("a");
  parts.defaults = {.stop_ids = {256}, .temperature = 0.6f, .top_p = 0.95f, .min_p = 0.01f, .repetition_penalty = 1.05f, .top_k = 20, .do_sample = true, .from_file = true};
  say(chat);
  EXPECT_EQ(engine.asked.sampling.temperature, 0.6f);
  EXPECT_EQ(engine.asked.sampling.top_k, 20);
  EXPECT_EQ(engine.asked.sampling.repetition_penalty, 1.05f);
  const auto seed = engine.asked.sampling.seed;
  say(chat);
  EXPECT_NE(engine.asked.sampling.seed, seed);
  chat.temperature = 0.1f;
  chat.top_p = 0.5f;
  chat.top_k = 3;
  chat.min_p = 0.2f;
  chat.seed = 9;
  chat.presence_penalty = 1;
  chat.max_tokens = 7;
  chat.ignore_eos = true;
  say(chat);
  EXPECT_EQ(engine.asked.sampling, (Sampling{.temperature = 0.1f, .top_p = 0.5f, .min_p = 0.2f, .top_k = 3, .repetition_penalty = 1.05f, .presence_penalty = 1, .seed = 9}));
  EXPECT_EQ(engine.asked.max_tokens, 7);
  EXPECT_TRUE(engine.asked.stop_ids.empty());
  parts.defaults.do_sample = false;
  chat.temperature.reset();
  say(chat);
  EXPECT_EQ(engine.asked.sampling.temperature, 0);
}

// Where the authors say nothing, the house's penalty is for those who say nothing either.
TEST_F(CompleterTest, RequestsThatSayHowToDrawGetNoPenaltyOfTheHouse) {
  script("a");
  parts.defaults = {.stop_ids = {256}, .temperature = 0.4f, .repetition_penalty = 1.05f, .from_file = false};
  say(chat);
  EXPECT_EQ(engine.asked.sampling.repetition_penalty, 1.05f);
  chat.temperature = 0;
  say(chat);
  EXPECT_EQ(engine.asked.sampling.repetition_penalty, 1.0f);
  chat.repetition_penalty = 1.2f;
  say(chat);
  EXPECT_EQ(engine.asked.sampling.repetition_penalty, 1.2f);
}

TEST_F(CompleterTest, TooLongAPromptNamesBothNumbers) {
  chat.prompt = std::string(100, 'x');
  const auto finish = make_completer(engine, parts)->complete(chat, [](const Delta&) { return true; }, {});
  ASSERT_FALSE(finish);
  EXPECT_EQ(read_prompt_too_long(finish.error()), std::make_pair(100, 100));
}

TEST_F(CompleterTest, LogprobsTravelWithTheirText) {
  script("h\xc3\xa4!");
  chat.top_logprobs = 2;
  const auto said = say(chat);
  ASSERT_EQ(said.logprobs.size(), 4u);
  const double sum = std::exp(5.0) + 258;
  EXPECT_NEAR(said.logprobs[0].logprob, 5 - std::log(sum), 1e-5);
  ASSERT_EQ(said.logprobs[0].top.size(), 2u);
  EXPECT_EQ(said.logprobs[0].top[0].first, "h");
  EXPECT_NEAR(said.logprobs[0].top[1].second, -std::log(sum), 1e-5);
  EXPECT_EQ(said.logprobs[1].bytes, "\xc3");
}

TEST_F(CompleterTest, AReaderWhoGoesAwayCancels) {
  script("abcdef");
  int n = 0;
  const auto finish = make_completer(engine, parts)->complete(chat, [&](const Delta&) { return ++n < 3; }, {});
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, Finish::Reason::cancelled);
  EXPECT_EQ(n, 3);
}

TEST_F(CompleterTest, SampledTokensStayTheTruthOfPastTurns) {
  parts.chat_template = std::make_shared<TurnTemplate>();
  auto completer = make_completer(engine, parts);
  // The answer is sampled in a way that encoding its text would not give: the tag as plain bytes.
  for (char c : std::string("a<think>b")) engine.script.push_back(static_cast<unsigned char>(c));
  engine.script.push_back(256);
  const auto ask = [&](const std::string& messages, const std::string& salt = "") {
    ChatRequest request;
    request.messages_json = messages;
    request.cache_salt = salt;
    EXPECT_TRUE(completer->complete(request, [](const Delta&) { return true; }, {}));
    return engine.asked.prompt;
  };
  const auto first = ask(R"([{"role":"user","content":"hi"}])");
  const std::string next = R"([{"role":"user","content":"hi"},{"role":"assistant","content":"a<think>b"},{"role":"user","content":"so?"}])";
  auto expected = first;
  expected.insert(expected.end(), engine.script.begin(), engine.script.end());
  const auto second = ask(next);
  ASSERT_GT(second.size(), expected.size());
  EXPECT_TRUE(std::ranges::equal(expected, std::span(second).first(expected.size())));
  EXPECT_NE(ask(next, "salt"), second);  // another space has not seen that answer
}

TEST_F(CompleterTest, TheFinalMessageIsContinued) {
  parts.chat_template = std::make_shared<TurnTemplate>();
  script("!");
  chat.messages_json = R"([{"role":"user","content":"hi"},{"role":"assistant","content":"well"}])";
  chat.continue_final_message = true;
  EXPECT_EQ(say(chat).text, "!");
  EXPECT_EQ(ByteTokenizer().decode(engine.asked.prompt, false), "<user>hi<|end|><assistant>well");
  chat.messages_json = R"([{"role":"user","content":"hi"}])";
  EXPECT_FALSE(make_completer(engine, parts)->complete(chat, [](const Delta&) { return true; }, {}));
}

TEST_F(CompleterTest, ABudgetEndsThinking) {
  parts.chat_template = std::make_shared<EchoTemplate>();
  script("one two three four");
  chat.reasoning_budget_tokens = 7;
  const Said said = say(chat);
  EXPECT_EQ(said.reasoning, "one two");
  EXPECT_EQ(said.text, " three four");
  EXPECT_EQ(said.finish.warnings.size(), 1u);
  chat.reasoning_budget_tokens = 0;
  EXPECT_EQ(say(chat).text, "one two three four");
}

TEST_F(CompleterTest, ThinkingThatRepeatsItselfIsEnded) {
  parts.chat_template = std::make_shared<EchoTemplate>();
  std::string text;
  engine.context = 1000;
  for (int i = 0; i < 90; ++i) text += "again ";
  script(text);
  const Said said = say(chat);
  EXPECT_FALSE(said.text.empty());
  ASSERT_EQ(said.finish.warnings.size(), 1u);
  EXPECT_NE(said.finish.warnings[0].find("repeated"), std::string::npos);
}

TEST_F(CompleterTest, AGrammarBindsTheAnswerAndNotTheThought) {
  parts.chat_template = std::make_shared<EchoTemplate>();
  chat.constraint = {Constraint::Kind::choice, R"(["yes","no"])"};
  script("thinking it over</think>maybe yes");
  const Said said = say(chat);
  EXPECT_EQ(said.reasoning, "thinking it over");
  EXPECT_EQ(said.text, "yes");
  EXPECT_GT(engine.refused, 0);
  EXPECT_EQ(said.finish.reason, Finish::Reason::stop);
}

TEST_F(CompleterTest, AModelMayOpenAThoughtBeforeAGrammar) {
  parts.chat_template = std::make_shared<TurnTemplate>(true);
  chat.constraint = {Constraint::Kind::regex, "[0-9]{3}"};
  chat.messages_json = R"([{"role":"user","content":"hi"}])";
  script("<think>hm</think>a1b2c3");
  Said said = say(chat);
  EXPECT_EQ(said.reasoning, "hm");
  EXPECT_EQ(said.text, "123");
  script("x4y5z6");
  said = say(chat);
  EXPECT_EQ(said.reasoning, "");
  EXPECT_EQ(said.text, "456");
}

TEST_F(CompleterTest, WhatCannotBeEnforcedIsRefused) {
  script("x");
  for (const Constraint& c : {Constraint{Constraint::Kind::regex, "a(?=b)"}, Constraint{Constraint::Kind::choice, "[]"}, Constraint{Constraint::Kind::json_schema, "{\"type\":3}"}}) {
    chat.constraint = c;
    EXPECT_FALSE(make_completer(engine, parts)->complete(chat, [](const Delta&) { return true; }, {}));
  }
}

TEST(Turns, TheLongestOfTheSameSpaceWithinItsBytes) {
  Turns turns(200);
  turns.remember({1, "ab", {1}});
  turns.remember({1, "abcd", {2}});
  turns.remember({2, "abcdef", {3}});
  EXPECT_EQ(turns.find(1, "abcdefg")->ids, std::vector<TokenId>{2});
  EXPECT_EQ(turns.find(1, "abc")->ids, std::vector<TokenId>{1});
  EXPECT_EQ(turns.find(1, "b"), nullptr);
  turns.remember({1, std::string(190, 'x'), {}});
  EXPECT_EQ(turns.find(2, "abcdef"), nullptr);
}

TEST_F(CompleterTest, ToolsReachATemplateThatKnowsNone) {
  parts.chat_template = std::make_shared<TurnTemplate>();
  engine.context = 1000;
  script(R"(<tool_call>{"name":"f","arguments":{"n":1}}</tool_call>)");
  chat.messages_json = R"([{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"n\":2}"}}]},{"role":"tool","tool_call_id":"c","content":"two"}])";
  chat.tools_json = R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}}])";
  std::string arguments, name;
  const auto completer = make_completer(engine, parts);
  const auto finish = completer->complete(chat, [&](const Delta& d) {
    if (d.kind == Delta::Kind::tool_call) arguments += d.text, name += d.tool_name;
    return true;
  }, {});
  ASSERT_TRUE(finish) << finish.error().message;
  EXPECT_EQ(name, "f");
  EXPECT_EQ(arguments, R"({"n":1})");
  EXPECT_EQ(finish->reason, Finish::Reason::tool_call);
  const std::string prompt = ByteTokenizer().decode(engine.asked.prompt, false);
  EXPECT_NE(prompt.find(R"("name":"f","parameters")"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find(R"(<tool_call>)"), std::string::npos);
  EXPECT_NE(prompt.find(R"("arguments":{"n":2})"), std::string::npos);
  EXPECT_NE(prompt.find("<tool_response>"), std::string::npos);
  chat.tools_json.clear();  // past calls stay readable
  script("ok");
  EXPECT_TRUE(completer->complete(chat, [](const Delta&) { return true; }, {}));
}
