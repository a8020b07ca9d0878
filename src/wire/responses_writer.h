// responses: one answer of the Responses API: its items as they grow, and the events that tell of them.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "wire/responses_request.h"

// Whole answers and streams come from the same steps: the response object is what all events together say.
class ResponseWriter {
 public:
  using Emit = std::function<bool(const Json& event)>;  // false: the reader has gone away
  using Keep = std::function<bool(const Json& response)>;  // stores it; false: it could not
  ResponseWriter(const ResponsesRequest& request, Emit emit, Keep keep);
  const std::string& id() const { return id_; }
  bool begun() const { return begun_; }
  bool add(const Delta& delta);
  bool finish(const Finish& finish);
  bool cancel();                                        // keeps what was said
  bool fail(const ApiError& error);                     // after the first event: response.failed
  Json response() const;                                // as it stands

 private:
  enum class Open : uint8_t { none, reasoning, text, call };
  bool begin();
  bool emit(const char* type, Json members);
  bool open(Open kind, Json item, const Json& part);
  bool close(const char* status);
  bool open_for(const Delta& delta);
  bool add_piece(const Delta& delta);
  bool end(const char* event, const char* status);
  Json item_place() const;                              // {"item_id","output_index"}
  Json part_place() const;                              // and {"content_index"}
  const ResponsesRequest& request_;
  const Emit emit_;
  const Keep keep_;                                     // called before the last event, so that the next request finds it
  const std::string id_;
  const int64_t created_;
  bool begun_ = false, stored_;
  int64_t sequence_ = 0;
  Open open_ = Open::none;
  int tool_index_ = -1;                                 // of the open call
  Json output_ = Json::array();                         // the last item is the open one
  std::string status_ = "in_progress";
  Json error_, incomplete_, usage_, report_;            // report_: further members of a finished response
};
