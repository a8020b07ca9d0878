// route: where a request goes, from what was decided about it and what its user asked for: a pure function.
#pragma once
#include <cstdint>
#include "chat/chat.h"
#include "privacy/policy.h"

enum class Course : uint8_t { local, cloud, ask, refuse };

// `pinned`: the request names a cloud model, which the local one never stands in for. `prefers_cloud`: what `auto` does with what may leave.
Course course_of(Action action, bool pinned, bool prefers_cloud);
// What the user set for requests that may leave: default_route, long prompts, tools.
bool prefers_cloud(const Policy& policy, const ChatRequest& request);
// What stands in for asking where nobody can be asked.
Course instead_of_asking(const Policy& policy, bool pinned);
