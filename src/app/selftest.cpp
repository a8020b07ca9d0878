// selftest: runs the checks one after the other; exit status 1 when a line fails.
#include "app/selftest.h"

#include <fmt/format.h>
#include "app/commands.h"
#include "app/console.h"

namespace {

Status run_all(const Options& options, std::vector<Line>& lines) {
  TRY(auto model, open_for_test(options, 512));
  const auto say = [&](const Line& line) {
    if (options.json) return;
    fmt::print("{:4} {}: {}\n", line.skipped ? "-" : line.ok ? "ok" : "FAIL", line.name, line.figures);
    std::fflush(stdout);
  };
  SelftestContext context{options, Prompts(model.tokenizer.get(), model.engine->config().vocab_size), {}, say};
  if (!options.json)
    fmt::print("{} on {}, {} precision, {}\n", model.file.name, model.device_name, options.precision == Precision::exact ? "exact" : "fast",
               context.prompts.real() ? "prompts of English text" : "prompts of spread-out ids");
  TRY_STATUS(check_batch(context, model));
  TRY_STATUS(check_cache(context, model));
  model = OpenedModel();  // one copy of the weights at a time
  TRY_STATUS(check_chunks(context));
  TRY_STATUS(check_threads(context));
  TRY_STATUS(check_isas(context));
  TRY_STATUS(check_precision(context));
  lines = std::move(context.lines);
  return ok_status();
}

}  // namespace

int selftest_command(const Options& options) {
  std::vector<Line> lines;
  const Status done = run_all(options, lines);
  if (!done) return fail(done.error());
  bool ok = true;
  Json all = Json::array();
  for (const Line& line : lines) {
    ok = ok && line.ok;
    all.push_back({{"check", line.name}, {"result", line.skipped ? "skipped" : line.ok ? "ok" : "fail"}, {"figures", line.figures}});
  }
  if (options.json) print_json({{"ok", ok}, {"checks", all}});
  return ok ? 0 : 1;
}
