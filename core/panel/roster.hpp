// Which members play, the first weight of each of them in the combiner, and what the combiner reports.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "panel/state.hpp"

namespace mistakebound::panel {

inline constexpr std::size_t most_members = 64;  // with those that joined from outside

struct Roster {
  std::size_t count = 0;                 // members that play
  std::size_t member[most_members] = {}; // which they are, in order: 0 to 15, then those that joined
  double to_logit[most_members] = {};    // factor from score to logit: 4 for margins
  double first_weight[most_members] = {}, fast[most_members] = {}, slow[most_members] = {};  // v⁰ and the diagonals of P⁰

  // `own`: a flag for each of the sixteen members. `joined`: how many members come from outside.
  Roster(const bool* own, std::size_t joined) {
    constexpr double weights[members] = {.15, .15, .08, .15, .08, .15, .02, .02, .02, .02, .02, .30, .15, .10, .05, .02};
    constexpr double fast_of[members] = {.06, .06, .06, .06, .06, .06, .015, .015, .015, .015, .015, .18, .18, .18, .18, .015};
    constexpr double slow_of[members] = {.018, .018, .018, .018, .018, .018, .0045, .0045, .0045, .0045, .0045, .18, .18, .18, .18, .0045};
    if (joined > most_members - members) throw std::invalid_argument("there are too many members");
    for (std::size_t i = 0; i < members; ++i)
      if (own[i]) add(i, i == arow || i == hinge ? 4 : 1, weights[i], fast_of[i], slow_of[i]);
    for (std::size_t i = members; i < members + joined; ++i) add(i, 1, .02, .06, .018);
    if (count == 0) throw std::invalid_argument("there must be at least one member");
  }
  bool has(std::size_t i) const {
    for (std::size_t k = 0; k < count; ++k)
      if (member[k] == i) return true;
    return false;
  }

 private:
  void add(std::size_t i, double factor, double weight, double fast_variance, double slow_variance) {
    member[count] = i;
    to_logit[count] = factor, first_weight[count] = weight, fast[count] = fast_variance, slow[count] = slow_variance;
    ++count;
  }
};

// What the combiner has counted for a member or mixer.
struct Standing {
  double mistakes, loss;
  double share;   // in the Bayes mixture
  double weight;  // of its logit: its weights in the mixers times their shares, plus its own share
};
// Which member led, and since which round. When there are `most` changes, every second one of them is dropped.
struct Leadership {
  static constexpr std::size_t most = 4096;
  std::vector<double> rounds, members;

  void add(double round, std::size_t member) {
    const auto leader = static_cast<double>(member);
    if (!members.empty() && members.back() == leader) return;
    if (members.size() == most) thin_out();
    rounds.push_back(round);
    members.push_back(leader);
  }

 private:
  void thin_out() {
    for (std::size_t k = 0; k < most / 2; ++k) rounds[k] = rounds[2 * k + 1], members[k] = members[2 * k + 1];
    rounds.resize(most / 2);
    members.resize(most / 2);
  }
};
struct Totals {
  double rounds, mistakes, overrides;
  double loss;    // log loss of the mixture, before the guard
  double fewest;  // mistakes of the best member or mixer
};

}  // namespace mistakebound::panel
