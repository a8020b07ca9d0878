// usefulness: what a recurrent snapshot is worth; the least worthy one goes first, in memory and on disk.
#pragma once
#include <algorithm>

// `saved_tokens`: from the next snapshot below it, where a prompt would otherwise have to begin; it grows when that one goes, so what
// stays is spread over positions, and never are all of them given up at once. `n_ends`: conversations that lead through it. `age`: since
// its last use, in any unit.
inline double usefulness(int saved_tokens, int n_ends, double age) { return static_cast<double>(saved_tokens) * std::max(n_ends, 1) / std::max(age, 1.0); }
