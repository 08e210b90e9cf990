// The SIMD levels, which of them this processor supports, and the loops over experts compiled for each.
#pragma once
#include <array>
#include <cstddef>

#include "experts/book.hpp"

namespace mistakebound::experts {

enum class Simd { plain, avx2, avx512 };
inline constexpr std::array<const char*, 3> simd_names{"plain", "avx2", "avx512"};

inline bool runs(Simd simd) {
#ifdef MISTAKEBOUND_LEVELS
  const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (simd == Simd::avx2) return fused;
  if (simd == Simd::avx512)
    return fused && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return simd == Simd::plain;
}
// The loops for a level that this processor supports.
inline const Level& level_of(Simd simd) {
#ifdef MISTAKEBOUND_LEVELS
  if (simd == Simd::avx512) return avx512_level;
  if (simd == Simd::avx2) return avx2_level;
#endif
  static_cast<void>(simd);
  return plain_level;
}
inline Simd best_simd() {
  return runs(Simd::avx512) ? Simd::avx512 : runs(Simd::avx2) ? Simd::avx2 : Simd::plain;
}

}  // namespace mistakebound::experts
