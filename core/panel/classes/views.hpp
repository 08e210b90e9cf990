// The views of a row that the members learn from, and the slots of its interactions. Nothing that is kept changes until `learn`.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/table.hpp"
#include "panel/classes/state.hpp"
#include "panel/floats.hpp"
#include "panel/slot_numbers.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

class Views {
 public:
  // Of each non-zero, and after them of the constant: x divided by its largest size (M), the same in a row of length 1 (N), x in a
  // row of length 1 (L), and x divided by its largest size times its rarity in a row of length 1 (I).
  std::vector<float> scaled, of_unit, of_length, of_rarity;
  // Of each non-zero: its weighted count, and the evidence −ln(count + 1) of a class that never had it.
  std::vector<float> count, absence;
  SlotNumbers used;
  std::size_t size = 0;  // non-zeros

  // `mass`: the sum of the weights of the rows so far; `rounds`: their number.
  void look(const ClassRow& x, const FeatureRecord* records, double mass, double rounds) {
    size = x.size;
    grow(size + 1);
    double of_n = 1, of_l = 1, of_i = 1;
    for (std::size_t k = 0; k < size; ++k) {
      const FeatureRecord& record = records[x.owner[k]];
      const double v = x.value[k], u = v / static_cast<double>(std::max(record.scale, std::fabs(x.value[k])));
      scaled[k] = static_cast<float>(u);
      of_n += u * u;
      of_l += v * v;
      count[k] = static_cast<float>(record.count);
      const double after = record.count + 1;
      of_rarity[k] = static_cast<float>((after + (mass + 1)) / after);
      absence[k] = static_cast<float>(after);
    }
    for (std::size_t k = size; k % lanes != 0; ++k) of_rarity[k] = absence[k] = 1;  // ln is for positive numbers
    for (std::size_t k = 0; k < size; k += lanes) {
      const Floats rare = load(scaled.data() + k) * ln(load(of_rarity.data() + k));
      store(of_rarity.data() + k, rare);
      store(absence.data() + k, eight(0) - ln(load(absence.data() + k)));
    }
    for (std::size_t k = 0; k < size; ++k) of_i += static_cast<double>(of_rarity[k]) * static_cast<double>(of_rarity[k]);
    scaled[size] = of_rarity[size] = 1;
    const double n = 1 / std::sqrt(of_n), l = 1 / std::sqrt(of_l), i = 1 / std::sqrt(of_i);
    for (std::size_t k = 0; k <= size; ++k) {
      of_unit[k] = static_cast<float>(static_cast<double>(scaled[k]) * n);
      of_length[k] = static_cast<float>((k < size ? static_cast<double>(x.value[k]) : 1.0) * l);
      of_rarity[k] = static_cast<float>(static_cast<double>(of_rarity[k]) * i);
    }
    make_slots(x, records, rounds);
  }

  // Which non-zeros have tokens.
  static std::vector<std::int32_t> tokens(const ClassRow& x, const FeatureRecord* records, double rounds) {
    std::vector<std::int32_t> found;
    if (x.size <= most_for_tokens)
      each_token(x, records, rounds, [&found](std::size_t k, std::uint64_t) { found.push_back(static_cast<std::int32_t>(k)); });
    return found;
  }

  // Move the scale and the moments of each feature, and count it.
  static void learn(const ClassRow& x, FeatureRecord* records, double weight) {
    constexpr double largest_spread = 1e38;
    for (std::size_t k = 0; k < x.size; ++k) {
      FeatureRecord& record = records[x.owner[k]];
      const double v = x.value[k], off = v - static_cast<double>(record.mean);
      record.scale = std::max(record.scale, std::fabs(x.value[k]));
      const auto mean = static_cast<float>(static_cast<double>(record.mean) + off / (static_cast<double>(record.seen) + 1));
      const double spread = static_cast<double>(record.spread) + off * (v - static_cast<double>(mean));
      record.mean = mean;
      record.spread = static_cast<float>(std::clamp(spread, 0.0, largest_spread));
      record.seen += record.seen < ~std::uint32_t{0} ? 1 : 0;
      record.count += weight;
    }
  }

 private:
  void grow(std::size_t places) {
    const std::size_t padded = (places + lanes - 1) / lanes * lanes;
    if (scaled.size() >= padded) return;
    for (auto* view : {&scaled, &of_unit, &of_length, &of_rarity, &count, &absence}) view->resize(2 * padded, 1);
  }

  void make_slots(const ClassRow& x, const FeatureRecord* records, double rounds) {
    used.clear();
    if (size > most_for_tokens) return;
    each_token(x, records, rounds, [&](std::size_t k, std::uint64_t interval) { used.add(x.token_of(k), interval); });
    if (size <= most_for_pairs)
      used.make_all();
    else
      used.make_singles();
  }
  // Call `visit(k, interval)` for each non-zero that has a token.
  template <class Visit>
  static void each_token(const ClassRow& x, const FeatureRecord* records, double rounds, Visit visit) {
    const bool narrow = x.size <= most_for_pairs;
    for (std::size_t k = 0; k < x.size; ++k) {
      const FeatureRecord& record = records[x.owner[k]];
      if (!narrow && 4 * (static_cast<double>(record.seen) + 1) < rounds) continue;
      const std::uint64_t interval = interval_of(static_cast<double>(x.value[k]), record);
      if (narrow || interval != 0) visit(k, interval);
    }
  }
  // The interval of half a deviation that x falls into; 0 if the feature never had another value.
  static std::uint64_t interval_of(double x, const FeatureRecord& record) {
    const double mean = record.mean, spread = record.spread;
    if (record.seen == 0 || (spread == 0 && x == mean)) return 0;
    const double deviation = std::sqrt(spread / static_cast<double>(record.seen));
    const double z = deviation > 0 ? (x - mean) / deviation : x > mean ? 3 : -3;
    return static_cast<std::uint64_t>(std::floor(std::clamp(z, -2.49, 2.49) * 2) + 1000);
  }
};

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
