// disk_folder: the folder of one disk cache: made, locked, listed; and room made in it by deleting folders of other keys.
#pragma once
#include <string>
#include <unordered_map>
#include "engine/cache_id.h"

struct DiskFolder {
  std::string path;
  int lock_fd = -1;            // closing it gives the lock back; so does any death of the process
  size_t elsewhere_bytes = 0;  // what other folders in the same directory keep
};
// Fails with overloaded when another process (or engine) has it. Folders of others that nobody has open are deleted, those not used for
// longest first, as far as `max_bytes` demands.
Result<DiskFolder> open_disk_folder(const std::string& dir, const std::string& name, size_t max_bytes);
std::string blob_path(const std::string& folder, const CacheId& id);
// Every blob and its length. What is in the folder of blobs and is none is deleted.
std::unordered_map<CacheId, size_t, CacheIdHash> list_blobs(const std::string& folder);
