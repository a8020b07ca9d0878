// probabilities: log-probabilities of a row of logits, in double.
#pragma once
#include "core/core.h"

double log_sum_exp(std::span<const float> logits);
double log_probability(std::span<const float> logits, TokenId id);  // -infinity for ids outside the row
// KL(p || q) of the two softmaxes, in nats.
double divergence(std::span<const float> p_logits, std::span<const float> q_logits);
TokenId best(std::span<const float> logits);  // lowest id among equals
float largest_difference(std::span<const float> a, std::span<const float> b);  // infinity for rows of different length or NaN
