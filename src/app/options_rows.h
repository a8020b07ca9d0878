// options: the parts of the one table, by file.
#pragma once
#include "app/options.h"
#include "core/json_writer.h"

std::span<const OptionSpec> serve_option_rows();
std::span<const OptionSpec> familiar_option_rows();
std::span<const OptionSpec> privacy_option_rows();
