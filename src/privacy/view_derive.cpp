// view_derive: to come.
#include "privacy/view_derive.h"

View numerals_view(std::string_view) { return {}; }
View squeezed_view(std::string_view) { return {}; }
View reversed_view(std::string_view) { return {}; }
Decoded decode(std::string_view, size_t&) { return {}; }
