// side_by_side: two texts in two columns of a terminal, wrapped by the width of their characters.
#pragma once
#include <string>
#include <string_view>

struct ColumnText { std::string_view title, text; };
// Each line of one beside the same line of the other. `columns`: of both and what is between them.
std::string side_by_side(const ColumnText& left, const ColumnText& right, size_t columns, bool color);
