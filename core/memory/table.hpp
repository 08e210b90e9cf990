// A growing array of trivially copyable values, zero at first. A large one lies on huge pages.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "memory/memory.hpp"

namespace mistakebound {

template <class T>
class Table {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { release_memory(data_, capacity_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }

  // New entries are zero.
  void resize(std::size_t size) {
    if (size > capacity_) reserve(std::max(size, 2 * capacity_));
    size_ = size;
  }

  // Unused memory is not paged in.
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* grown = zeroed_memory<T>(capacity);
    if (size_ > 0) std::memcpy(grown, data_, size_ * sizeof(T));
    release_memory(data_, capacity_);
    data_ = grown;
    capacity_ = capacity;
  }

  void swap(Table& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void append(const T* from, std::size_t count) {
    const std::size_t before = size_;
    resize(before + count);
    if (count > 0) std::memcpy(data_ + before, from, count * sizeof(T));
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace mistakebound
