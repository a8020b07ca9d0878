// policy tests: every key of the gate's configuration, and the error of each wrong value by file, line and key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "privacy/policy.h"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* upstream = "[upstream.cloud]\nbase_url = \"https://api.example/v1\"\nmodels = [\"big-1\"]\n[audit]\npath = \"audit.jsonl\"\n";

GateConfig read(const std::string& text) {
  const auto config = parse_gate_config("etc/c.toml", text);
  EXPECT_TRUE(config) << config.error().message;
  return config ? *config : GateConfig();
}

std::string error_of(const std::string& text) {
  const auto config = parse_gate_config("c.toml", text);
  EXPECT_FALSE(config) << text;
  return config ? "" : config.error().message;
}

const ClassRule& rule_of(const GateConfig& config, PrivacyClass cls) { return config.policy.classes[static_cast<size_t>(cls)]; }

TEST(Policy, NothingSaidIsTheDefault) {
  const GateConfig config = read("");
  EXPECT_TRUE(config.upstreams.empty());
  EXPECT_FALSE(config.policy.cloud_by_default);
  EXPECT_EQ(config.policy.ask_fallback, Action::local);
  EXPECT_EQ(config.policy.limits.max_bytes, 4194304u);
  EXPECT_EQ(config.policy.sha256.size(), 64u);
}

TEST(Policy, EveryKeyIsRead) {
  const GateConfig config = read(R"([server]
listen = "127.0.0.1:0"
[local]
model = "/models/x.gguf"
[upstream.cloud]
base_url = "https://api.example/v1/"
api_key_env = "CALLA_TEST_KEY"
models = ["big-1", "big-2"]
trust = "cloud"
timeout_s = 7
retries = 1
[upstream.house]
base_url = "http://127.0.0.1:9/v1"
models = ["m"]
trust = "private"
wire = "anthropic"
[privacy]
id = "house-policy-1"
default_route = "cloud"
ask_fallback = "refuse"
vault_dir = "state"
conversation_ttl_s = 60
disclose = "body"
tiers = "ab"
[privacy.classes]
card = "refuse"
financial = "local"
person = { action = "mask", min_score = 0.6 }
[[privacy.rule]]
when = { classes = ["person", "contact"], destination = "cloud", role = "user", model = "cloud/*", key = "k1", count = 2, min_score = 0.25 }
then = { action = "local", reason = "why" }
[[privacy.term]]
name = "nordstar"
terms = ["Nordstar"]
patterns = ["NS-[0-9]{4}"]
[[privacy.term]]
name = "fine"
terms = ["public"]
action = "allow"
[privacy.limits]
max_bytes = 1000
decode_depth = 2
scan_ms = 50
[privacy.restore]
text = false
tools = ["calc"]
urls = "allowlist"
url_hosts = ["example.org"]
system_note = false
[privacy.consent]
enabled = false
ttl_s = 30
scopes = { person = ["once", "session"], contact = ["send_once"], secret = [] }
[privacy.auto]
cloud_above_tokens = 1000
cloud_with_tools = true
[audit]
path = "logs/audit.jsonl"
fsync = "interval"
checkpoint_lines = 5
key_file = "/keys/audit.key"
rotate_bytes = 100000
retention_days = 30
)");
  ASSERT_EQ(config.upstreams.size(), 2u);
  const UpstreamOptions &cloud = config.upstreams[0], &house = config.upstreams[1];
  EXPECT_EQ(cloud.name, "cloud");
  EXPECT_EQ(cloud.base_url, "https://api.example/v1");
  EXPECT_EQ(cloud.api_key_env, "CALLA_TEST_KEY");
  EXPECT_THAT(cloud.models, ElementsAre("big-1", "big-2"));
  EXPECT_EQ(cloud.timeout_s, 7);
  EXPECT_EQ(cloud.retries, 1);
  EXPECT_EQ(house.trust, Trust::priv);
  EXPECT_EQ(house.wire, Wire::anthropic);
  const Policy& policy = config.policy;
  EXPECT_EQ(policy.id, "house-policy-1");
  EXPECT_TRUE(policy.cloud_by_default);
  EXPECT_EQ(policy.ask_fallback, Action::refuse);
  EXPECT_EQ(policy.vault_dir, "etc/state");
  EXPECT_EQ(policy.conversation_ttl_s, 60);
  EXPECT_EQ(policy.disclose, Policy::Disclose::body);
  EXPECT_EQ(policy.tiers, "ab");
  EXPECT_EQ(rule_of(config, PrivacyClass::card).action, Action::refuse);
  EXPECT_EQ(rule_of(config, PrivacyClass::iban).action, Action::local);
  EXPECT_EQ(rule_of(config, PrivacyClass::person).action, Action::mask);
  EXPECT_FLOAT_EQ(rule_of(config, PrivacyClass::person).min_score, 0.6f);
  EXPECT_EQ(rule_of(config, PrivacyClass::phone).action, std::nullopt);
  ASSERT_EQ(policy.rules.size(), 1u);
  const PolicyRule& rule = policy.rules[0];
  EXPECT_THAT(rule.when.classes, ElementsAre(ElementsAre(PrivacyClass::person), ElementsAre(PrivacyClass::phone, PrivacyClass::email, PrivacyClass::address, PrivacyClass::handle)));
  EXPECT_EQ(rule.when.destination + rule.when.role + rule.when.model + rule.when.key, "cloudusercloud/*k1");
  EXPECT_EQ(rule.when.count, 2);
  EXPECT_EQ(rule.when.min_score, 0.25f);
  EXPECT_EQ(rule.action, Action::local);
  EXPECT_EQ(rule.reason, "why");
  ASSERT_EQ(policy.terms.size(), 2u);
  EXPECT_EQ(policy.terms[0].action, Action::refuse);
  EXPECT_THAT(policy.terms[0].term.patterns, ElementsAre("NS-[0-9]{4}"));
  EXPECT_FALSE(policy.terms[0].term.allowed);
  EXPECT_TRUE(policy.terms[1].term.allowed);
  EXPECT_EQ(policy.limits.decode_depth, 2);
  EXPECT_EQ(policy.limits.scan_ms, 50);
  EXPECT_FALSE(policy.restore.text);
  EXPECT_TRUE(policy.restore.urls_allowlist);
  EXPECT_THAT(policy.restore.url_hosts, ElementsAre("example.org"));
  EXPECT_FALSE(policy.restore.system_note);
  EXPECT_FALSE(policy.consent.enabled);
  EXPECT_EQ(policy.consent.ttl_s, 30);
  EXPECT_THAT(policy.consent.scopes.at(PrivacyClass::person), ElementsAre(Scope::once, Scope::session));
  EXPECT_THAT(policy.consent.scopes.at(PrivacyClass::email), ElementsAre(Scope::as_is));
  EXPECT_TRUE(policy.consent.scopes.at(PrivacyClass::secret).empty());
  EXPECT_EQ(policy.automatic.cloud_above_tokens, 1000);
  EXPECT_TRUE(policy.automatic.cloud_with_tools);
  EXPECT_EQ(config.audit.path, "etc/logs/audit.jsonl");
  EXPECT_EQ(config.audit.key_file, "/keys/audit.key");
  EXPECT_FALSE(config.audit.fsync_lines);
  EXPECT_EQ(config.audit.checkpoint_lines, 5);
  EXPECT_EQ(config.audit.rotate_bytes, 100000u);
  EXPECT_EQ(config.audit.retention_days, 30);
}

