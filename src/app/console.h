// console: what a command says and how it is interrupted: error lines, progress lines, signals, standard input.
#pragma once
#include <atomic>
#include <functional>
#include <thread>
#include "core/core.h"
#include "core/json_writer.h"

// Prints "calla: message" and gives the exit status: 1, or 130 when the error is a cancellation.
int fail(const Error& error);
int usage_error(const Error& error);  // the same, exit status 2
void note(const std::string& text);   // "calla: note: text" on standard error
void print_json(const Json& value);   // one line on standard output

bool is_terminal(int descriptor);
std::string human_bytes(double bytes);      // "98.4 MB", powers of 1000
std::string human_seconds(double seconds);  // "42 s", "3 min 10 s", "2 h 5 min"
double seconds_now();                       // monotonic

// Everything on standard input, refused above max_bytes.
Result<std::string> read_standard_input(std::string_view what, size_t max_bytes = size_t{64} << 20);
// Standard input when it is a file or a pipe; "" when it is a terminal or a device.
Result<std::string> read_piped_input(std::string_view what);

// One line on standard error that is rewritten in place; silent when standard error is no terminal. Cleared on destruction.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  bool active_, shown_ = false;
  double last_ = 0;
};

// From main: SIGINT and SIGTERM end the process at once with 128 + signal, a closed pipe ends it quietly.
void install_signal_defaults();
// While it lives, SIGINT and SIGTERM call `on_signal` on a thread of its own instead. Create it before other threads: they inherit the mask.
class Interrupts {
 public:
  explicit Interrupts(std::function<void(int signal)> on_signal);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};
void ignore_broken_pipes();  // for commands that write to sockets

// Text of a model made safe to show: control characters other than newline and tab become visible pictures.
std::string printable(std::string_view text);
