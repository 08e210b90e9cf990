// A growing array of trivially copyable values. Unlike in std::vector, new elements are not initialised.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace mistakebound {

// Large blocks of memory begin at the same offset of a page, and writing to the same offset of several pages in turn is slow
// (measured: half the speed). Hence each array begins at another cache line of its page.
inline std::size_t next_beginning() {
  static std::atomic<std::size_t> turn = 0;
  constexpr std::size_t line = 64, lines_of_page = 64;
  return line * (turn.fetch_add(21, std::memory_order_relaxed) % lines_of_page);
}

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
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t k) { return data_[k]; }
  const T& operator[](std::size_t k) const { return data_[k]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  void push_back(const T& item) {
    const T kept = item;  // `item` may be an element of this array, which `reserve` moves
    if (size_ == capacity_) reserve(2 * capacity_ + 64);
    data_[size_++] = kept;
  }
  // New elements are not initialised.
  void resize(std::size_t size) {
    if (size > capacity_) reserve(std::max(size, 2 * capacity_));
    size_ = size;
  }
  // Reserve memory for `count` more elements, which can be written from end() on. `resize` must follow.
  T* room_for(std::size_t count) {
    if (size_ + count > capacity_) reserve(std::max(size_ + count, 2 * capacity_));
    return end();
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    const std::size_t shift = next_beginning();
    std::unique_ptr<char, Release> grown(static_cast<char*>(::operator new(shift + capacity * sizeof(T), alignment)));
    T* const data = reinterpret_cast<T*>(grown.get() + shift);
    if (size_ > 0) std::memcpy(data, data_, size_ * sizeof(T));
    own_ = std::move(grown);
    data_ = data;
    capacity_ = capacity;
  }
  const T& back() const { return data_[size_ - 1]; }

  // Use memory of someone else for reading. A later change of size copies it.
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

  static constexpr std::align_val_t alignment{64};
  struct Release {
    void operator()(char* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<char, Release> own_;
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace mistakebound
