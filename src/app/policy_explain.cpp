// policy_explain: a request as a client would send it, and what would become of it.
#include "app/policy_explain.h"

#include "app/console.h"
#include "app/dry_run.h"
#include "wire/wire.h"

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
  TRY(const Json explained, gate->explain(request));
  print_json(explained);
  return 0;
}
