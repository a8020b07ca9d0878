// read_ahead: stays a window ahead of its user, so that the disk never waits for the packer nor the packer for the disk.
#include "model/read_ahead.h"

#include <algorithm>
#include "core/mapped_file.h"

namespace {
constexpr size_t kPiece = size_t{8} << 20, kWindow = size_t{512} << 20;  // the window holds the largest matrix of most models
}

ReadAhead::ReadAhead(std::vector<std::span<const std::byte>> ranges)
    : thread_([this, ranges = std::move(ranges)](std::stop_token stop) {
        size_t asked = 0;
        for (const auto& range : ranges)
          for (size_t at = 0; at < range.size(); at += kPiece) {
            for (size_t seen = used_; asked >= seen + kWindow && !stop.stop_requested(); seen = used_) used_.wait(seen);
            if (stop.stop_requested()) return;
            const auto piece = range.subspan(at, std::min(kPiece, range.size() - at));
            MappedFile::will_need(piece);
            asked += piece.size();
          }
      }) {}

ReadAhead::~ReadAhead() {
  thread_.request_stop();
  used(1);
}

void ReadAhead::used(size_t bytes) {
  used_ += bytes;
  used_.notify_one();
}
