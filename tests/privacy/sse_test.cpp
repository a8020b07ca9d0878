// privacy tests: server-sent events, cut at every byte.
#include <gtest/gtest.h>
#include "privacy/upstream.h"

namespace {

using Event = SseParser::Event;

std::vector<Event> parse(const std::vector<std::string>& pieces) {
  SseParser parser;
  std::vector<Event> out;
  for (const std::string& piece : pieces) {
    EXPECT_TRUE(parser.add(piece, [&](const Event& event) { return out.push_back(event), true; }));
  }
  return out;
}

void expect_same(const std::vector<Event>& a, const std::vector<Event>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].data, b[i].data);
  }
}

const std::string stream =
    "\xef\xbb\xbf: a comment\r\n\r\nevent: one\r\ndata: first\r\ndata: second\r\n\r\n"
    "data:no space\n\nid: 7\nretry: 10\nnonsense\ndata: \xe9\x9b\xbb\n\nevent: alone\n\n\rdata\r\r: ping\n\ndata: [DONE]\n\n";

TEST(Sse, EventsOfAWholeStream) {
  const auto events = parse({stream});
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].name, "one");
  EXPECT_EQ(events[0].data, "first\nsecond");
  EXPECT_EQ(events[1].name, "");
  EXPECT_EQ(events[1].data, "no space");
  EXPECT_EQ(events[2].data, "\xe9\x9b\xbb");
  EXPECT_EQ(events[3].data, "");
  EXPECT_EQ(events[4].data, "[DONE]");
}

TEST(Sse, CutAtEveryByteItSaysTheSame) {
  const auto whole = parse({stream});
  for (size_t cut = 0; cut <= stream.size(); ++cut) expect_same(parse({stream.substr(0, cut), stream.substr(cut)}), whole);
  std::vector<std::string> bytes;
  for (const char c : stream) bytes.emplace_back(1, c);
  expect_same(parse(bytes), whole);
}

TEST(Sse, AnEventThatNeverEndsIsRefused) {
  SseParser parser(1000);
  const auto ignore = [](const Event&) { return true; };
  EXPECT_TRUE(parser.add("data: " + std::string(900, 'x') + "\n", ignore));
  EXPECT_FALSE(parser.add("data: " + std::string(900, 'x') + "\n", ignore));
  SseParser endless(1000);
  bool accepted = true;
  for (int i = 0; i < 100 && accepted; ++i) accepted = endless.add(std::string(100, 'y'), ignore);
  EXPECT_FALSE(accepted);
}

TEST(Sse, AnUnfinishedEventIsNoEvent) { EXPECT_TRUE(parse({"data: cut"}).empty()); }

TEST(Sse, TheReaderEndsIt) {
  SseParser parser;
  int seen = 0;
  EXPECT_FALSE(parser.add("data: a\n\ndata: b\n\n", [&](const Event&) { return ++seen, false; }));
  EXPECT_EQ(seen, 1);
}

}  // namespace
