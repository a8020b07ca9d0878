// soak: server, completer and engine together under many clients who read, dawdle or leave; the sanitizers run it too. A longer one on a
// real model is tests/soak/run.py.
#include <random>
#include "engine/fakes.h"
#include "wire/harness.h"

namespace {
constexpr std::string_view characters = "abcdefghijklmnopqrstuvwxyz0123456789{}[]\":,.-_ ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr TokenId end_id = 89;  // the fake model's last valid id; those before it that are no character are control tokens

class SmallTokenizer final : public Tokenizer {
 public:
  std::vector<TokenId> encode(std::string_view text, EncodeOptions) const override {
    std::vector<TokenId> ids;
    for (const char c : text) ids.push_back(static_cast<TokenId>(std::min(characters.find(c), characters.size() - 1)));
    return ids;
  }
  std::string_view bytes(TokenId id, bool) const override { return id >= 0 && static_cast<size_t>(id) < characters.size() ? characters.substr(static_cast<size_t>(id), 1) : ""; }
  bool is_special(TokenId id) const override { return static_cast<size_t>(id) >= characters.size(); }
  std::optional<TokenId> find(std::string_view) const override { return {}; }
  int size() const override { return end_id + 1; }
  std::optional<TokenId> bos() const override { return {}; }
  std::optional<TokenId> eos() const override { return end_id; }
};

std::string body_of(int number) {
  const Json schema = {{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", {{"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}, {"required", {"n"}}}}}}};
  Json body = {{"stream", true}, {"seed", number}, {"temperature", 1}, {"max_tokens", 10 + number % 30}, {"messages", {{{"role", "user"}, {"content", std::string(static_cast<size_t>(20 + 7 * number), 'x')}}}}};
  if (number % 4 == 0) body["response_format"] = schema;
  return body.dump();
}

std::string text_of(const Reply& reply) {
  std::string text;
  for (const Json& event : events(reply.body)) {
    if (!event.is_object() || event["choices"].empty()) continue;
    text += event["choices"][0]["delta"].value("content", "");
  }
  return text;
}
}  // namespace

TEST(Soak, EveryStreamEqualsItsSoloRunAndNothingIsLeft) {
  const fake::Kind kind{true, true};
  auto watch = std::make_shared<fake::Watch>();
  auto engine = make_engine(std::make_unique<fake::FakeDevice>(kind, watch), std::make_unique<fake::FakeModel>(kind, 4096), {.max_sequences = 8, .page_tokens = 8});
  ASSERT_TRUE(engine);
  const auto completer = make_completer(**engine, {"small", std::make_shared<SmallTokenizer>(), nullptr, {.stop_ids = {end_id}}});
  constexpr int n_bodies = 16, n_clients = 16, n_requests = 12;
  std::vector<std::string> solo;
  {
    TestServer server(*completer, {.max_connections = 64});
    for (int i = 0; i < n_bodies; ++i) {
      const Reply reply = Client(server.port).post(chat_path, body_of(i));
      ASSERT_EQ(reply.status, 200) << reply.body;
      solo.push_back(text_of(reply));
    }
    std::vector<std::future<void>> clients;
    for (int c = 0; c < n_clients; ++c)
      clients.push_back(std::async(std::launch::async, [&, c] {
        std::mt19937 random(static_cast<unsigned>(c));
        for (int r = 0; r < n_requests; ++r) {
          const int number = static_cast<int>(random() % n_bodies);
          Client client(server.port);
          client.start_post(chat_path, body_of(number));
          if (random() % 4 == 0) continue;  // leaves at once
          if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 50));
          const Reply reply = client.reply();
          ASSERT_EQ(reply.status, 200) << reply.body;
          EXPECT_EQ(text_of(reply), solo[static_cast<size_t>(number)]);
          EXPECT_TRUE(reply.body.ends_with("data: [DONE]\n\n"));
        }
      }));
    for (auto& client : clients) client.get();
    EXPECT_TRUE(eventually([&] { return (*engine)->stats().running == 0 && (*engine)->stats().waiting == 0; }));
  }
  const EngineStats stats = (*engine)->stats();
  EXPECT_EQ(stats.pages_free, stats.pages_total);
  EXPECT_EQ(watch->slot_errors, 0);
}