TEST(Policy, TheKeyOfAnAuditLiesBesideIt) { EXPECT_EQ(read("[audit]\npath = \"a/audit.jsonl\"\n").audit.key_file, "etc/a/audit.key"); }

TEST(Policy, ADestinationWithoutAnUpstreamOfThisNameIsATrust) {
  const std::string rule = "[[privacy.rule]]\nwhen = { destination = \"cloud\" }\nthen = { action = \"local\" }\n";
  EXPECT_EQ(read(rule).policy.rules.at(0).when.destination_trust, Trust::cloud);
  const GateConfig named = read(rule + upstream);  // the upstream stands below the rule that names it
  EXPECT_EQ(named.policy.rules.at(0).when.destination_trust, std::nullopt);
  EXPECT_EQ(named.policy.rules.at(0).when.destination, "cloud");
  EXPECT_EQ(named.policy.rules.at(0).when.count, 0);
}

struct Wrong { const char *text, *starts, *says; };

TEST(Policy, ErrorsNameFileLineAndKey) {
  const Wrong all[] = {
      {"[privcy]\n", "c.toml:1: privcy: ", "did you mean privacy?"},
      {"x = 1\n", "c.toml:1: x: ", "no such key"},
      {"[privacy]\n\ndefault_rout = \"local\"\n", "c.toml:3: privacy.default_rout: ", "did you mean default_route?"},
      {"[privacy]\ndefault_route = \"clod\"\n", "c.toml:2: privacy.default_route: ", "did you mean cloud?"},
      {"[privacy]\ndefault_route = 1\n", "c.toml:2: privacy.default_route: ", "text"},
      {"[privacy]\nid = \"a b\"\n", "c.toml:2: privacy.id: ", "letters"},
      {"[privacy]\nask_fallback = \"ask\"\n", "c.toml:2: privacy.ask_fallback: ", "no such choice"},
      {"[privacy]\nvault_dir = \"\"\n", "c.toml:2: privacy.vault_dir: ", "empty"},
      {"[privacy]\nconversation_ttl_s = 0\n", "c.toml:2: privacy.conversation_ttl_s: ", "from 1 to"},
      {"[privacy]\nconversation_ttl_s = 1.5\n", "c.toml:2: privacy.conversation_ttl_s: ", "whole number"},
      {"[privacy]\ndisclose = \"loud\"\n", "c.toml:2: privacy.disclose: ", "headers, body, none"},
      {"[privacy]\ntiers = \"abd\"\n", "c.toml:2: privacy.tiers: ", "a, b and c"},
      {"[privacy]\ntiers = \"aa\"\n", "c.toml:2: privacy.tiers: ", "a, b and c"},
      {"privacy = 1\n", "c.toml:1: privacy: ", "a table expected"},
      {"[privacy.classes]\npersn = \"mask\"\n", "c.toml:2: privacy.classes.persn: ", "did you mean person?"},
      {"[privacy.classes]\nperson = \"maks\"\n", "c.toml:2: privacy.classes.person: ", "did you mean mask?"},
      {"[privacy.classes]\nperson = true\n", "c.toml:2: privacy.classes.person: ", "text"},
      {"[privacy.classes.person]\nactoin = \"mask\"\n", "c.toml:2: privacy.classes.person.actoin: ", "did you mean action?"},
      {"[privacy.classes]\nperson = { action = \"mask\", min_score = 1.1 }\n", "c.toml:2: privacy.classes.person.min_score: ", "from 0 to 1"},
      {"[privacy.classes]\nperson = { min_score = nan }\n", "c.toml:2: privacy.classes.person.min_score: ", "from 0 to 1"},
      {"[privacy.classes]\nlow = \"everything\"\n", "c.toml:2: privacy.classes.low: ", "no such action"},
      {"[[privacy.rule]]\nwhen = { clases = [\"person\"] }\nthen = { action = \"local\" }\n", "c.toml:2: privacy.rule[0].when.clases: ", "did you mean classes?"},
      {"[[privacy.rule]]\nwhen = { classes = [\"nobody\"] }\nthen = { action = \"local\" }\n", "c.toml:2: privacy.rule[0].when.classes[0]: ", "no such class"},
      {"[[privacy.rule]]\nwhen = { classes = [] }\nthen = { action = \"local\" }\n", "c.toml:2: privacy.rule[0].when.classes: ", "names of classes"},
      {"[[privacy.rule]]\nwhen = { classes = \"person\" }\nthen = { action = \"local\" }\n", "c.toml:2: privacy.rule[0].when.classes: ", "a list expected"},
      {"[[privacy.rule]]\nwhen = { count = 0 }\nthen = { action = \"local\" }\n", "c.toml:2: privacy.rule[0].when.count: ", "from 1"},
      {"[[privacy.rule]]\nwhen = { role = \"boss\" }\nthen = { action = \"local\" }\n", "c.toml:2: privacy.rule[0].when.role: ", "user"},
      {"[[privacy.rule]]\nwhen = { destination = \"nowhere\" }\nthen = { action = \"local\" }\n", "c.toml:2: privacy.rule[0].when.destination: ", "no such upstream"},
      {"[[privacy.rule]]\nwhen = { }\nthen = { actoin = \"local\" }\n", "c.toml:3: privacy.rule[0].then.actoin: ", "did you mean action?"},
      {"[[privacy.rule]]\nwhen = { }\n[[privacy.rule]]\nwhen = { }\nthen = { action = \"cloud\" }\n", "c.toml:1: privacy.rule[0]: ", "then is missing"},
      {"[[privacy.rule]]\nwhen = { }\nthen = { reason = \"x\" }\n", "c.toml:1: privacy.rule[0]: ", "action"},
      {"[[privacy.rule]]\nthen = { action = \"local\" }\n", "c.toml:1: privacy.rule[0]: ", "when is missing"},
      {"[[privacy.term]]\nterms = [\"x\"]\n", "c.toml:1: privacy.term[0]: ", "name"},
      {"[[privacy.term]]\nname = \"n\"\n", "c.toml:1: privacy.term[0]: ", "terms"},
      {"[[privacy.term]]\nname = \"n\"\nterms = [1]\n", "c.toml:3: privacy.term[0].terms[0]: ", "text"},
      {"[[privacy.term]]\nname = \"n\"\nterms = [\"\"]\n", "c.toml:3: privacy.term[0].terms[0]: ", "empty"},
      {"[[privacy.term]]\nname = \"n\"\npatterns = [\"(\"]\n", "c.toml:3: privacy.term[0].patterns: ", "regular expression"},
      {"[[privacy.term]]\nname = \"n\"\npatterns = [\"a*\"]\n", "c.toml:3: privacy.term[0].patterns: ", "empty text"},
      {"[[privacy.term]]\nname = \"n\"\nterms_hmac = [\"5:00\"]\n", "c.toml:3: privacy.term[0].terms_hmac: ", "LENGTH:HMAC"},
      {"[[privacy.term]]\nname = \"n\"\nterms = [\"x\"]\nkey_env = \"CALLA_NO_SUCH_VARIABLE\"\n", "c.toml:4: privacy.term[0].key_env: ", "not set"},
      {"[[privacy.term]]\nname = \"n\"\nterms = [\"x\"]\n[[privacy.term]]\nname = \"n\"\nterms = [\"y\"]\n", "c.toml:4: privacy.term[1]: ", "another term"},
      {"[[privacy.term]]\nname = \"n\"\nterms = [\"x\"]\naction = \"drop\"\n", "c.toml:4: privacy.term[0].action: ", "no such action"},
      {"[privacy.limits]\nmax_bytes = -1\n", "c.toml:2: privacy.limits.max_bytes: ", "from 1"},
      {"[privacy.limits]\ndecode_depth = 99\n", "c.toml:2: privacy.limits.decode_depth: ", "from 0 to 8"},
      {"[privacy.limits]\nscan_s = 1\n", "c.toml:2: privacy.limits.scan_s: ", "did you mean scan_ms?"},
      {"[privacy.restore]\ntext = \"yes\"\n", "c.toml:2: privacy.restore.text: ", "true or false"},
      {"[privacy.restore]\nurls = \"always\"\n", "c.toml:2: privacy.restore.urls: ", "allowlist"},
      {"[privacy.restore]\nurl_hosts = [\"https://x\"]\n", "c.toml:2: privacy.restore.url_hosts: ", "names of hosts"},
      {"[privacy.consent]\nscopes = { person = [\"twice\"] }\n", "c.toml:2: privacy.consent.scopes.person[0]: ", "once"},
      {"[privacy.consent]\nscopes = { nobody = [] }\n", "c.toml:2: privacy.consent.scopes.nobody: ", "no such class"},
      {"[privacy.consent]\nttl_s = 0\n", "c.toml:2: privacy.consent.ttl_s: ", "from 1"},
      {"[privacy.auto]\ncloud_above = 1\n", "c.toml:2: privacy.auto.cloud_above: ", "did you mean cloud_above_tokens?"},
      {"[audit]\n", "c.toml:1: audit: ", "path is missing"},
      {"[audit]\npath = \"a\"\nfsync = \"never\"\n", "c.toml:3: audit.fsync: ", "interval, line"},
      {"[audit]\npath = \"a\"\ncheckpoint_lines = 0\n", "c.toml:3: audit.checkpoint_lines: ", "from 1"},
      {"[audit]\npath = \"a\"\nkey_file = \"a\"\n", "c.toml:1: audit: ", "same file"},
      {"[audit]\npth = \"a\"\n", "c.toml:2: audit.pth: ", "did you mean path?"},
      {"[upstream.cloud]\nbase_url = \"https://api.example\"\nmodels = [\"m\"]\n", "c.toml:1: audit: ", "missing"},
      {"[upstream.cloud]\nmodels = [\"m\"]\n", "c.toml:1: upstream.cloud: ", "base_url is missing"},
      {"[upstream.cloud]\nbase_url = \"https://a\"\n", "c.toml:1: upstream.cloud: ", "models is missing"},
      {"[upstream.cloud]\nmodels = []\n", "c.toml:2: upstream.cloud.models: ", "one model or more"},
      {"[upstream.cloud]\nmodels = [\"m\", \"m\"]\n", "c.toml:2: upstream.cloud.models: ", "twice"},
      {"[upstream.local]\nmodels = [\"m\"]\n", "c.toml:1: upstream.local: ", "another name"},
      {"[upstream.\"a b\"]\nmodels = [\"m\"]\n", "c.toml:1: upstream.a b: ", "letters"},
      {"[upstream.cloud]\ntrust = \"full\"\n", "c.toml:2: upstream.cloud.trust: ", "cloud, private"},
      {"[upstream.cloud]\nwire = \"soap\"\n", "c.toml:2: upstream.cloud.wire: ", "openai, anthropic"},
      {"[upstream.cloud]\ntimeout_s = 0\n", "c.toml:2: upstream.cloud.timeout_s: ", "from 1"},
      {"[upstream.cloud]\nretries = -1\n", "c.toml:2: upstream.cloud.retries: ", "from 0"},
      {"[upstream.cloud]\napi_key_env = \"not-a-name\"\n", "c.toml:2: upstream.cloud.api_key_env: ", "environment variable"},
      {"[a\n", "c.toml:1: syntax: ", ""},
      {"[privacy]\nid = \"a\"\nid = \"b\"\n", "c.toml:3: syntax: ", ""},
  };
  for (const Wrong& wrong : all) {
    const std::string message = error_of(wrong.text);
    EXPECT_THAT(message, StartsWith(wrong.starts)) << wrong.text;
    EXPECT_THAT(message, HasSubstr(wrong.says)) << wrong.text;
    EXPECT_EQ(message.find('\n'), std::string::npos) << wrong.text;
  }
}

