// Shared by the fuzzers: mutate a valid text, and check conditions that must hold for any text.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace mistakebound::fuzz {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

inline void demand(bool promise, const char* what, std::string_view input) {
  if (promise) return;
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(input.size()), input.data());
  std::abort();
}

inline std::string mutate(const std::vector<std::string>& seeds, const std::vector<std::string>& pieces, Random& random) {
  std::string text = seeds[below(random, seeds.size())];
  for (std::size_t times = below(random, 6); times > 0; --times) {
    const std::size_t at = below(random, text.size() + 1), size = std::min(below(random, 12), text.size() - at);
    switch (below(random, 6)) {
      case 0: text.erase(at, size); break;
      case 1: text.insert(at, pieces[below(random, pieces.size())]); break;
      case 2: text.insert(below(random, text.size() + 1), std::string(text, at, size)); break;
      case 3: text.resize(at); break;
      case 4: text.insert(at, seeds[below(random, seeds.size())]); break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random());
    }
  }
  return text;
}

}  // namespace mistakebound::fuzz
