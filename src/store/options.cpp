// options: where the cache lies and how the hub is reached, from the environment, as huggingface_hub reads it.
#include <cstdlib>
#include <fstream>
#include "store/names.h"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string expand(std::string path) {
  if (path == "~" || path.starts_with("~/")) path.replace(0, 1, variable("HOME"));
  return path;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

bool is_true(const std::string& value) {
  const std::string word = store::lower(value);
  return word == "1" || word == "on" || word == "yes" || word == "true" || word == "y";
}

std::string token(const std::string& home) {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
    if (const std::string value = trimmed(variable(name)); !value.empty()) return value;
  if (is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return "";
  const std::string path = variable("HF_TOKEN_PATH");
  std::ifstream file(path.empty() ? home + "/token" : expand(path));
  std::string line;
  std::getline(file, line);
  return trimmed(line);
}

}  // namespace

StoreOptions store_options_from_environment() {
  StoreOptions options;
  std::string home = expand(variable("HF_HOME"));
  if (home.empty()) {
    const std::string xdg = expand(variable("XDG_CACHE_HOME"));
    home = (xdg.empty() ? expand("~/.cache") : xdg) + "/huggingface";
  }
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (options.cache_dir.empty()) options.cache_dir = expand(variable(name));
  if (options.cache_dir.empty()) options.cache_dir = home + "/hub";
  const std::string calla = expand(variable("CALLA_CACHE")), xdg = expand(variable("XDG_CACHE_HOME"));
  options.packed_dir = (!calla.empty() ? calla : (xdg.empty() ? expand("~/.cache") : xdg) + "/calla") + "/packed";
  if (const std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) options.endpoint = endpoint;
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  options.token = token(home);
  options.offline = is_true(variable("HF_HUB_OFFLINE")) || is_true(variable("TRANSFORMERS_OFFLINE"));
  return options;
}
