// mask: requests walked whole (G3), spans, names, known values, look-alikes; F8, F13, F14, F15, F18, F25, F26, F27 and R6 of privacy.md.
#include <algorithm>
#include "privacy/mask_spans.h"
#include "privacy/masked.h"

namespace {

const Sensitive jane = {"Jane Roe", PrivacyClass::person};
const Sensitive mail = {"jane.roe@example.org", PrivacyClass::email};

std::vector<std::string> paths_of(const Walk& walk) {
  std::vector<std::string> out;
  for (const TextField& field : walk.fields()) out.push_back(field.path + "=" + *field.text);
  return out;
}
Walk walked(const ChatRequest& request) {
  auto walk = Walk::of(request);
  if (!walk) ADD_FAILURE() << walk.error().message;
  CHECK(walk.has_value());
  return std::move(*walk);
}
// The field that a refusal names.
std::string refused_at(const Json& messages) {
  auto walk = Walk::of(chat(messages));
  if (walk) return "";
  EXPECT_EQ(walk.error().code, Code::unsupported);
  return walk.error().message.substr(0, walk.error().message.find(": "));
}
Json with(const Json& member) {
  Json message = {{"role", "user"}, {"content", "x"}};
  message.update(member);
  return Json::array({message});
}
Json calls(const Json& arguments) {
  return {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({{{"id", "call_1"}, {"type", "function"}, {"function", {{"name", "send"}, {"arguments", arguments}}}}})}};
}
std::string arguments_of(const Masked& masked, size_t message) { return masked.clean.messages()[message]["tool_calls"][0]["function"]["arguments"]; }

std::string grown(const std::string& text, const std::string& span) {
  MaskSpan found{text.find(span), text.find(span) + span.size(), PrivacyClass::person};
  grow(text, found);
  return text.substr(found.begin, found.end - found.begin);
}

}  // namespace

