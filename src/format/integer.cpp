// integer: plain integer elements; containers describe tables and packed code planes with them.
#include "format/codes.h"

namespace {
template <class T> void integer(const std::byte* b, float* out) { *out = static_cast<float>(codes::load<T>(b)); }
}  // namespace

extern const std::array<Format, 9> integer_formats;
const std::array<Format, 9> integer_formats = {{
    {"I8", Codes::s8, Scales::none, 1, 1, 1, 24, integer<int8_t>},
    {"I16", Codes::i16, Scales::none, 1, 1, 2, 25, integer<int16_t>},
    {"I32", Codes::i32, Scales::none, 1, 1, 4, 26, integer<int32_t>},
    {"I64", Codes::i64, Scales::none, 1, 1, 8, 27, integer<int64_t>},
    {"U8", Codes::u8, Scales::none, 1, 1, 1, -1, integer<uint8_t>},
    {"U16", Codes::i16, Scales::none, 1, 1, 2, -1, integer<uint16_t>},
    {"U32", Codes::i32, Scales::none, 1, 1, 4, -1, integer<uint32_t>},
    {"U64", Codes::i64, Scales::none, 1, 1, 8, -1, integer<uint64_t>},
    {"BOOL", Codes::u8, Scales::none, 1, 1, 1, -1, integer<uint8_t>},
}};
