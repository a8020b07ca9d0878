// server_options: from the options of the command line to those of the server.
#pragma once
#include "app/options.h"
#include "wire/wire.h"

// Reads the files that options name.
Result<ServerOptions> server_options(const Options& options);
