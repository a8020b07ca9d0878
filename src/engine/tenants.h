// tenants: who has how many running places, so that they can be shared out evenly.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

struct Tenant {
  int running = 0;
  uint64_t served = 0;  // when a sequence of theirs was started last, as a number that only grows
};

// Engine thread only. A tenant is forgotten when no sequence refers to it.
class Tenants {
 public:
  std::shared_ptr<Tenant> get(const std::string& name) {
    if (auto known = tenants_[name].lock()) return known;
    std::erase_if(tenants_, [](const auto& entry) { return entry.second.expired(); });
    auto tenant = std::make_shared<Tenant>();
    tenants_[name] = tenant;
    return tenant;
  }

 private:
  std::map<std::string, std::weak_ptr<Tenant>> tenants_;
};
