// report_page: pieces of an HTML page: escaped text, tables, bars and lines, with colours that fit light and dark.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

std::string html(std::string_view text);                       // escaped for text and attributes
std::string grouped(int64_t number);                           // 12,345
std::string size_text(int64_t bytes);                          // "12.3 kB"

// Numbers side by side in one bar; each series keeps its colour (a CSS class) everywhere.
struct BarPart { std::string series, label; int64_t value; };
std::string bar(const std::vector<BarPart>& parts, int64_t whole);
// Columns over time, stacked by series, as inline SVG with a table for those who cannot see it.
struct TimeColumn { std::string label; std::map<std::string, int64_t> values; };
std::string time_chart(const std::vector<TimeColumn>& columns, const std::vector<std::pair<std::string, std::string>>& series);  // series, label
// Head and style; `body` goes between.
std::string page(std::string_view title, std::string_view body);
