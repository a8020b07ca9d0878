// grammar build: GrammarBuilder's storage and primitive nodes.
#include <algorithm>

#include "text/grammar_parts.h"

static constexpr size_t kMaxNodes = 400'000, kMaxChildren = 4'000'000, kMaxTextBytes = 16 << 20;

using Kind = GrammarNode::Kind;

GrammarBuilder::GrammarBuilder() : parts_(std::make_unique<Parts>()) { empty(); }
GrammarBuilder::~GrammarBuilder() = default;
GrammarBuilder::GrammarBuilder(GrammarBuilder&&) noexcept = default;

template <class T> static void append_raw(std::string& out, const T& value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

static std::string content_of(Kind kind) { return std::string(1, static_cast<char>(kind)); }

GrammarBuilder::Node GrammarBuilder::Parts::add(const GrammarNode& node, std::string content) {
  if (nodes.size() >= kMaxNodes || children.size() >= kMaxChildren || text.size() >= kMaxTextBytes) {
    too_large = true;
    return 0;
  }
  const auto id = static_cast<Node>(nodes.size());
  nodes.push_back(node);
  if (!content.empty()) known.emplace(std::move(content), id);
  return id;
}

GrammarBuilder::Node GrammarBuilder::empty() {
  std::string content = content_of(Kind::empty);
  if (const auto it = parts_->known.find(content); it != parts_->known.end()) return it->second;
  return parts_->add({}, std::move(content));
}

GrammarBuilder::Node GrammarBuilder::literal(std::string_view bytes) {
  if (bytes.empty()) return empty();
  std::string content = content_of(Kind::literal).append(bytes);
  if (const auto it = parts_->known.find(content); it != parts_->known.end()) return it->second;
  const GrammarNode node{.kind = Kind::literal, .first = static_cast<int32_t>(parts_->text.size()), .count = static_cast<int32_t>(bytes.size())};
  if (parts_->text.size() + bytes.size() > kMaxTextBytes) return parts_->too_large = true, 0;
  parts_->text += bytes;
  return parts_->add(node, std::move(content));
}

GrammarBuilder::Node GrammarBuilder::bytes(const ByteSet& set) {
  if (set.none()) return choice({});
  std::string content = content_of(Kind::bytes);
  append_raw(content, set);
  if (const auto it = parts_->known.find(content); it != parts_->known.end()) return it->second;
  parts_->sets.push_back(set);
  return parts_->add({.kind = Kind::bytes, .first = static_cast<int32_t>(parts_->sets.size()) - 1}, std::move(content));
}

// A sequence or choice of children that are already simplified.
static GrammarBuilder::Node add_list(GrammarParts::Parts& parts, Kind kind, std::span<const GrammarBuilder::Node> list) {
  std::string content = content_of(kind);
  content.append(reinterpret_cast<const char*>(list.data()), list.size_bytes());
  if (const auto it = parts.known.find(content); it != parts.known.end()) return it->second;
  if (parts.children.size() + list.size() > kMaxChildren) return parts.too_large = true, 0;
  const GrammarNode node{.kind = kind, .first = static_cast<int32_t>(parts.children.size()), .count = static_cast<int32_t>(list.size())};
  parts.children.insert(parts.children.end(), list.begin(), list.end());
  return parts.add(node, std::move(content));
}

static bool matches_nothing(const GrammarNode& node) { return node.kind == Kind::choice && node.count == 0; }

GrammarBuilder::Node GrammarBuilder::sequence(std::span<const Node> nodes) {
  std::vector<Node> list;
  for (const Node node : nodes) {
    if (matches_nothing((*parts_)[node])) return node;
    if ((*parts_)[node].kind != Kind::empty) list.push_back(node);
  }
  if (list.empty()) return empty();
  return list.size() == 1 ? list[0] : add_list(*parts_, Kind::sequence, list);
}

GrammarBuilder::Node GrammarBuilder::choice(std::span<const Node> nodes) {
  std::vector<Node> list, sorted;
  for (const Node node : nodes)
    if (!matches_nothing((*parts_)[node])) list.push_back(node);
  sorted = list;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {  // a choice is a set: its order means nothing
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    list = sorted;
  }
  return list.size() == 1 ? list[0] : add_list(*parts_, Kind::choice, list);
}

GrammarBuilder::Node GrammarBuilder::repeat(Node node, int64_t least, int64_t most) {
  least = std::max<int64_t>(least, 0);
  if (most < 0) most = -1;
  if (most >= 0 && most < least) return choice({});
  const GrammarNode inner = (*parts_)[node];
  if (most == 0 || inner.kind == Kind::empty) return empty();
  if (matches_nothing(inner)) return least == 0 ? empty() : node;
  if (least == 1 && most == 1) return node;
  std::string content = content_of(Kind::repeat);
  append_raw(content, node), append_raw(content, least), append_raw(content, most);
  if (const auto it = parts_->known.find(content); it != parts_->known.end()) return it->second;
  return parts_->add({.kind = Kind::repeat, .first = node, .least = least, .most = most}, std::move(content));
}

GrammarBuilder::Node GrammarBuilder::declare(std::string_view name) {
  const Node rule = parts_->add({.kind = Kind::rule, .first = -1}, {});
  if (!name.empty()) parts_->names.emplace_back(rule, name);
  return rule;
}

void GrammarBuilder::define(Node rule, Node body) {
  if (parts_->too_large) return;
  GrammarNode& node = parts_->nodes[static_cast<size_t>(rule)];
  CHECK(node.kind == Kind::rule && node.first < 0);
  node.first = body;
}
