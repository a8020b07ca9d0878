// twins: the words of Encoder once more in double precision, slowly, over what format's reference decoder says is stored; and how far a result is from them.
#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>
#include "device/device.h"

// Multiples of 2^-14 that a half holds exactly: a device may keep lookup tables, and so the inputs of tests, in half precision.
float storable(float x);
std::vector<float> noise(int64_t n, unsigned seed, float size = 1, float mean = 0);
void in_parallel(int64_t n, const std::function<void(int64_t)>& work);  // work(0), …, work(n - 1) on all cores

std::vector<float> decoded(const StoredMatrix& m);  // [rows, cols]
double dot(const float* a, const float* b, int64_t n);
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double activate(Activation a, double x);

// Row by row of `width`: the error's norm is within `bound` of the norm of `size` (empty: of what is wanted), and no element is off by more than
// 8 bounds of its root mean square.
void expect_close(std::span<const float> got, std::span<const double> want, int64_t width, double bound, const std::string& what, std::span<const double> size = {});
// y = x w^T + bias for x [rows, cols], w [outs, cols]. Of a large result three rows are checked wholly, of the others some outputs; all must be finite.
struct Product { std::span<const float> x, w, bias; int64_t cols; };
void expect_product(std::span<const float> y, const Product& p, double bound, const std::string& what);
void expect_same_bits(std::span<const float> got, std::span<const float> want, const std::string& what);

// The largest distances of all checks under a name, in units of their bounds: printed at the end.
void print_distances();
