// A growing array of floats, zero at first, on huge pages when it is large (random access then misses the TLB less).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mistakebound {

class FloatTable {
 public:
  FloatTable() = default;
  FloatTable(const FloatTable&) = delete;
  FloatTable& operator=(const FloatTable&) = delete;
  ~FloatTable() { release(data_, capacity_); }

  float* data() { return data_; }
  const float* data() const { return data_; }
  std::size_t size() const { return size_; }

  // New entries are zero.
  void resize(std::size_t size) {
    if (size > capacity_) {
      const std::size_t capacity = std::max(size, 2 * capacity_);
      float* grown = allocate(capacity);
      if (size_ > 0) std::memcpy(grown, data_, size_ * sizeof(float));
      release(data_, capacity_);
      data_ = grown;
      capacity_ = capacity;
    }
    size_ = size;
  }

 private:
#if defined(__linux__)
  static constexpr std::size_t large = std::size_t{1} << 20;  // floats: 4 MB
  static float* allocate(std::size_t count) {
    if (count < large) return zeroed(count);
    void* memory = mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, count * sizeof(float), MADV_HUGEPAGE);  // a wish: refused where the kernel has none
    return static_cast<float*>(memory);
  }
  static void release(float* data, std::size_t count) {
    if (data == nullptr) return;
    if (count < large)
      std::free(data);
    else
      munmap(data, count * sizeof(float));
  }
#else
  static float* allocate(std::size_t count) { return zeroed(count); }
  static void release(float* data, std::size_t) { std::free(data); }
#endif
  static float* zeroed(std::size_t count) {
    void* memory = std::calloc(count, sizeof(float));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<float*>(memory);
  }

  float* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace mistakebound
