// The passes over experts for machines with AVX2: compiled with -mavx2, called only where there is one.
#define MISTAKEBOUND_LEVEL avx2
#include "experts/level.hpp"

namespace mistakebound::experts {
const Level avx2_level = avx2::level;
}
