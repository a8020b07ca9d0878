// schema places: pointers, base URIs, $ref.
#include "text/schema_places.h"

#include <algorithm>
#include <charconv>

static constexpr size_t kMostShown = 200;  // bytes of a pointer in a message

static std::string escape_token(std::string_view token) {
  std::string out;
  for (const char c : token) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

static std::string unescape_token(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) out += token[++i] == '0' ? '~' : '/';
    else out += token[i];
  }
  return out;
}

static std::string decode_percent(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// RFC 3986, section 5.2, for the references that schemas use: no dot segments.
static std::string resolve_uri(std::string_view base, std::string_view reference) {
  const size_t colon = reference.find_first_of(":/");
  if (base.empty() || (colon != reference.npos && colon > 0 && reference[colon] == ':')) return std::string(reference);
  const size_t authority = base.find("//");
  const size_t path = authority == base.npos ? base.find(':') + 1 : std::min(base.find('/', authority + 2), base.size());
  if (reference.starts_with('/')) return std::string(base.substr(0, path)) + std::string(reference);
  const size_t slash = base.rfind('/');
  const size_t keep = slash == base.npos || slash < path ? path : slash + 1;
  return std::string(base.substr(0, keep)) + (keep == path && authority != base.npos ? "/" : "") + std::string(reference);
}

static std::string_view id_of(JsonView schema) {
  const std::string_view id = find_string(schema, "$id").value_or("");
  return id.starts_with('#') ? "" : id.substr(0, id.find('#'));
}

SchemaPlaces::SchemaPlaces(JsonDocument document) : document_(std::move(document)) {
  places_.push_back({document_.root(), "", std::string(id_of(document_.root())), ""});
  by_pointer_[""] = 0;
}

std::string SchemaPlaces::pointer_to(int place, std::string_view keyword) const { return (*this)[place].pointer + "/" + std::string(keyword); }

std::string SchemaPlaces::pointer_to(int place, std::string_view keyword, std::string_view key) const {
  return pointer_to(place, keyword) + "/" + escape_token(key);
}

int SchemaPlaces::add(int parent, std::string pointer, JsonView schema) {
  const auto [known, added] = by_pointer_.try_emplace(pointer, static_cast<int>(places_.size()));
  if (!added) return known->second;
  const SchemaPlace& above = (*this)[parent];
  SchemaPlace place{schema, pointer, above.base, above.resource};
  if (const std::string_view id = id_of(schema); !id.empty()) place.base = resolve_uri(above.base, id), place.resource = pointer;
  places_.push_back(std::move(place));
  return known->second;
}

// Steps from a place down a pointer.
Result<int> SchemaPlaces::at(int from, std::string_view pointer) {
  int place = from;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string token = unescape_token(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(std::min(pointer.find('/'), pointer.size()));
    const JsonView here = (*this)[place].schema;
    JsonView next;
    if (here.is_object()) {
      if (here.at_key(token).get(next) != simdjson::SUCCESS) return invalid(from, "refers to nothing");
    } else if (simdjson::dom::array items; here.get(items) == simdjson::SUCCESS) {
      size_t index = 0;
      const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
      if (read.ptr != token.data() + token.size() || token.empty() || items.at(index).get(next) != simdjson::SUCCESS) return invalid(from, "refers to nothing");
    } else {
      return invalid(from, "refers to nothing");
    }
    place = add(place, (*this)[place].pointer + "/" + escape_token(token), next);
  }
  return place;
}

void SchemaPlaces::find_names(JsonView value, const std::string& pointer, std::string base) {
  if (simdjson::dom::array items; value.get(items) == simdjson::SUCCESS) {
    size_t index = 0;
    for (const JsonView item : items) find_names(item, pointer + "/" + std::to_string(index++), base);
  }
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return;
  if (const std::string_view id = id_of(value); !id.empty()) {
    base = resolve_uri(base, id);
    named_.emplace(base, pointer);
  }
  for (const char* keyword : {"$anchor", "$dynamicAnchor"})
    if (const auto anchor = find_string(value, keyword)) named_.emplace(base + "#" + std::string(*anchor), pointer);
  if (const auto id = find_string(value, "$id"); id && id->starts_with('#')) named_.emplace(base + std::string(*id), pointer);  // drafts 6 and 7
  for (const auto& [key, member] : object)
    if (key != "enum" && key != "const" && key != "default" && key != "examples") find_names(member, pointer + "/" + escape_token(key), base);
}

Result<int> SchemaPlaces::resolve(int place, std::string_view reference) {
  const std::string_view uri = reference.substr(0, reference.find('#'));
  const std::string fragment = uri.size() < reference.size() ? decode_percent(reference.substr(uri.size() + 1)) : "";
  const SchemaPlace from = (*this)[place];
  std::string resource = from.resource, base = from.base;
  const bool by_pointer = fragment.empty() || fragment[0] == '/';
  if ((!uri.empty() || !by_pointer) && named_.empty()) find_names(document_.root(), "", "");
  if (!uri.empty()) {
    base = resolve_uri(from.base, uri);
    if (const auto found = named_.find(base); found != named_.end()) resource = found->second;
    else if (base == (*this)[root()].base) resource.clear();
    else return refuse(place, "a \"$ref\" to another document");
  }
  TRY(const int start, at(root(), resource));
  if (by_pointer) {
    auto target = at(start, fragment);
    return target ? std::move(target) : Result<int>(invalid(place, "has a \"$ref\" to nothing"));
  }
  const auto found = named_.find(base + "#" + fragment);
  if (found == named_.end()) return invalid(place, "has a \"$ref\" to nothing");
  return at(root(), found->second);
}

std::string SchemaPlaces::shown(int place) const {
  std::string out = (*this)[place].pointer.substr(0, kMostShown);
  for (char& c : out)
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) c = ' ';
  while (out.size() == kMostShown && !out.empty() && static_cast<uint8_t>(out.back()) >= 0x80) out.pop_back();  // no half of a character
  return out.empty() ? "its root" : out;
}

Error SchemaPlaces::refuse(int place, std::string_view construct) const {
  return {Code::unsupported, "cannot constrain to the schema: " + shown(place) + " uses " + std::string(construct)};
}

Error SchemaPlaces::invalid(int place, std::string_view wrong) const {
  return {Code::invalid_request, "cannot constrain to the schema: " + shown(place) + " " + std::string(wrong)};
}
