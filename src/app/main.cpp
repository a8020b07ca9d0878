// main: the one binary.
#include "app/commands.h"
#include "app/console.h"

int main(int argc, char** argv) {
  install_signal_defaults();
  const std::vector<std::string_view> words(argv + (argc > 0), argv + argc);
  return run_calla(words);
}
