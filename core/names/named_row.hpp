// One example whose features have names: views of the names, which the caller keeps alive, and their values.
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
  std::vector<Key> key;  // of the names, once they were looked for (find_slots)
  std::vector<std::int32_t> slot;
  std::vector<double> value;
  std::size_t size = 0;     // of the non-zeros; the vectors only ever grow
  bool may_repeat = false;  // whether a name may come twice

  // Memory for so many features, before they are added.
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

  // The slot of each name, 0 if it has none; values of the same name are summed first.
  void find_slots(const Names& names) {
    names.find_all(name.data(), size, key.data(), slot.data());
    if (may_repeat) sum_repeated_names();
  }

  // Whether the value of a feature is the sum of several.
  bool is_sum(std::size_t at) const { return std::find(summed_.begin(), summed_.end(), name[at]) != summed_.end(); }

 private:
  std::vector<std::string_view> summed_;  // names that were given more than once

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
