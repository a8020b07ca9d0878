// pace: how many rows of prompts stand beside sequences that are decoding, so that those are not held up for long.
#pragma once
#include <algorithm>

// A step with prompt rows should last at most about twice as long as one that only decodes. How long both last is measured: what a step
// of n decoding rows takes alone, and what a prompt row adds to it; the rows that fit are the first divided by the second. Every so many
// steps one goes without prompt rows, to measure decoding alone again: it changes with the number of sequences and with their length.
// Prompts get on in any case, `least_rows` at a time: where a row costs more than that (a mixture of experts reads other experts for it),
// decoding slows down by more than two, but a long prompt does not take for ever.
class Pace {
 public:
  static constexpr int least_rows = 8;

  // Rows of prompts for the next step beside `n_decoding` > 0, at most `most`; 0: this one measures decoding alone.
  int rows(int n_decoding, int most) {
    const bool stale = since_measured_ >= 64 || (n_decoding != measured_rows_ && since_measured_ >= 8);
    if (decode_s_ == 0 || stale) return 0;
    if (row_s_ == 0) return std::min(least_rows, most);
    constexpr double share = 0.9;  // of the time that decoding takes: what is measured scatters
    const double fit = std::min(share * decode_s_ / row_s_, 2.0 * std::max(last_rows_, least_rows));  // a guess about many rows from few may be wrong
    return std::min(most, std::max(least_rows, static_cast<int>(fit)));
  }
  // How long a step lasted. Steps without decoding rows say nothing here.
  void took(int n_decoding, int n_prompt_rows, double seconds) {
    if (n_decoding == 0 || seconds <= 0) return;
    if (n_prompt_rows == 0) {
      decode_s_ = n_decoding == measured_rows_ ? 0.5 * (decode_s_ + seconds) : seconds;
      measured_rows_ = n_decoding;
      since_measured_ = 0;
      return;
    }
    const double each = std::max(seconds - decode_s_, 1e-9) / n_prompt_rows;
    // Few rows cost more each than many: what the last steps showed counts as much as all before.
    row_s_ = row_s_ == 0 ? each : 0.5 * (row_s_ + each);
    last_rows_ = n_prompt_rows;
    ++since_measured_;
  }

 private:
  double decode_s_ = 0, row_s_ = 0;  // 0: unknown
  int measured_rows_ = 0, last_rows_ = 0, since_measured_ = 0;
};
