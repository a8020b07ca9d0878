// tiles: the AMX instructions by tile number, or the same in plain C++ (CALLA_EMULATE_TILES) so that kernels can be tested anywhere;
// included by amx.inl inside its namespace. Tiles 0..3 hold products, 4 and 5 activations (16 rows x G inputs), 6 and 7 weights (G / 4 quads).
#if defined(CALLA_EMULATE_TILES)
static thread_local int8_t emulated_tiles[8][16][64];
static thread_local int emulated_group;
template <int G> static void begin_tiles() { emulated_group = G; }
static void end_tiles() {}
template <int T> static void tile_zero() { std::memset(emulated_tiles[T], 0, 1024); }
template <int T> static void tile_load(const void* p) {  // rows of memory are 64 bytes apart
  const int rows = T < 6 ? 16 : emulated_group / 4, bytes = T == 4 || T == 5 ? emulated_group : 64;
  for (int r = 0; r < rows; r++) std::memcpy(emulated_tiles[T][r], static_cast<const int8_t*>(p) + 64 * r, static_cast<size_t>(bytes));
}
template <int T> static void tile_store(void* p) { std::memcpy(p, emulated_tiles[T], 1024); }
template <int T, int X, int W, bool Unsigned> static void tile_dot() {
  int32_t sums[16][16];
  std::memcpy(sums, emulated_tiles[T], 1024);
  for (int r = 0; r < 16; r++)
    for (int k = 0; k < emulated_group; k++)
      for (int c = 0; c < 16; c++) {
        const int8_t w = emulated_tiles[W][k / 4][4 * c + k % 4];
        sums[r][c] += emulated_tiles[X][r][k] * (Unsigned ? static_cast<uint8_t>(w) : w);
      }
  std::memcpy(emulated_tiles[T], sums, 1024);
}
#else
struct alignas(64) TileShapes {  // what LDTILECFG reads
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
template <int G> static void begin_tiles() {
  TileShapes shapes;
  for (int i = 0; i < 4; i++) shapes.rows[i] = 16, shapes.row_bytes[i] = 64;
  for (int i = 4; i < 6; i++) shapes.rows[i] = 16, shapes.row_bytes[i] = G;
  for (int i = 6; i < 8; i++) shapes.rows[i] = G / 4, shapes.row_bytes[i] = 64;
  asm volatile("ldtilecfg %0" ::"m"(shapes));
}
static void end_tiles() { asm volatile("tilerelease"); }
// The intrinsics of gcc take no template argument and do not say that they read memory.
template <int T> static INLINE void tile_zero() { asm volatile("tilezero %%tmm%c0" ::"i"(T)); }
template <int T> static INLINE void tile_load(const void* p) { asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(int64_t{64}), "i"(T) : "memory"); }
template <int T> static INLINE void tile_store(void* p) { asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(int64_t{64}), "i"(T) : "memory"); }
template <int T, int X, int W, bool Unsigned> static INLINE void tile_dot() {  // activations signed, weights either
  if constexpr (Unsigned) asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(T), "i"(X), "i"(W));
  else asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(T), "i"(X), "i"(W));
}
#endif
