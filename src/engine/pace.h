// pace: how many rows of prompts stand beside sequences that are decoding, so that those are not held up for long.
#pragma once
#include <algorithm>

// A step with prompt rows should last at most about twice as long as one that only decodes. How long both last is measured: what a step
// of n decoding rows takes alone, and what prompt rows added to the last steps; the rows that fit are the first divided by the second.
// Every so many steps one goes without prompt rows, to measure decoding alone again: it changes with the number of sequences and with
// their length. Where so few rows fit that a prompt would take for ever (a row of a mixture of experts reads other experts, and costs as
// much as decoding one), `least_rows` are taken all the same, and decoding slows down by more than two.
class Pace {
 public:
  static constexpr int least_rows = 8;
  static constexpr double least_rows_per_second = 50;

  // Rows of prompts for the next step beside `n_decoding` > 0, at most `most`; 0: this one measures decoding alone.
  int rows(int n_decoding, int most) {
    const bool stale = since_measured_ >= 32 || (n_decoding != measured_rows_ && since_measured_ >= 8);
    if (decode_s_ == 0 || stale) return 0;
    if (sum_rows_ == 0) return std::min(first_rows, most);
    constexpr double share = 0.9;  // of the time that decoding takes: what is measured scatters
    double fit = share * decode_s_ * sum_rows_ / std::max(sum_s_, 1e-9);
    if (fit < least_rows_per_second * (1 + share) * decode_s_) fit = std::max<double>(fit, least_rows);
    fit = std::min(fit, 2.0 * std::max(last_rows_, first_rows));  // a guess about many rows from few may be wrong
    const int rows = std::min(most, std::max(1, static_cast<int>(fit)));
    return rows < 2 * grain ? rows : rows / grain * grain;
  }
  // How long a step lasted. Steps without decoding rows say nothing here.
  void took(int n_decoding, int n_prompt_rows, double seconds) {
    if (n_decoding == 0 || seconds <= 0) return;
    if (n_prompt_rows == 0) {
      // Whatever disturbs a step makes it longer, so short ones are believed sooner than long ones.
      if (decode_s_ == 0) decode_s_ = seconds;
      else decode_s_ = seconds < decode_s_ ? 0.5 * (decode_s_ + seconds) : std::min(seconds, (n_decoding > measured_rows_ ? 1.5 : 1.1) * decode_s_);
      measured_rows_ = n_decoding;
      since_measured_ = 0;
      return;
    }
    constexpr double remembered = 0.75;  // of the sums, from step to step: the last four count for most
    sum_s_ = remembered * sum_s_ + seconds - decode_s_;
    sum_rows_ = remembered * sum_rows_ + n_prompt_rows;
    last_rows_ = n_prompt_rows;
    ++since_measured_;
  }

 private:
  static constexpr int first_rows = 4;  // while nothing is known
  static constexpr int grain = 8;       // so that steps have the same shape again and again: devices replay those
  double decode_s_ = 0, sum_s_ = 0, sum_rows_ = 0;
  int measured_rows_ = 0, last_rows_ = 0, since_measured_ = 0;
};
