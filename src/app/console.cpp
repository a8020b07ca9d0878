// console: error lines, progress lines, signals and standard input over the plain system calls.
#include "app/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace {

constexpr size_t kLongestLine = 100'000;  // names and values from outside have any length

std::string one_line(std::string text) {
  if (text.size() > kLongestLine) text.replace(kLongestLine, std::string::npos, "...");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
  return text;
}

extern "C" void end_at_once(int signal) { _exit(128 + signal); }

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

sigset_t interrupt_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

int fail(const Error& error) {
  if (error.code == Code::cancelled) return 130;
  std::fflush(stdout);
  std::fprintf(stderr, "calla: %s\n", one_line(error.message).c_str());
  return 1;
}

int usage_error(const Error& error) {
  std::fprintf(stderr, "calla: %s\n", one_line(error.message).c_str());
  return 2;
}

void note(const std::string& text) { std::fprintf(stderr, "calla: note: %s\n", one_line(text).c_str()); }

void print_json(const Json& value) {
  const std::string text = text_of(value) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

std::string human_bytes(double bytes) {
  const char* units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  while (bytes >= 999.95 && unit < 5) bytes /= 1000, unit++;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.{}f} {}", bytes, bytes < 100 ? 2 : 1, units[unit]);
}

std::string human_seconds(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto s = static_cast<long>(seconds + 0.5);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Result<std::string> read_standard_input(std::string_view what, size_t max_bytes) {
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error{Code::io, fmt::format("cannot read {}: standard input: {}", what, strerror(errno))};
    if (text.size() + static_cast<size_t>(n) > max_bytes)
      return Error{Code::too_large, fmt::format("cannot read {}: standard input: at most {} bytes expected, more found", what, max_bytes)};
    text.append(buffer.data(), static_cast<size_t>(n));
  }
}

Result<std::string> read_piped_input(std::string_view what) {
  struct stat info {};
  if (fstat(STDIN_FILENO, &info) != 0 || S_ISCHR(info.st_mode)) return std::string();
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  if (poll(&waiting, 1, 2000) == 0) note(fmt::format("waiting for {} on standard input; </dev/null says that there is none", what));
  return read_standard_input(what);
}

ProgressLine::ProgressLine() : active_(is_terminal(STDERR_FILENO)) {}

void ProgressLine::show(const std::string& text) {
  const double now = seconds_now();
  if (!active_ || (shown_ && now - last_ < 0.1)) return;
  last_ = now;
  shown_ = true;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void install_signal_defaults() {
  set_handler(SIGINT, end_at_once);
  set_handler(SIGTERM, end_at_once);
  set_handler(SIGPIPE, SIG_DFL);
}

void ignore_broken_pipes() { set_handler(SIGPIPE, SIG_IGN); }

Interrupts::Interrupts(std::function<void(int)> on_signal) {
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this, set, on_signal = std::move(on_signal)] {
    const timespec wait{0, 100'000'000};  // how late the destructor may be noticed
    while (!done_) {
      const int signal = sigtimedwait(&set, nullptr, &wait);
      if (signal > 0) on_signal(signal);
    }
  });
}

Interrupts::~Interrupts() {
  done_ = true;
  thread_.join();
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '\r' || (byte >= 32 && byte != 127) || c == '\n' || c == '\t') {
      if (c != '\r') out += c;
    } else {  // U+2400 … are the pictures of control characters
      out += "\xe2\x90";
      out += byte == 127 ? '\xa1' : static_cast<char>(0x80 + byte);
    }
  }
  return out;
}
