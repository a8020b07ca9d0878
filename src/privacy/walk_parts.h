// walk_parts: what a walk holds of a request until the masker takes it.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "privacy/clean.h"
#include "privacy/walk_json.h"

struct Walk::Parts {
  Json messages, tools;
  struct Target { std::string* text = nullptr; Json* node = nullptr; };  // where a JSON text goes when it is put together again
  std::deque<std::pair<JsonTexts, Target>> nested;
  struct Opaque { std::string path; Json* part; };                       // part null: token ids
  std::vector<Opaque> opaque;
  std::optional<std::string> prompt, suffix;
  std::vector<std::string> stop;
  ToolChoice tool_choice;
  Constraint constraint;
};
