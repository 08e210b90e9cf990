// An example whose features have names: views of the names, which the caller must keep alive, and their values.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "names/names.hpp"
#include "play/repeats.hpp"

namespace mistakebound {

struct NamedRow {
  std::vector<std::string_view> name;
  std::vector<Key> key;  // keys of the names, set by find_slots
  std::vector<std::int32_t> slot;
  std::vector<double> value;
  std::size_t size = 0;     // number of non-zeros; the vectors may be longer, because they are reused
  bool may_repeat = false;  // whether a name may occur twice

  // Make room for this many features. It must be called before `add`.
  void grow(std::size_t count) {
    if (name.size() >= count) return;
    name.resize(count);
    key.resize(count);
    slot.resize(count);
    value.resize(count);
  }
  [[gnu::always_inline]] void add(std::string_view text, double number) {
    name[size] = text;
    value[size] = number;
    ++size;
  }
  void clear() {
    size = 0;
    may_repeat = false;
    if (!summed_.empty()) summed_.clear();
  }

  // Set the slot of each name, 0 if it has none. Values of the same name are summed.
  void find_slots(const Names& names) {
    names.find_all(name.data(), size, key.data(), slot.data());
    if (may_repeat) sum_repeated_names();
  }

  // Whether the value of a feature is the sum of several.
  bool is_sum(std::size_t at) const { return std::find(summed_.begin(), summed_.end(), name[at]) != summed_.end(); }

 private:
  std::vector<std::string_view> summed_;  // names that occur more than once

  void sum_repeated_names() {
    size = sum_repeated(
        0, size, [&](std::size_t k) { return key[k].hash; },
        [&](std::size_t a, std::size_t b) { return key[a] == key[b] && name[a] == name[b]; },
        [&](std::size_t first, std::size_t k) {
          summed_.push_back(name[k]);
          return value[first] += value[k];
        },
        [&](std::size_t k) { return value[k]; },
        [&](std::size_t from, std::size_t to) {
          name[to] = name[from];
          key[to] = key[from];
          slot[to] = slot[from];
          value[to] = value[from];
        });
  }
};

}  // namespace mistakebound
