// cache_report: says in text where a prompt left what was cached.
#pragma once
#include "engine/engine.h"
#include "engine/prompt.h"

CacheReport explain_cache(const Tokenizer& tokenizer, const ChatRequest& request, const RenderedPrompt& prompt, const Divergence& divergence);
