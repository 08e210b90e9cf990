// The loops over experts for machines with AVX2 and FMA: compiled with -mavx2 -mfma, called only on such machines.
#define MISTAKEBOUND_LEVEL avx2
#include "experts/level.hpp"

namespace mistakebound::experts {
const Level avx2_level = avx2::level;
}
