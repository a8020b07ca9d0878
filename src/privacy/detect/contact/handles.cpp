// handles: names on social networks: behind a label or in a platform's URL.
#include <re2/re2.h>
#include <algorithm>
#include <array>
#include "privacy/aho_corasick.h"
#include "privacy/detect/contact/contact.h"

namespace contact {
namespace {

bool name_byte(char c) { return alnum(c) || c == '_' || c == '.' || c == '-'; }

constexpr std::string_view platforms[] = {"twitter.com/",      "x.com/",         "instagram.com/",
                                          "facebook.com/",     "fb.com/",        "linkedin.com/in/",
                                          "github.com/",       "t.me/",          "tiktok.com/@",
                                          "youtube.com/@",     "weibo.com/",     "threads.net/@",
                                          "threads.com/@",     "medium.com/@",   "reddit.com/user/",
                                          "reddit.com/u/",     "pinterest.com/", "snapchat.com/add/",
                                          "line.me/ti/p/",     "wa.me/",         "vk.com/",
                                          "bsky.app/profile/", "twitch.tv/",     "mastodon.social/@",
                                          "dcard.tw/@",        "plurk.com/",     "steamcommunity.com/id/"};
// What stands at a name's place without being one.
constexpr std::string_view places[] = {
    "home",   "search", "explore", "about",   "login", "signup",  "settings", "share",    "sharer", "intent",      "hashtag",  "groups", "pages",
    "events", "watch",  "p",       "reel",    "tv",    "stories", "orgs",     "features", "topics", "marketplace", "sponsors", "apps",   "joinchat",
    "s",      "i",      "help",    "privacy", "terms", "status",  "jobs",     "company",  "n",      "u",           "tags"};

class HandleDetector final : public Detector {
 public:
  explicit HandleDetector(LabelBook& book)
      : label_(book.add({"twitter",     "instagram", "ig",       "insta",     "telegram", "tg",    "discord",  "wechat", "weixin",    "line id",
                         "snapchat",    "tiktok",    "facebook", "fb",        "mastodon", "weibo", "qq",       "skype",  "kakaotalk", "kakao",
                         "follow me",   "dm me",     "add me",   "my handle", "bluesky",  "bsky",  "linkedin", "reddit", "twitch",    "x account",
                         "username on", "微信",      "微信號",   "微信号",    "賴",       "加賴",  "推特",     "臉書",   "脸书",      "抖音",
                         "微博",        "小紅書",    "小红书",   "電報",      "电报",     "qq號",  "qq号",     "ライン", "インスタ",  "카톡"})) {
    for (const std::string_view platform : platforms) platforms_.add(platform, static_cast<uint32_t>(platform.size()));
    platforms_.build();
  }
  std::string_view name() const override { return "handle"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    for (size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) find_at(page, at, out);
    platforms_.scan(text, [&](uint32_t size, size_t end) { find_in_url(text, end - size, end, out); });
    find_labelled(page, out);
  }

 private:
  void find_at(const Page& page, size_t at, std::vector<Hit>& out) const {
    const std::string_view text = page.text;
    if (at > 0 && (alnum(text[at - 1]) || std::string_view("_./\\@:=\"'`<-").find(text[at - 1]) != std::string_view::npos)) return;
    size_t end = at + 1;
    while (end < text.size() && end - at < 40 && name_byte(text[end])) ++end;
    while (end > at + 1 && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
    if (end < at + 4 || (end < text.size() && (text[end] == '/' || text[end] == '@' || text[end] == '(' || text[end] == '{'))) return;
    // Decorators and annotations begin their line.
    size_t line = at;
    while (line > 0 && text[line - 1] != '\n' && !alnum(text[line - 1]) && static_cast<unsigned char>(text[line - 1]) < 0x80) --line;
    if (line > 0 && text[line - 1] == '\n') return;
    if (page.labels.before(label_, at, 30) || page.labels.after(label_, end, 15)) out.push_back({PrivacyClass::handle, "social", at, end, 0.75F});
  }

  static void find_in_url(std::string_view text, size_t begin, size_t end, std::vector<Hit>& out) {
    if (begin > 0 && (alnum(text[begin - 1]) || text[begin - 1] == '-')) return;
    size_t name = end;
    if (name < text.size() && text[name] == '@') ++name;
    size_t stop = name;
    while (stop < text.size() && stop - name < 40 && name_byte(text[stop])) ++stop;
    while (stop > name && text[stop - 1] == '.') --stop;
    const std::string_view handle = text.substr(name, stop - name);
    if (handle.size() < 2 || std::find(std::begin(places), std::end(places), handle) != std::end(places)) return;
    // github.com/owner/repository names a work; the owner alone is a person or an organisation.
    if (stop + 1 < text.size() && text[stop] == '/' && name_byte(text[stop + 1])) return;
    if (handle.find('.') != std::string_view::npos && text.substr(begin, end - begin).starts_with("github")) return;
    out.push_back({PrivacyClass::handle, "social_url", name, stop, 0.6F});
  }

  // "WeChat: jane_roe88", "LINE ID jroe88".
  void find_labelled(const Page& page, std::vector<Hit>& out) const {
    static const RE2 pattern(
        R"((?i)(?:line id|wechat(?: id)?|weixin|telegram|skype(?: id)?|discord|snapchat|kakaotalk(?: id)?|qq(?:號|号)?|微信(?:號|号)?|加賴|小紅書|小红书)\s{0,2}(?:is|:|=|是|為|为|-)?\s{0,3}@?([A-Za-z0-9][A-Za-z0-9_.#-]{4,31}))");
    const std::string_view text = page.text;
    re2::StringPiece input(text.data(), text.size()), groups[2];
    size_t at = 0;
    while (pattern.Match(input, at, input.size(), RE2::UNANCHORED, groups, 2)) {
      size_t begin = static_cast<size_t>(groups[1].data() - text.data()), end = begin + groups[1].size();
      at = end;
      const size_t label = static_cast<size_t>(groups[0].data() - text.data());
      while (end > begin && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
      const std::string_view handle = text.substr(begin, end - begin);
      const bool nameless = std::none_of(handle.begin(), handle.end(), [](char c) { return digit(c) || c == '_' || c == '#'; });
      if (nameless || (label > 0 && alnum(text[label - 1])) || handle.size() < 5) continue;
      out.push_back({PrivacyClass::handle, "messenger", begin, end, 0.7F});
    }
  }

  LabelSet label_;
  AhoCorasick platforms_;
};

}  // namespace

std::unique_ptr<Detector> make_handle_detector(LabelBook& book) { return std::make_unique<HandleDetector>(book); }

}  // namespace contact