TEST(Policy, ALiteralKeyIsNeitherTakenNorRepeated) {
  const std::string key = std::string("s") + "k-" + "0123456789abcdef";
  for (const std::string& line : {"api_key = \"" + key + "\"", "api_key_env = \"" + key + "\"", "trust = \"" + key + "\"", "base_url = \"https://x:" + key + "@api.example\""}) {
    const std::string message = error_of("[upstream.cloud]\n" + line + "\n");
    EXPECT_THAT(message, StartsWith("c.toml:2: upstream.cloud."));
    EXPECT_THAT(message, testing::Not(HasSubstr(key)));
  }
}

TEST(Policy, PlainHttpReachesLoopbackOnly) {
  for (const char* url : {"http://127.0.0.1:1/v1", "http://127.8.9.1", "http://localhost:80", "http://[::1]:1234/v1", "https://api.example:8443/v1"})
    EXPECT_TRUE(parse_gate_config("c.toml", std::string("[upstream.cloud]\nbase_url = \"") + url + "\"\nmodels = [\"m\"]\n[audit]\npath = \"a\"\n")) << url;
  for (const char* url : {"http://10.0.0.1", "http://api.example/v1", "http://127.0.0.1.example/v1", "http://localhost.example", "http://[::2]", "ftp://127.0.0.1", "https://", "https://a b", "https://h?q=1", "https://h:99999", "https://h:x", "//h",
                          "https://[::1", "http://127.1", "http://0x7f.1", "http://localhost@evil.example", "http://127.0.0.1\\\\@evil.example"})
    EXPECT_THAT(error_of(std::string("[upstream.cloud]\nbase_url = \"") + url + "\"\nmodels = [\"m\"]\n[audit]\npath = \"a\"\n"), StartsWith("c.toml:2: upstream.cloud.base_url: ")) << url;
}

