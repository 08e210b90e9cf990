// The panel for every machine.
#define MISTAKEBOUND_LEVEL plain
#include "panel/classes/panel.hpp"
#include "panel/panel.hpp"
#include "panel/shared_panels.hpp"

namespace mistakebound::panel {
std::unique_ptr<Core> plain_panel(const Roster& roster, bool two_threads) { return plain::make_panel(roster, two_threads); }
std::unique_ptr<SharedCore> plain_shared() { return std::make_unique<plain::SharedPanels>(); }
std::unique_ptr<ClassCore> plain_classes(const Roster& roster, std::size_t most_dense) {
  return std::make_unique<plain::ClassPanel>(roster, most_dense);
}
}  // namespace mistakebound::panel
