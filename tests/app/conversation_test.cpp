// conversation_test: messages, saving and loading, streaming; and the figures of the self-check.
#include "app/conversation.h"
#include <gtest/gtest.h>
#include <cmath>
#include "app/console.h"
#include "app/probabilities.h"
#include "app/selftest.h"

namespace {

class Scripted final : public Completer {
 public:
  explicit Scripted(std::vector<Delta> deltas) : deltas_(std::move(deltas)) {}
  Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token) override {
    seen = request;
    for (const Delta& delta : deltas_)
      if (!out(delta)) return Error{Code::cancelled, "gone"};
    return Finish{};
  }
  std::vector<ModelInfo> models() const override { return {}; }
  ChatRequest seen;

 private:
  std::vector<Delta> deltas_;
};

std::string streamed(const std::vector<Delta>& deltas, bool terminal, bool color) {
  char* data = nullptr;
  size_t size = 0;
  FILE* file = open_memstream(&data, &size);
  Scripted completer(deltas);
  EXPECT_TRUE(stream_answer(completer, {}, {.text = file, .thinking = terminal ? file : nullptr, .text_is_terminal = terminal, .color = color}, {}));
  std::fclose(file);
  const std::string text(data, size);
  std::free(data);
  return text;
}

}  // namespace

TEST(Conversation, SavesAndLoads) {
  Options settings;
  settings.temperature = 0.5f;
  settings.seed = 9;
  Conversation talk("Be brief.");
  talk.say("Hi \"there\"\n");
  talk.answered({"Hello", "hm", {}});
  const std::string text = talk.save(settings).dump();
  Options other;
  Conversation again("");
  ASSERT_TRUE(again.load("x.json", text, other)) << text;
  EXPECT_EQ(again.save(other), talk.save(settings));
  EXPECT_EQ(again.system(), "Be brief.");
  EXPECT_TRUE(again.drop_answer());
  EXPECT_FALSE(again.drop_answer());
  again.drop_question();
  EXPECT_TRUE(again.empty());
}

TEST(Conversation, ABadFileChangesNothing) {
  Options settings;
  Conversation talk("s");
  talk.say("m");
  const Json before = talk.save(settings);
  for (const char* text : {"", "[]", "{}", "{\"messages\":[{}]}", "{\"messages\":[{\"role\":\"user\",\"content\":1}]}", "{\"messages\":[],\"settings\":{\"temp\":\"hot\"}}",
                           "{\"messages\":[],\"settings\":{\"nonsense\":1}}"})
    EXPECT_FALSE(talk.load("x.json", text, settings)) << text;
  EXPECT_EQ(talk.save(settings), before);
}

TEST(Conversation, RequestCarriesWhatWasAsked) {
  Options options;
  options.top_k = 4;
  options.think = false;
  options.stop = {"END"};
  Conversation talk("s");
  talk.say("m");
  const ChatRequest request = make_request(options, talk);
  EXPECT_EQ(request.messages_json, R"([{"role":"system","content":"s"},{"role":"user","content":"m"}])");
  EXPECT_EQ(request.template_kwargs_json, R"({"enable_thinking":false})");
  EXPECT_EQ(request.top_k, 4);
  EXPECT_FALSE(request.temperature);
  EXPECT_EQ(request.stop, std::vector<std::string>{"END"});
}

TEST(Conversation, ThinkingIsDimmedAndEscapesAreShown) {
  const std::vector<Delta> deltas{{Delta::Kind::reasoning, "hm", {}}, {Delta::Kind::text, "a\033[31mb", {}}};
  EXPECT_EQ(streamed(deltas, true, true), "\033[2mhm\033[0m\n\na\xe2\x90\x9b[31mb");
  EXPECT_EQ(streamed(deltas, true, false), "hm\n\na\xe2\x90\x9b[31mb");
  EXPECT_EQ(streamed(deltas, false, false), "a\033[31mb");  // a pipe gets what the model said
}

TEST(Console, Figures) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(98362432), "98.36 MB");
  EXPECT_EQ(human_bytes(20e9), "20.00 GB");
  EXPECT_EQ(human_seconds(42), "42 s");
  EXPECT_EQ(human_seconds(190), "3 min 10 s");
  EXPECT_EQ(human_seconds(7500), "2 h 5 min");
  EXPECT_EQ(human_seconds(-1), "?");
}

TEST(Probabilities, AgreeWithThePaper) {
  const float p[] = {0, 1, 2}, q[] = {0, 1, 2.5f};
  EXPECT_NEAR(log_probability(p, 2), -0.40760596, 1e-6);
  EXPECT_NEAR(divergence(p, p), 0, 1e-12);
  EXPECT_GT(divergence(p, q), 0.01);
  EXPECT_EQ(best(q), 2);
  EXPECT_FLOAT_EQ(largest_difference(p, q), 0.5f);
  EXPECT_TRUE(std::isinf(largest_difference(p, std::span(q).first(2))));
  EXPECT_TRUE(std::isinf(log_probability(p, 7)));
}

TEST(Selftest, TiesAreToldFromDifferences) {
  const auto trial = [](std::vector<TokenId> ids, float gap) { return Trial{std::move(ids), std::vector<float>(3, gap), {1, 2}, {}}; };
  const std::vector<Trial> a{trial({1, 2, 3}, 1), trial({1, 2, 3}, 1), trial({1, 2, 3}, 1e-5f)}, b{trial({1, 2, 3}, 1), trial({1, 5, 3}, 1), trial({1, 5, 3}, 1)};
  const Comparison c = compare(a, b);
  EXPECT_EQ(c.equal, 1);
  EXPECT_EQ(c.different, 1);
  EXPECT_EQ(c.ties, 1);
  EXPECT_EQ(compare({&a[0], 1}, {&b[0], 1}).text(), "1 of 1 sequences equal, logits bit for bit");
}
