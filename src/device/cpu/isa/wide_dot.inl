// wide_dot: runs of dot products for ISAs whose dot product adds to 32-bit lanes: the partial sum is the sum.
using Partial = I;
static constexpr int run_quads(int) { return 16; }
INLINE Partial begin_run(I sum) { return sum; }
template <bool Signed> INLINE Partial dot_run(Partial sum, B w, const int8_t* x4) { return dot<Signed>(sum, w, x4); }
INLINE I end_run(I, Partial sum) { return sum; }
