// policy_explain: a request as a client would send it, and what would become of it.
#include "app/policy_explain.h"

#include "app/console.h"
#include "app/dry_run.h"
#include "wire/wire.h"

namespace {

// What serving would call the model that answers here; "local" where the configuration has no name for it.
std::string first_local_name(const std::string& path) {
  Options serving;
  if (!read_configuration(path, {}, serving) || serving.locals.empty() || serving.locals.front().served_name.empty()) return "local";
  return serving.locals.front().served_name;
}

}  // namespace

Result<int> explain_request(const Options& options, const std::string& path) {
  const auto config = read_gate_config(path);
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().message.c_str());
    return 2;
  }
  TRY(const auto gate, dry_gate(*config));
  TRY(const std::string body, read_standard_input("the request"));
  TRY(ChatRequest request, read_chat_request(body));
  if (!options.privacy.model.empty()) request.model = options.privacy.model;
  for (const std::string& header : options.privacy.headers) TRY_STATUS(add_header(request, header));
  TRY(Json explained, gate->explain(request));
  if (explained["model"] == "local/local") explained["model"] = "local/" + first_local_name(path);
  print_json(explained);
  return 0;
}
