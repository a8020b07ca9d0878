// phone_regions: how telephone numbers of regions look. Written by tools/make_phone_regions.py.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace contact {

struct PhoneRegion {
  std::string_view name;          // ISO 3166
  uint16_t code;                  // calling code
  std::string_view trunk;         // dialled before the number inside the region; empty: none
  uint32_t lengths;               // bit n: numbers of n digits exist
  uint64_t begins[2];             // bit p: a number may begin with the two digits of p
  std::string_view mobile, fixed;  // RE2 of a whole number without trunk prefix; fixed: and all others
};
std::span<const PhoneRegion> phone_regions();
std::span<const uint16_t> calling_codes();  // of the whole world, sorted

}  // namespace contact
