// The panel for machines with AVX2 and FMA: compiled with -mavx2 -mfma, called only on such machines.
#define MISTAKEBOUND_LEVEL avx2
#include "panel/classes/panel.hpp"
#include "panel/panel.hpp"
#include "panel/shared_panels.hpp"

namespace mistakebound::panel {
std::unique_ptr<Core> avx2_panel(const Roster& roster, bool two_threads) { return avx2::make_panel(roster, two_threads); }
std::unique_ptr<SharedCore> avx2_shared() { return std::make_unique<avx2::SharedPanels>(); }
std::unique_ptr<ClassCore> avx2_classes(const Roster& roster, std::size_t most_dense) {
  return std::make_unique<avx2::ClassPanel>(roster, most_dense);
}
}  // namespace mistakebound::panel
