// The panel for every machine.
#define MISTAKEBOUND_LEVEL plain
#include "panel/panel.hpp"

namespace mistakebound::panel {
std::unique_ptr<Core> plain_panel() { return std::make_unique<plain::Panel>(); }
}  // namespace mistakebound::panel
