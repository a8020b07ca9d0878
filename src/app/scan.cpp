// scan: the detectors on their own: texts, files, folders and JSON lines; an exit status that a hook can use.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <filesystem>
#include <map>
#include "app/commands.h"
#include "app/console.h"
#include "app/scan_text.h"
#include "app/span_model.h"
#include "core/json.h"
#include "core/mapped_file.h"

namespace {

namespace fs = std::filesystem;
constexpr size_t most_file_bytes = size_t{1} << 30, most_line_bytes = size_t{64} << 20;

class Scan {
 public:
  Scan(const Options& options, TextScanner scanner) : options_(options), scanner_(std::move(scanner)) {
    winsize size{};
    const bool terminal = is_terminal(STDOUT_FILENO);
    columns_ = terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 120;
    color_ = terminal && options.color;
  }

  void text(const std::string& name, std::string_view text) {
    ++texts_;
    const ScanReport report = scanner_.scan(text);
    for (const Finding& finding : report.findings) ++counts_[std::string(name_of(finding.cls))];
    say(options_.json ? text_of(report_json(name, text, report)) + "\n" : report_text(name, text, report, columns_, color_));
  }

  void path(const std::string& name) {
    std::error_code error;
    if (fs::is_directory(name, error)) return folder(name);
    file(name);
  }

  // One answer for each line, in order.
  void json_lines(std::FILE* in) {
    char* data = nullptr;
    size_t capacity = 0;
    ssize_t size = 0;
    for (int64_t number = 1; (size = getline(&data, &capacity, in)) >= 0; ++number) {
      const std::string_view line(data, static_cast<size_t>(size));
      if (line.find_first_not_of(" \t\r\n") != std::string_view::npos) say(text_of(json_line(line, number)) + "\n");
    }
    std::free(data);
    if (std::ferror(in) != 0) problem("", "cannot read " + options_.privacy.jsonl);
  }

  int finish() {
    if (!options_.json && options_.privacy.jsonl.empty()) summary();
    if (failed_) return 2;
    return counts_.empty() ? 0 : 1;
  }

 private:
  void say(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    failed_ = failed_ || !written;
  }

  void problem(const std::string& name, const std::string& message) {
    failed_ = true;
    if (options_.json && !name.empty()) return say(text_of({{"id", name}, {"error", message}}) + "\n");
    std::fprintf(stderr, "calla: %s\n", message.c_str());
  }

  void skipped(const std::string& name, const char* why) {
    ++skipped_;
    if (options_.json) say(text_of({{"id", name}, {"skipped", why}}) + "\n");
    else std::fprintf(stderr, "calla: note: %s: left out, %s\n", name.c_str(), why);
  }

  void file(const std::string& name) {
    const auto content = read_file(name, most_file_bytes);
    if (!content) return problem(name, content.error().message);
    if (looks_binary(*content)) return skipped(name, "it is binary");
    text(name, *content);
  }

  // In the order of names, so that two runs say the same.
  void folder(const std::string& name) {
    std::vector<fs::path> inside;
    std::error_code error;
    for (auto entry = fs::directory_iterator(name, error); !error && entry != fs::directory_iterator(); entry.increment(error)) inside.push_back(entry->path());
    if (error) return problem(name, "cannot read the folder " + name + ": " + error.message());
    std::ranges::sort(inside);
    for (const fs::path& path : inside) {
      const auto status = fs::symlink_status(path, error);
      if (fs::is_directory(status)) {
        if (path.filename() != ".git") folder(path.string());
      } else if (fs::is_regular_file(status)) {
        file(path.string());
      }
    }
  }

  Json json_line(std::string_view line, int64_t number) {
    const auto failure = [&](const Json& id, const char* why) -> Json {
      failed_ = true;
      return {{"id", id}, {"error", fmt::format("line {}: {}", number, why)}};
    };
    const auto document = JsonDocument::parse("a line", line, most_line_bytes);
    if (!document || !document->root().is_object()) return failure(nullptr, "a JSON object with id and text expected");
    const auto id = find(document->root(), "id");
    const Json shown = id ? Json::parse(simdjson::minify(*id), nullptr, false) : Json();
    const auto text = find_string(document->root(), "text");
    if (!text) return failure(shown, "text is missing, or no text");
    const ScanReport report = scanner_.scan(*text);
    for (const Finding& finding : report.findings) ++counts_[std::string(name_of(finding.cls))];
    return report_json(shown, *text, report);
  }

  void summary() {
    std::string classes;
    int64_t all = 0;
    for (const auto& [name, n] : counts_) classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", name, n), all += n;
    const std::string where = texts_ == 1 ? "1 text" : fmt::format("{} texts", texts_), left_out = skipped_ == 0 ? "" : fmt::format("; {} left out", skipped_);
    say(all == 0 ? fmt::format("nothing found in {}{}\n", where, left_out) : fmt::format("{} found in {}{}: {}\n", all, where, left_out, classes));
  }

  const Options& options_;
  const TextScanner scanner_;
  int columns_ = 0;
  bool color_ = false, failed_ = false;
  int64_t texts_ = 0, skipped_ = 0;
  std::map<std::string, int64_t> counts_;
};

Result<int> scan(const Options& options) {
  const std::string& lines = options.privacy.jsonl;
  if (!lines.empty() && !options.arguments.empty()) return Error{Code::invalid_request, "cannot scan: --jsonl and files are both given, one expected"};
  std::optional<Policy> policy;
  std::shared_ptr<SpanModel> model;
  if (!options.privacy.policy.empty()) {
    TRY(GateConfig config, read_gate_config(options.privacy.policy));
    TRY(model, open_span_model(config.model));
    policy = std::move(config.policy);
  }
  TRY(TextScanner scanner, TextScanner::make(policy, options.privacy.tiers, std::move(model)));
  Scan scan(options, std::move(scanner));
  if (!lines.empty()) {
    std::FILE* in = lines == "-" ? stdin : std::fopen(lines.c_str(), "rb");
    if (in == nullptr) return Error{Code::io, "cannot read " + lines + ": " + std::strerror(errno)};
    scan.json_lines(in);
    if (in != stdin) std::fclose(in);
  } else if (options.arguments.empty()) {
    TRY(const std::string text, read_standard_input("the text", most_file_bytes));
    scan.text("stdin", text);
  }
  for (const std::string& name : options.arguments) scan.path(name);
  return scan.finish();
}

}  // namespace

int scan_command(const Options& options) {
  const auto status = scan(options);
  return status ? *status : usage_error(status.error());
}
