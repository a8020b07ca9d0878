// pack: writes a model's packed file ahead of its first use, or proves the one that is there.
#include <fmt/format.h>
#include <filesystem>
#include "app/commands.h"
#include "app/console.h"
#include "app/open.h"

namespace {

struct Packed {
  std::string path;
  size_t bytes = 0;
  bool was_there = false;
};

Result<Packed> pack(const Options& options) {
  Options packing = options;
  packing.packed = true;
  TRY(const OpenedFile file, open_file(options));
  TRY(const DeviceOptions wanted, device_options(packing, *file.weights));
  Packed done{wanted.packed_path};
  if (options.verify) {
    TRY(done.bytes, verify_packed(wanted.packed_path));
    return done;
  }
  TRY(const auto device, make_cpu_device(wanted));
  done.was_there = device->has_packed();
  if (!done.was_there) {
    TRY(const LoadedModel loaded, load_with_progress(*file.weights, *device, false));
    for (const std::string& text : loaded.notes) note(text);
  }
  std::error_code error;
  done.bytes = std::filesystem::file_size(done.path, error);
  if (error) return Error{Code::io, "cannot pack " + file.name + ": no packed file was written"};
  return done;
}

}  // namespace

int pack_command(const Options& options) {
  const auto done = pack(options);
  if (!done) return fail(done.error());
  const char* const what = options.verify ? "verified" : done->was_there ? "was there" : "written";
  if (options.json) print_json({{"path", done->path}, {"bytes", done->bytes}, {"result", what}});
  else fmt::print("{}: {}, {}\n", done->path, human_bytes(static_cast<double>(done->bytes)), what);
  return 0;
}
