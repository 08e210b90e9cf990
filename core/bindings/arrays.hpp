// Types of the numpy arrays that functions of the core accept, and functions that make the arrays that they return.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "memory/table.hpp"

namespace mistakebound {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = Array<std::uint8_t>;

template <class T>
nb::object owned(std::unique_ptr<T[]> numbers, std::size_t size) {
  T* raw = numbers.release();
  nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(raw, {size}, owner));
}
template <class T>
nb::object to_numpy(const T* data, std::size_t size) {
  auto copy = std::make_unique<T[]>(size);
  std::copy(data, data + size, copy.get());
  return owned(std::move(copy), size);
}
template <class Numbers>  // a vector or a Table
nb::object to_numpy(const Numbers& v, std::size_t first, std::size_t last) {
  last = std::min(last, v.size());
  first = std::min(first, last);
  return to_numpy(v.data() + first, last - first);
}

template <class T>
void assign(std::vector<T>& to, nb::handle from) {
  const auto array = nb::cast<Array<T>>(from);
  to.assign(array.data(), array.data() + array.size());
}
template <class T>
void assign(Table<T>& to, nb::handle from) {
  const auto array = nb::cast<Array<T>>(from);
  to.resize(0);
  to.append(array.data(), array.size());
}

inline nb::list list_of_bytes(const std::vector<std::string_view>& texts) {
  nb::list all;
  for (const std::string_view text : texts) all.append(nb::bytes(text.data(), text.size()));
  return all;
}

}  // namespace mistakebound
