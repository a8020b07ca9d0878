// conversation: how a request without a conversation's id is recognised: by digests of its messages.
#pragma once
#include <string>
#include <vector>
#include "chat/chat.h"

// One digest for each message that is not a system text; system texts count with the message behind them. What a client may drop from its
// history (thoughts, ids of calls) does not count. A raw prompt is one message.
std::vector<std::string> message_digests(const ChatRequest& request);
// Of all texts of a request: what a consent is bound to beside the digest of its body.
std::string content_digest(const ChatRequest& request);