TEST(Walk, EveryTextOfARequest) {
  ChatRequest request = chat(Json::array({{{"role", "system"}, {"content", "s"}},
                                          {{"role", "user"}, {"name", "nn"}, {"content", Json::array({{{"type", "text"}, {"text", "p0"}}, {{"type", "image_url"}, {"image_url", {{"url", "https://x/y"}}}}})}},
                                          {{"role", "assistant"}, {"reasoning_content", "think"}, {"content", nullptr}, {"refusal", nullptr},
                                           {"tool_calls", Json::array({{{"id", "c1"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", R"({"k":["v",12345678],"n":1.5,"pin":7311})"}}}}})}},
                                          {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "result"}}}));
  request.tools_json = R"([{"type":"function","function":{"name":"f","description":"d","strict":true,"parameters":{"type":"object","properties":{"who":{"enum":["e1"],"default":"d1","examples":["x1"],"const":"c1"}}}}}])";
  request.constraint = {Constraint::Kind::json_schema, R"({"type":"object","properties":{"a":{"const":"b"}}})"};
  request.tool_choice = {ToolChoice::Kind::named, "f", true};
  request.stop = {"stop0"};
  const Walk walk = walked(request);
  const std::string call = "messages[2].tool_calls[0]", parameters = "tools[0].function.parameters=";
  const std::vector<std::string> expected = {"messages[0].content=s",
                                             "messages[1].name=nn",
                                             "messages[1].content[0].text=p0",
                                             "messages[2].reasoning_content=think",
                                             call + ".id=c1",
                                             call + ".function.name=f",
                                             call + ".function.arguments=k",
                                             call + ".function.arguments=v",
                                             call + ".function.arguments=12345678",
                                             call + ".function.arguments=n",
                                             call + ".function.arguments=pin",
                                             call + ".function.arguments=7311",
                                             "messages[3].tool_call_id=c1",
                                             "messages[3].content=result",
                                             "tools[0].function.name=f",
                                             "tools[0].function.description=d",
                                             parameters + "who",
                                             parameters + "e1",
                                             parameters + "d1",
                                             parameters + "examples",
                                             parameters + "x1",
                                             parameters + "c1",
                                             "tool_choice.function.name=f",
                                             "response_format=a",
                                             "response_format=b",
                                             "stop[0]=stop0"};
  EXPECT_EQ(paths_of(walk), expected);
  EXPECT_EQ(walk.opaque(), std::vector<std::string>{"messages[1].content[1]"});
  EXPECT_EQ(walk.fields()[13].role, "tool");
  EXPECT_EQ(walk.fields()[11].lead, "pin");
}

TEST(Walk, CompletionsAndTokenIds) {
  ChatRequest request;
  request.prompt = "before";
  request.suffix = "behind";
  EXPECT_EQ(paths_of(walked(request)), (std::vector<std::string>{"prompt=before", "suffix=behind"}));
  request.prompt.reset();
  request.prompt_ids = {1, 2, 3};
  EXPECT_EQ(walked(request).opaque(), std::vector<std::string>{"prompt"});
}

TEST(Walk, UnreadableArgumentsAreText) {
  const Walk walk = walked(chat(Json::array({calls("{\"to\": \"Jane"), calls(std::string(1000, '[') + std::string(1000, ']'))})));
  const auto paths = paths_of(walk);
  EXPECT_EQ(paths[2], "messages[0].tool_calls[0].function.arguments={\"to\": \"Jane");
  EXPECT_EQ(walk.fields()[5].text->size(), 2000u);
}

// G3: what is not known is not sent, and the refusal names the place but none of the text.
TEST(Walk, UnknownShapesAreRefused) {
  EXPECT_EQ(refused_at(with({{"role", "oracle"}})), "messages[0].role");
  EXPECT_EQ(refused_at(Json::array({{{"content", "x"}}})), "messages[0].role");
  EXPECT_EQ(refused_at(with({{"content", nullptr}})), "messages[0].content");
  EXPECT_EQ(refused_at(with({{"content", 7}})), "messages[0].content");
  EXPECT_EQ(refused_at(Json::array({{{"role", "assistant"}, {"content", nullptr}}})), "messages[0].content");
  EXPECT_EQ(refused_at(Json::array({{{"role", "user"}}})), "messages[0].content");
  EXPECT_EQ(refused_at(with({{"name", nullptr}})), "messages[0].name");
  EXPECT_EQ(refused_at(with({{"mystery", "x"}})), "messages[0].mystery");
  EXPECT_EQ(refused_at(with({{"mystery", nullptr}})), "messages[0].mystery");
  EXPECT_EQ(refused_at(with({{"Jane Roe 42", "x"}})), "messages[0].*");
  EXPECT_EQ(refused_at(with({{"content", Json::array({{{"type", "hologram"}}})}})), "messages[0].content[0].type");
  EXPECT_EQ(refused_at(with({{"content", Json::array({"text"})}})), "messages[0].content[0]");
  EXPECT_EQ(refused_at(with({{"content", Json::array({{{"type", "text"}, {"text", nullptr}}})}})), "messages[0].content[0].text");
  EXPECT_EQ(refused_at(with({{"content", Json::array({{{"type", "text"}, {"text", "a"}, {"extra", "b"}}})}})), "messages[0].content[0].extra");
  EXPECT_EQ(refused_at(with({{"tool_calls", "x"}})), "messages[0].tool_calls");
  EXPECT_EQ(refused_at(Json::array({7})), "messages[0]");
  Json call = calls("{}");
  call["tool_calls"][0]["type"] = "custom";
  EXPECT_EQ(refused_at(Json::array({call})), "messages[0].tool_calls[0].type");
  call = calls(Json(7));
  EXPECT_EQ(refused_at(Json::array({call})), "messages[0].tool_calls[0].function.arguments");
  call = calls("{}");
  call["tool_calls"][0]["function"]["more"] = "x";
  EXPECT_EQ(refused_at(Json::array({call})), "messages[0].tool_calls[0].function.more");
  ChatRequest request = says("x");
  for (const auto& [tools, field] : std::vector<std::pair<std::string, std::string>>{{"{}", "tools"}, {"[1]", "tools[0]"}, {R"([{"type":"web_search"}])", "tools[0]"}, {R"([{"type":"function","function":{}}])", "tools[0].function.name"},
                                                                                     {R"([{"type":"function","function":{"name":"f","odd":1}}])", "tools[0].function.odd"}, {R"([{"type":"function","function":{"name":"f"},"cache":{}}])", "tools[0].cache"}}) {
    request.tools_json = tools;
    auto walk = Walk::of(request);
    ASSERT_FALSE(walk) << tools;
    EXPECT_EQ(walk.error().message.substr(0, walk.error().message.find(": ")), field);
  }
  request.tools_json.clear();
  request.messages_json = "[";
  EXPECT_FALSE(Walk::of(request));
}

TEST(Mask, SpansGrowToTheEdgesOfRuns) {
  EXPECT_EQ(grown("see xJane Roex now", "Jane Roe"), "xJane Roex");
  EXPECT_EQ(grown("Zoë", "Zo"), "Zoë");
  EXPECT_EQ(grown("Zoe\u0308 x", "Zo"), "Zoe\u0308");
  EXPECT_EQ(grown("(Jane Roe)", "Jane Roe"), "Jane Roe");
  EXPECT_EQ(grown("ask_jane_roe", "jane"), "jane");
  EXPECT_EQ(grown("請找陳小明談", "陳小明"), "陳小明");
  EXPECT_EQ(grown("電話0912345678打", "0912345678"), "0912345678");
  EXPECT_EQ(grown("card４０００x", "４０００"), "card４０００x");
  EXPECT_EQ(grown("a Jane\u200bRoe", "Jane"), "Jane\u200bRoe");
  EXPECT_EQ(grown("pw abc!def ", "abc!"), "abc!def");  // a placeholder before "def" would not stand free
  EXPECT_EQ(grown("陳小明abc", "陳小明"), "陳小明abc");
  const auto joined = settled("陳小明林大同 x", {{0, 9, PrivacyClass::person}, {9, 18, PrivacyClass::person}});
  ASSERT_EQ(joined.size(), 1u);  // two placeholders would run into one another
  EXPECT_EQ(joined[0].end, 18u);
}

TEST(Mask, ReplacesAndRestores) {
  const auto vault = new_vault();
  const std::string text = "Mail Jane Roe (jane.roe@example.org), Jane Roe's address.";
  const Masked masked = mask(*vault, says(text), {mail, jane});
  const std::string sent = user_text(masked);
  EXPECT_EQ(sent.find("Roe"), std::string::npos);
  EXPECT_EQ(sent.find("example.org"), std::string::npos);
  EXPECT_EQ(find_placeholders(sent).size(), 3u);
  EXPECT_EQ(restored(masked, sent), text);
  EXPECT_EQ(masked.counts.at(PrivacyClass::person), 2);
  EXPECT_EQ(masked.counts.at(PrivacyClass::email), 1);
  EXPECT_EQ(masked.ledger.size(), 2u);
}

TEST(Mask, WhatIsAllowedStays) {
  const auto vault = new_vault();
  const ChatRequest request = says("Jane Roe and jane.roe@example.org");
  Walk walk = walked(request);
  const auto findings = findings_in(walk, {jane, mail});
  auto masked = Masker(*vault, {}).mask(request, std::move(walk), findings, std::vector<Action>{Action::allow, Action::mask}, 1);
  ASSERT_TRUE(masked) << masked.error().message;
  EXPECT_EQ(user_text(*masked), "Jane Roe and " + vault->placeholder(PrivacyClass::email, mail.text));
}

// Fails closed: what is decided otherwise, or wrongly told, is not masked but refused.
TEST(Mask, NeverGuesses) {
  const auto vault = new_vault();
  const ChatRequest request = says("Jane Roe");
  const auto attempt = [&](const std::function<void(std::vector<FieldFinding>&, std::vector<Action>&)>& change) {
    Walk walk = walked(request);
    auto findings = findings_in(walk, {jane});
    std::vector<Action> actions(findings.size(), Action::mask);
    change(findings, actions);
    return Masker(*vault, {}).mask(request, std::move(walk), findings, actions, 1).has_value();
  };
  EXPECT_TRUE(attempt([](auto&, auto&) {}));
  for (const Action action : {Action::ask, Action::local, Action::refuse}) EXPECT_FALSE(attempt([&](auto&, auto& actions) { actions[0] = action; }));
  EXPECT_FALSE(attempt([](auto&, auto& actions) { actions.clear(); }));
  EXPECT_FALSE(attempt([](auto& findings, auto&) { findings[0].place = 5; }));
  EXPECT_FALSE(attempt([](auto& findings, auto&) { findings[0].field = "prompt"; }));
  EXPECT_FALSE(attempt([](auto& findings, auto&) { findings[0].finding.end = 50; }));
}

TEST(Mask, OpaquePartsNeedADecision) {
  const auto vault = new_vault();
  const ChatRequest request = chat(Json::array({{{"role", "user"}, {"content", Json::array({{{"type", "text"}, {"text", "Jane Roe"}}, {{"type", "input_audio"}, {"input_audio", {{"data", "AAAA"}}}}})}}}));
  EXPECT_FALSE(try_mask(*vault, request, {jane}));
  Walk walk = walked(request);
  auto findings = findings_in(walk, {jane});
  Finding media;
  media.cls = PrivacyClass::unscanned;
  findings.push_back({media, walk.opaque()[0], "user"});
  auto masked = Masker(*vault, {}).mask(request, std::move(walk), findings, std::vector<Action>{Action::mask, Action::mask}, 1);
  ASSERT_TRUE(masked);
  EXPECT_EQ(masked->clean.messages().dump().find("AAAA"), std::string::npos);
}

// F8: every mention, not the first.
TEST(Mask, EveryMention) {
  const auto vault = new_vault();
  const std::string key = std::string("zq") + "81-Very-Private";
  const ChatRequest request = says(key + " and again " + key + ", \"" + key + "\"");
  Walk walk = walked(request);
  std::vector<FieldFinding> findings = findings_in(walk, {{key, PrivacyClass::secret}});
  findings.resize(1);  // the detector saw one
  auto masked = Masker(*vault, {}).mask(request, std::move(walk), findings, std::vector<Action>{Action::mask}, 1);
  ASSERT_TRUE(masked);
  EXPECT_EQ(user_text(*masked).find("Private"), std::string::npos);
  EXPECT_EQ(restored(*masked, user_text(*masked)), key + " and again " + key + ", \"" + key + "\"");
}

// F13, F14: numbers that start anew with every message name the wrong person.
TEST(Mask, OneNamePerPersonThroughoutTheConversation) {
  const auto vault = new_vault();
  const Sensitive john = {"John Doe", PrivacyClass::person};
  Json messages = Json::array({{{"role", "user"}, {"content", "I am Jane Roe."}}, {{"role", "assistant"}, {"content", "Hello Jane Roe."}}, {{"role", "user"}, {"content", "And I am John Doe."}}});
  const Masked first = mask(*vault, chat(messages), {jane, john});
  const std::string person = vault->placeholder(jane.cls, jane.text), other = vault->placeholder(john.cls, john.text);
  EXPECT_NE(person, other);
  EXPECT_EQ(content(first, 1), "I am " + person + ".");
  EXPECT_EQ(content(first, 3), "And I am " + other + ".");
  EXPECT_EQ(restored(first, person + " and " + other), "Jane Roe and John Doe");
  messages.push_back({{"role", "user"}, {"content", "Who was first?"}});
  const Masked second = mask(*vault, chat(messages), {jane, john});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(second.clean.messages()[i], first.clean.messages()[i]);  // the upstream's cache stays warm
}

// F15: nothing of one conversation comes back in another.
TEST(Mask, ConversationsAreApart) {
  const auto one = new_vault('1'), two = new_vault('2');
  const Masked a = mask(*one, says("Jane Roe"), {jane}), b = mask(*two, says("Jane Roe"), {jane});
  EXPECT_NE(user_text(a), user_text(b));
  EXPECT_EQ(restored(b, user_text(a)), user_text(a));
}

// R6: known before, found by no detector now.
TEST(Mask, KnownValuesRecur) {
  const auto vault = new_vault();
  mask(*vault, says("I am Jane Roe, 4000 0076 5432 1097; 陳小明"), {jane, {"4000 0076 5432 1097", PrivacyClass::card}, {"陳小明", PrivacyClass::person}});
  const std::string person = vault->placeholder(jane.cls, jane.text), card = vault->placeholder(PrivacyClass::card, "4000007654321097"), chen = vault->placeholder(PrivacyClass::person, "陳小明");
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{{"Ms Roe called", "Ms " + person + " called"}, {"JANE ROE", person}, {"jane  roe", person}, {"Jane\u200b Roe", person}, {"Ｊａｎｅ Ｒｏｅ!", person + "!"},
                                                                                       {"Jane's", person + "'s"}, {"JaneRoe", person}, {"4000-0076-5432-1097", card}, {"no 4000007654321097.", "no " + card + "."}, {"我是小明", "我是" + chen}, {"陳 小明", chen}}) {
    const Masked masked = mask(*vault, says(text), {});
    EXPECT_EQ(user_text(masked), expected) << text;
    EXPECT_GE(masked.counts.size(), 1u);
  }
  for (const std::string text : {"a doe and a roe deer", "janet roebuck", "4000007654321098", "小心明天"}) EXPECT_EQ(user_text(mask(*vault, says(text), {})), text);
}

// F18, R4: the history's arguments, where a string or a number is masked and the JSON stays JSON.
TEST(Mask, ArgumentsStayJson) {
  const auto vault = new_vault();
  const std::string quoted = "Zoë \"Zed\" O\\Hara";
  const Json arguments = {{"to", "for Jane Roe"}, {"card", 4000007654321097}, {"who", {{quoted, quoted + "!"}}}, {"n", 3}, {"Jane Roe", false}};
  const Masked masked = mask(*vault, chat(Json::array({calls(arguments.dump()), {{"role", "tool"}, {"tool_call_id", "call_1"}, {"content", "sent to Jane Roe"}}})),
                             {jane, {quoted, PrivacyClass::person}, {"4000007654321097", PrivacyClass::card}});
  const Json sent = Json::parse(arguments_of(masked, 1), nullptr, false);
  ASSERT_FALSE(sent.is_discarded());
  EXPECT_EQ(sent["to"], "for " + vault->placeholder(jane.cls, jane.text));
  EXPECT_TRUE(sent["card"].is_string());
  EXPECT_EQ(sent["n"], 3);
  EXPECT_EQ(masked.clean.messages().dump().find("Roe"), std::string::npos);
  const Json back = Json::parse(restored(masked, arguments_of(masked, 1), {}, Restorer::Lane::arguments), nullptr, false);
  Json expected = arguments;
  expected["card"] = "4000007654321097";
  EXPECT_EQ(back, expected);
}

// F26: a duplicate key inside arguments cannot hide one of its values.
TEST(Mask, DuplicateKeysOfArguments) {
  const auto vault = new_vault();
  const Masked masked = mask(*vault, chat(Json::array({calls(R"({"a":"secret Jane Roe","a":"x"})")})), {{"nothing", PrivacyClass::person}});
  EXPECT_EQ(arguments_of(masked, masked.clean.messages().size() - 1), R"({"a":"x"})");
}

TEST(Mask, ToolNamesAndKeysComeBackLetterForLetter) {
  const auto vault = new_vault();
  ChatRequest request = chat(Json::array({{{"role", "user"}, {"content", "Ask Jane Roe"}}, calls(R"({"jane_roe":"Jane Roe"})")}));
  request.tools_json = R"([{"type":"function","function":{"name":"ask_jane_roe","description":"asks Jane Roe","parameters":{"type":"object","properties":{"jane_roe":{"enum":["JANE ROE"]}},"required":["jane_roe"]}}}])";
  request.tool_choice = {ToolChoice::Kind::named, "ask_jane_roe", true};
  const Masked masked = mask(*vault, request, {jane, {"jane_roe", PrivacyClass::person}, {"JANE ROE", PrivacyClass::person}});
  const Json& function = masked.clean.tools()[0]["function"];
  const std::string name = function["name"], key = function["parameters"]["properties"].begin().key();
  EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; })) << name;
  EXPECT_EQ(name.find("roe"), std::string::npos);
  EXPECT_EQ(restored(masked, name), "ask_jane_roe");
  EXPECT_EQ(masked.clean.settings().tool_choice.name, name);
  EXPECT_EQ(function["parameters"]["required"][0], key);
  EXPECT_EQ(restored(masked, key), "jane_roe");
  EXPECT_EQ(restored(masked, function["parameters"]["properties"][key]["enum"][0]), "JANE ROE");
  EXPECT_EQ(function["description"], "asks " + vault->placeholder(jane.cls, jane.text));
  EXPECT_EQ(restored(masked, arguments_of(masked, 2), {}, Restorer::Lane::arguments), R"({"jane_roe":"Jane Roe"})");
}

// F25, example 37.
TEST(Mask, LookAlikesComeBackUnchanged) {
  const auto vault = new_vault();
  const std::string issued = vault->placeholder(jane.cls, jane.text), foreign = new_vault('z')->placeholder(PrivacyClass::card, "x");
  for (const std::string& typed : {std::string("PERSON_7KQ2M"), issued, foreign, "the " + issued + "s"}) {
    const std::string text = typed + " says hi to Jane Roe";
    const Masked masked = mask(*vault, says(text), {jane});
    const std::string sent = user_text(masked);
    EXPECT_EQ(sent.find("Jane"), std::string::npos);
    EXPECT_EQ(restored(masked, sent), text);
    EXPECT_EQ(masked.counts.size(), 1u);
    EXPECT_TRUE(sent.ends_with(issued));
    EXPECT_EQ(std::count(sent.begin(), sent.end(), '_'), 2);
  }
  const Masked untouched = mask(*new_vault('y'), says(foreign + " alone"), {});
  EXPECT_EQ(untouched.clean.messages().back()["content"], foreign + " alone");
}

TEST(Mask, TheNoteComesOnceAndOnlyWhenNeeded) {
  const auto vault = new_vault();
  const Json system = {{"role", "system"}, {"content", "Be kind."}}, user = {{"role", "user"}, {"content", "Jane Roe"}};
  const Masked before = mask(*new_vault('n'), chat(Json::array({system, {{"role", "user"}, {"content", "hi"}}})), {jane});
  EXPECT_EQ(content(before, 0), "Be kind.");
  const Masked masked = mask(*vault, chat(Json::array({system, user})), {jane});
  EXPECT_EQ(masked.clean.messages().size(), 2u);
  EXPECT_TRUE(content(masked, 0).ends_with("\n\nBe kind."));
  EXPECT_TRUE(find_placeholders(content(masked, 0)).empty());
  EXPECT_EQ(mask(*vault, chat(Json::array({user})), {jane}).clean.messages().size(), 2u);
  Policy silent;
  silent.restore.system_note = false;
  EXPECT_EQ(content(mask(*vault, chat(Json::array({system, user})), {jane}, silent), 0), "Be kind.");
}

// Every text of a request, known or not, is gone from what is left for the upstream.
TEST(Mask, SettingsHoldNoText) {
  const auto vault = new_vault();
  ChatRequest request = says("hi");
  const std::string mark = "MARKED";
  request.model = request.template_kwargs_json = request.cache_salt = request.tenant = mark;
  request.text_bias = {{mark, 1.0f}};
  request.dry_breakers = {{mark}};
  request.gate = {mark, mark, mark, mark, mark, mark, 7, {mark}, {}};
  request.temperature = 0.5f;
  request.max_tokens = 9;
  request.seed = 11;
  request.top_logprobs = 3;
  const Masked masked = mask(*vault, request, {});
  const ChatRequest& left = masked.clean.settings();
  for (const std::string& text : {left.model, left.messages_json, left.tools_json, left.template_kwargs_json, left.prompt.value_or(""), left.suffix.value_or(""), left.tool_choice.name, left.constraint.text, left.cache_salt, left.tenant,
                                  left.gate.endpoint, left.gate.key, left.gate.conversation, left.gate.stricter, left.gate.consent, left.gate.body_sha256}) {
    EXPECT_EQ(text, "");
  }
  EXPECT_TRUE(left.text_bias.empty() && left.stop.empty() && !left.dry_breakers && left.gate.unknown_fields.empty() && left.prompt_ids.empty());
  EXPECT_EQ(left.temperature, 0.5f);
  EXPECT_EQ(left.max_tokens, 9);
  EXPECT_EQ(left.seed, 11u);
  EXPECT_EQ(left.top_logprobs, 3);
  EXPECT_TRUE(masked.dropped.empty());
  const Masked other = mask(*vault, [&] { ChatRequest asks = says("Jane Roe"); asks.top_logprobs = 3; return asks; }(), {jane});
  EXPECT_EQ(other.clean.settings().top_logprobs, -1);
  EXPECT_EQ(other.dropped, std::vector<std::string>{"logprobs"});
}

TEST(Mask, SchemasStopsAndPrompts) {
  const auto vault = new_vault();
  ChatRequest request;
  request.prompt = "Jane Roe wrote:";
  request.suffix = "signed, Jane Roe";
  request.stop = {"Jane Roe"};
  request.constraint = {Constraint::Kind::json_schema, R"({"enum":["Jane Roe"],"maximum":4000007654321097})"};
  const Masked masked = mask(*vault, request, {jane, {"4000007654321097", PrivacyClass::card}});
  const std::string person = vault->placeholder(jane.cls, jane.text);
  EXPECT_EQ(masked.clean.prompt(), person + " wrote:");
  EXPECT_EQ(masked.clean.suffix(), "signed, " + person);
  EXPECT_EQ(masked.clean.stop(), std::vector<std::string>{person});
  EXPECT_EQ(Json::parse(masked.clean.constraint().text)["enum"][0], person);
  EXPECT_EQ(masked.clean.constraint().text.find("4000007654321097"), std::string::npos);
  EXPECT_TRUE(masked.clean.messages().is_null());
}

TEST(Mask, EncodedBlobsAreTheirBytes) {
  const auto vault = new_vault();
  const ChatRequest request = says("SmFuZQ== smFuZQ==");
  Walk walk = walked(request);
  auto findings = findings_in(walk, {{"SmFuZQ==", PrivacyClass::person}, {"smFuZQ==", PrivacyClass::person}});
  for (FieldFinding& found : findings) found.finding.view = "base64";
  auto masked = Masker(*vault, {}).mask(request, std::move(walk), findings, std::vector<Action>(2, Action::mask), 1);
  ASSERT_TRUE(masked);
  EXPECT_EQ(restored(*masked, user_text(*masked)), "SmFuZQ== smFuZQ==");
}

// A value found under its member's name: the span counts in the value.
namespace {
class NameThenDigits : public Scanner {
 public:
  ScanReport scan(std::string_view text) const override {
    ScanReport out;
    if (const size_t at = text.find("pin: 7311"); at != std::string_view::npos) {
      Finding finding;
      finding.begin = at;
      finding.end = at + 9;
      out.findings.push_back(finding);
    }
    return out;
  }
};
}  // namespace
TEST(Mask, LeadsAreReadButNotCounted) {
  std::string text = "7311";
  const auto report = scan_field(NameThenDigits(), {"a", "user", "pin", TextField::Kind::number, &text});
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].begin, 0u);
  EXPECT_EQ(report.findings[0].end, 4u);
}
