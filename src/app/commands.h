// commands: the list of everything calla does; one file each.
#pragma once
#include "app/options.h"

std::span<const Command> commands();
int run_calla(std::span<const std::string_view> words);  // exit status; words without the program's name

int chat_command(const Options& options);
int run_command(const Options& options);
int serve_command(const Options& options);
int bench_command(const Options& options);
int inspect_command(const Options& options);
int pull_command(const Options& options);
int pack_command(const Options& options);
int list_command(const Options& options);
int remove_command(const Options& options);
int selftest_command(const Options& options);
int eval_command(const Options& options);
int tokenize_command(const Options& options);
int detokenize_command(const Options& options);
int template_command(const Options& options);
int perplexity_command(const Options& options);
int scan_command(const Options& options);
int gate_command(const Options& options);
int policy_command(const Options& options);
int audit_command(const Options& options);
int version_command(const Options& options);