TEST(Policy, AKeyFileThatOthersMayReadIsAnError) {
  const auto folder = std::filesystem::temp_directory_path() / ("calla-policy-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "key") << "x";
  const std::string text = std::string("[upstream.cloud]\nbase_url = \"https://api.example\"\nmodels = [\"m\"]\napi_key_file = \"key\"\n[audit]\npath = \"a\"\n"), path = (folder / "c.toml").string();
  chmod((folder / "key").c_str(), 0640);
  const auto open = parse_gate_config(path, text);
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, StartsWith(path + ":4: upstream.cloud.api_key_file: "));
  chmod((folder / "key").c_str(), 0600);
  const auto closed = parse_gate_config(path, text);
  ASSERT_TRUE(closed) << closed.error().message;
  EXPECT_EQ(closed->upstreams[0].api_key_file, (folder / "key").string());
  std::filesystem::remove(folder / "key");
  const auto absent = parse_gate_config(path, text);
  ASSERT_TRUE(absent);
  EXPECT_THAT(absent->notes, ElementsAre(HasSubstr("no such file")));
  std::filesystem::remove_all(folder);
}

TEST(Policy, TheModelTierIsThereOrTheFileIsWrong) {
  std::string pattern = (std::filesystem::temp_directory_path() / "calla-policy-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  std::filesystem::create_directories(folder / "names");
  const std::string path = (folder / "c.toml").string(), text = "[privacy]\nmodel = \"names\"\n";
  const auto config = parse_gate_config(path, text);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->model.path, (folder / "names").string());
  EXPECT_EQ(config->model.where, path + ":2: privacy.model");
  EXPECT_NE(config->policy.sha256, parse_gate_config(path, "")->policy.sha256);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(parse_gate_config(path, text).error().message, path + ":2: privacy.model: no such file or folder, a token classifier expected");
  EXPECT_THAT(error_of("[privacy]\nmodel = \"\"\n"), StartsWith("c.toml:2: privacy.model: "));
  EXPECT_EQ(read("").model.path, "");
}

