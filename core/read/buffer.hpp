// A growing array of plain things that are written before they are read: unlike a vector's, its memory is not filled first.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace mistakebound {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  Buffer() = default;
  Buffer(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t k) { return data_[k]; }
  const T& operator[](std::size_t k) const { return data_[k]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  void push_back(const T& item) {
    const T kept = item;  // it may lie in what is about to be moved
    if (size_ == capacity_) reserve(2 * capacity_ + 64);
    data_[size_++] = kept;
  }
  // What is new has no value yet.
  void resize(std::size_t size) {
    if (size > capacity_) reserve(std::max(size, 2 * capacity_));
    size_ = size;
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    std::unique_ptr<T[]> grown(new T[capacity]);
    if (size_ > 0) std::memcpy(grown.get(), data_, size_ * sizeof(T));
    own_ = std::move(grown);
    data_ = own_.get();
    capacity_ = capacity;
  }
  const T& back() const { return data_[size_ - 1]; }

  // Someone else's memory, to be read only; what is written later goes to memory of its own.
  void borrow(const T* items, std::size_t size) {
    own_.reset();
    data_ = const_cast<T*>(items);
    size_ = size;
    capacity_ = 0;
  }
  void clear() {
    size_ = 0;
    if (!own_) data_ = nullptr;
  }
  bool operator==(const Buffer& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  void swap(Buffer& other) {
    std::swap(own_, other.own_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::unique_ptr<T[]> own_;
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace mistakebound
