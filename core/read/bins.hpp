// Numbers as categories: which of the bins a number lies in. What a linear rule cannot learn from one number of any size
// (more is not always better, and a million is not a million times one) it can from its bins.
#pragma once
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "read/chunk.hpp"

namespace mistakebound::formats {

// Between 2^k and 2^(k+1) lie `bins` bins of the same width: a bin is as fine as the numbers in it are small. The name
// of a bin says its ends, of which the one nearer to zero belongs to it: `128..256`, `-0.5..-0.25`; zero has its own.
// They depend on nothing but the number. `bins` is a power of two, so that the ends are exact.
class Bins {
 public:
  explicit Bins(int bins) : bins_(bins) {
    if (bins < 0 || bins > most || (bins & (bins - 1)) != 0)
      throw std::invalid_argument("bins are 1, 2, 4, ... up to 1024 between two powers of two");
  }

  bool wanted() const { return bins_ > 0; }

  // `prefix` and the name of the number's bin. (The number is finite.)
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
