// names: what a client called a member of its request, as it may stand in an error.
#pragma once
#include <string>
#include <string_view>

std::string shown_name(std::string_view name);  // itself when it could be a word of an API, else "*"
