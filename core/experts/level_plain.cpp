// The loops over experts for every machine.
#define MISTAKEBOUND_LEVEL plain
#include "experts/level.hpp"

namespace mistakebound::experts {
const Level plain_level = plain::level;
}
