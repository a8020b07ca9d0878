// route: the table of privacy-interface.md 3.
#include "privacy/route.h"

namespace {

constexpr size_t bytes_per_token = 4;  // of English text, about

size_t prompt_bytes(const ChatRequest& request) {
  return request.messages_json.size() + request.tools_json.size() + (request.prompt ? request.prompt->size() : 0);
}

}  // namespace

Course course_of(Action action, bool pinned, bool prefers_cloud) {
  switch (action) {
    case Action::allow:
    case Action::mask: return pinned || prefers_cloud ? Course::cloud : Course::local;
    case Action::ask: return Course::ask;
    case Action::local: return pinned ? Course::refuse : Course::local;
    case Action::refuse: return Course::refuse;
  }
  return Course::refuse;
}

bool prefers_cloud(const Policy& policy, const ChatRequest& request) {
  if (policy.cloud_by_default) return true;
  const int above = policy.automatic.cloud_above_tokens;
  if (above > 0 && prompt_bytes(request) / bytes_per_token > static_cast<size_t>(above)) return true;
  return policy.automatic.cloud_with_tools && !request.tools_json.empty();
}

Course instead_of_asking(const Policy& policy, bool pinned) {
  return policy.ask_fallback == Action::refuse || pinned ? Course::refuse : Course::local;
}
