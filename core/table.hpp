// A growing array of floats, zero at first.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "memory.hpp"

namespace mistakebound {

class FloatTable {
 public:
  FloatTable() = default;
  FloatTable(const FloatTable&) = delete;
  FloatTable& operator=(const FloatTable&) = delete;
  ~FloatTable() { release_memory(data_, capacity_); }

  float* data() { return data_; }
  const float* data() const { return data_; }
  std::size_t size() const { return size_; }

  // New entries are zero.
  void resize(std::size_t size) {
    if (size > capacity_) {
      const std::size_t capacity = std::max(size, 2 * capacity_);
      float* grown = zeroed_memory<float>(capacity);
      if (size_ > 0) std::memcpy(grown, data_, size_ * sizeof(float));
      release_memory(data_, capacity_);
      data_ = grown;
      capacity_ = capacity;
    }
    size_ = size;
  }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace mistakebound
