// The loops over experts for machines with AVX-512: compiled with what MISTAKEBOUND_HAS_EIGHT in lanes.hpp asks for.
#define MISTAKEBOUND_LEVEL avx512
#include "experts/level.hpp"

namespace mistakebound::experts {
const Level avx512_level = avx512::level;
}
