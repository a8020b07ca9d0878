// terminal: the real terminal in raw mode, and the file that keeps the history.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include "app/line_editor.h"
#include "core/mapped_file.h"

namespace {

class RawTerminal final : public Terminal {
 public:
  RawTerminal() {
    if (tcgetattr(STDIN_FILENO, &saved_) != 0) return;
    termios raw = saved_;
    raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON | BRKINT | ISTRIP);
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
  ~RawTerminal() override {
    if (raw_) tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
  }
  int read() override {
    unsigned char byte = 0;
    ssize_t n = 0;
    while ((n = ::read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) {
    }
    return n == 1 ? byte : -1;
  }
  void write(std::string_view text) override {
    while (!text.empty()) {
      const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      text.remove_prefix(static_cast<size_t>(n));
    }
  }
  int columns() override {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }

 private:
  termios saved_{};
  bool raw_ = false;
};

std::string escaped(const std::string& entry) {
  std::string out;
  for (const char c : entry) out += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return out;
}

std::string unescaped(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); i++) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      i++;
      out += line[i] == 'n' ? '\n' : line[i];
    } else {
      out += line[i];
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<Terminal> open_raw_terminal() { return std::make_unique<RawTerminal>(); }

void History::add(std::string entry) {
  if (entry.empty() || (!entries_.empty() && entries_.back() == entry)) return;
  if (entries_.size() == kMaxEntries) entries_.erase(entries_.begin());
  entries_.push_back(std::move(entry));
}

void History::load(const std::string& path) {
  const auto text = read_file(path, size_t{16} << 20);
  if (!text) return;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    add(unescaped(std::string_view(*text).substr(at, end - at)));
    at = end + 1;
  }
}

bool History::save(const std::string& path) const {
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (std::filesystem::create_directories(folder, error)) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  const std::string part = path + ".part";  // renamed when whole: a crash leaves the old history
  const int descriptor = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  std::string text;
  for (const std::string& entry : entries_) text += escaped(entry) + "\n";
  const bool written = fchmod(descriptor, 0600) == 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return (close(descriptor) == 0) && written && rename(part.c_str(), path.c_str()) == 0;
}
