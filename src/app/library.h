// library: the models that this machine has: named on the command line or in the configuration, in the store, in a folder, and copies of those.
#pragma once
#include "app/options.h"
#include "app/shelf.h"
#include "store/store.h"

// `options` names the model that is loaded at the start, and those of the configuration; the rest follows from the machine.
std::unique_ptr<Library> make_library(const Options& options);
// Fails when one of those is not on this machine and is not to be fetched.
Status check_named(const Options& options);

// What a model's files say about it; nothing is loaded.
Result<ModelInfo> inspect_info(const std::string& path);

// Names that were given to models by copy, kept in a file of the state folder.
class CopyList {
 public:
  explicit CopyList(std::string path) : path_(std::move(path)) {}  // "": kept nowhere
  Result<std::vector<std::pair<std::string, std::string>>> read() const;  // name, listed name of what it stands for
  Status add(const std::string& name, const std::string& of) const;
  Status remove(const std::string& name) const;

 private:
  Status write(const std::vector<std::pair<std::string, std::string>>& copies) const;
  std::string path_;
};
