// Checks of the values and indices of a row.
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "play/example.hpp"

namespace mistakebound {

template <class Value>
using Bits = std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
template <class Value>
inline constexpr Bits<Value> top_bit = Bits<Value>{1} << (8 * sizeof(Value) - 1);
template <class Value>
Bits<Value> magnitude(Value v) {
  return std::bit_cast<Bits<Value>>(v) & ~top_bit<Value>;
}

// Check smallest_learnable <= |x| <= largest_learnable for all values, none of which is 0. Their bits are compared as
// integers, which the compiler can do for four or eight values at once.
template <class Index, class Value>
Fault learnable(const Row<Index, Value>& x, std::size_t& at) {
  constexpr auto largest = std::bit_cast<Bits<Value>>(static_cast<Value>(largest_learnable));
  constexpr auto smallest = std::bit_cast<Bits<Value>>(static_cast<Value>(smallest_learnable));
  const auto room = [&](std::size_t k) { return (largest - magnitude(x.value[k])) | (magnitude(x.value[k]) - smallest); };
  Bits<Value> outside = 0;
  for (std::size_t k = 0; k < x.size; ++k) outside |= room(k);
  if ((outside & top_bit<Value>) == 0) [[likely]]
    return Fault::none;
  for (at = 0; (room(at) & top_bit<Value>) == 0;) ++at;
  return magnitude(x.value[at]) < smallest ? Fault::too_small : Fault::too_large;
}

// Whether all indices are below the width, and no value is a stored zero.
template <class Index, class Value>
bool regular(const Row<Index, Value>& x, std::size_t width) {
  bool found = true;
  for (std::size_t k = 0; k < x.size; ++k)
    found &= static_cast<std::size_t>(static_cast<std::make_unsigned_t<Index>>(x.index[k])) < width && x.value[k] != 0;
  return found;
}

// Whether a row can be learned: its indices are below the width, its values finite and of a size that rules can sum.
template <class Index, class Value>
Fault learnable_below(const Row<Index, Value>& x, std::size_t width, std::size_t& at) {
  if (!regular(x, width)) return Fault::irregular;
  for (at = 0; at < x.size; ++at)
    if (!std::isfinite(static_cast<double>(x.value[at]))) return Fault::not_finite;
  return learnable(x, at);
}

// The largest |x|.
template <class Index, class Value>
float largest_size(const Row<Index, Value>& x) {
  Value found = 0;
  for (std::size_t k = 0; k < x.size; ++k) found = std::fmax(found, std::fabs(x.value[k]));
  return static_cast<float>(found);
}

}  // namespace mistakebound
