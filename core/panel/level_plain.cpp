// The panel for every machine.
#define MISTAKEBOUND_LEVEL plain
#include "panel/panel.hpp"

namespace mistakebound::panel {
std::unique_ptr<Core> plain_panel(const Roster& roster, bool two_threads) { return plain::make_panel(roster, two_threads); }
}  // namespace mistakebound::panel
