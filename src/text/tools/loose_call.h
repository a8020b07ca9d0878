// loose call: NAME and an object that is written almost like JSON.
#pragma once
#include "text/tools/loose.h"
#include "text/tools/stream_parser.h"

class LooseCall {
 public:
  LooseCall(char opener, LooseStyle style) : opener_(opener), object_(style) {}
  Step feed(char c, CallWriter& writer) {
    if (!announced_ && c != opener_) {
      if (!name_.empty() || !is_json_space(c)) name_ += c;
      return name_.size() > 256 || c == '\n' ? Step::bad : Step::more;
    }
    if (!announced_) return announce(writer) ? Step::more : Step::bad;
    std::string json;
    const bool fits = object_.feed(c, json);
    writer.arguments(json);
    if (!fits) return Step::bad;
    if (!object_.done()) return Step::more;
    writer.end();
    return Step::done;
  }

 private:
  bool announce(CallWriter& writer) {
    while (!name_.empty() && is_json_space(name_.back())) name_.pop_back();
    if (!writer.find(name_)) return false;
    writer.begin(name_);
    return announced_ = true;
  }

  const char opener_;
  LooseObject object_;
  std::string name_;
  bool announced_ = false;
};
