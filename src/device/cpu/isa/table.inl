// table: this ISA's kernels in one struct; included last by every ISA file inside its namespace.
static constexpr Kernels make_table(const char* name) {
  return Kernels{name, int8_peak,
                 false,
                 {CALLA_LINEAR_KINDS(CALLA_INTEGER)},
                 {CALLA_LINEAR_KINDS(CALLA_EXACT)},
                 quantise, group_sums, dot_product, rms_norm, gate, sigmoid_gate, add_rows, add_scaled, exponentials, scale_rows, softcap, store_cache, attention, merge_attention, unit_keys, delta, conv};
}