TEST(Policy, KeyedTermsNeedTheirKey) {
  const std::string hashes = "[[privacy.term]]\nname = \"n\"\nterms_hmac = [\"8:" + std::string(64, 'a') + "\"]\n";
  EXPECT_THAT(error_of(hashes), HasSubstr("belong together"));
  setenv("CALLA_POLICY_TEST_KEY", "pepper", 1);
  EXPECT_EQ(read(hashes + "key_env = \"CALLA_POLICY_TEST_KEY\"\n").policy.terms.at(0).term.hmac_key, "pepper");
}

TEST(Policy, WhatHasNoEffectIsSaid) {
  EXPECT_THAT(read("[[privacy.rule]]\nwhen = { }\nthen = { action = \"allow\" }\n").notes, ElementsAre(HasSubstr("c.toml:1: privacy.rule[0]: ")));
  EXPECT_THAT(read("[privacy.restore]\nurl_hosts = [\"a.example\"]\n").notes, ElementsAre(HasSubstr("url_hosts")));
  EXPECT_THAT(read("[privacy.consent]\nscopes = { secret = [\"once\"] }\n").notes, ElementsAre(HasSubstr("secret")));
}

TEST(Policy, TheHashFollowsWhatIsDecidedAndNothingElse) {
  const std::string base = std::string("[privacy]\nid = \"p\"\n") + upstream;
  const std::string hash = read(base).policy.sha256;
  EXPECT_EQ(hash, read("# a comment\n" + base).policy.sha256);
  for (const char* more : {"[privacy.classes]\norg = \"mask\"\n", "[privacy.classes]\norg = \"allow\"\n", "[privacy.classes]\norg = { min_score = 0.4 }\n", "[[privacy.rule]]\nwhen = { key = \"k\" }\nthen = { action = \"local\" }\n",
                           "[[privacy.term]]\nname = \"n\"\nterms = [\"x\"]\n", "[privacy.limits]\nscan_ms = 1\n", "[privacy.restore]\ntext = false\n", "[privacy.consent]\nttl_s = 1\n", "[privacy.auto]\ncloud_with_tools = true\n",
                           "[upstream.other]\nbase_url = \"https://other.example\"\nmodels = [\"m\"]\n"})
    EXPECT_NE(hash, read(base + more).policy.sha256) << more;
}

TEST(Policy, DefaultsAreThoseOfTheInterface) {
  const std::vector<std::pair<const char*, Action>> rows = {
      {"secret", Action::local}, {"health", Action::local}, {"gov_id", Action::mask}, {"custom", Action::refuse}, {"financial", Action::mask}, {"opaque", Action::ask},
      {"contact", Action::mask}, {"unscanned", Action::local}, {"dob", Action::mask}, {"person", Action::mask}, {"network", Action::mask}, {"low", Action::allow}};
  size_t seen = 0;
  for (const auto& [name, action] : rows)
    for (const PrivacyClass cls : classes_named(name)) {
      ++seen;
      EXPECT_EQ(default_action(cls, false), action) << name_of(cls);
      EXPECT_EQ(default_action(cls, true), group_of(cls) == "network" ? Action::allow : action) << name_of(cls);
    }
  EXPECT_EQ(seen, n_privacy_classes);
}

TEST(Policy, WhatTheParserQuotesStaysOnOneLine) {
  const auto config = parse_gate_config("c.toml", "privacy = i\nx = 1\n");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(config.error().message.starts_with("c.toml:1: ")) << config.error().message;
}

}  // namespace
