// Bins: numbers as categories. With a weight for each bin, a linear rule can learn any step function of a number, not only a
// multiple of it.
#pragma once
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "read/chunk.hpp"

namespace mistakebound::formats {

// There are `bins` bins of equal width between 2^k and 2^(k+1), for every k. The name of a bin consists of its ends, such as
// `128..256` or `-0.5..-0.25`. The end nearer to zero belongs to the bin. Zero has its own bin. The bin depends only on the
// number. `bins` must be a power of two, so that the ends are exact.
class Bins {
 public:
  explicit Bins(int bins) : bins_(bins) {
    if (bins < 0 || bins > most || (bins & (bins - 1)) != 0)
      throw std::invalid_argument("bins must be 0 or a power of two up to 1024, got " + std::to_string(bins));
  }

  bool wanted() const { return bins_ > 0; }

  // `prefix` followed by the name of the number's bin. The number must be finite.
  std::string_view name(std::string_view prefix, double number, Arena& arena) const {
    if (number == 0) return arena.join(prefix, "0");
    int exponent = 0;
    const double fraction = 2 * std::frexp(std::fabs(number), &exponent);  // from 1 up to 2
    const double bin = std::floor((fraction - 1) * bins_);
    const auto end = [&](double k) { return std::ldexp(1 + k / bins_, exponent - 1); };
    char text[80];
    char* at = text;
    const auto write = [&](double value) { at = std::to_chars(at, text + sizeof text, value).ptr; };
    write(number < 0 ? -end(bin + 1) : end(bin));
    *at++ = '.';
    *at++ = '.';
    write(number < 0 ? -end(bin) : end(bin + 1));
    return arena.join(prefix, {text, static_cast<std::size_t>(at - text)});
  }

 private:
  static constexpr int most = 1024;
  int bins_;
};

}  // namespace mistakebound::formats
