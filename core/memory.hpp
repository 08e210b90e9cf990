// Zeroed memory, on huge pages where it is large: random access misses the TLB less, and paging in costs less.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mistakebound {

#if defined(__linux__)
inline constexpr std::size_t large_bytes = std::size_t{4} << 20;
#else
inline constexpr std::size_t large_bytes = static_cast<std::size_t>(-1);
#endif

template <class T>
T* zeroed_memory(std::size_t count) {
#if defined(__linux__)
  if (count * sizeof(T) >= large_bytes) {
    void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // a wish: refused where the kernel has none
    return static_cast<T*>(memory);
  }
#endif
  void* memory = std::calloc(count, sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

template <class T>
void release_memory(T* memory, std::size_t count) {
#if defined(__linux__)
  if (memory != nullptr && count * sizeof(T) >= large_bytes) {
    munmap(memory, count * sizeof(T));
    return;
  }
#endif
  std::free(memory);
}

}  // namespace mistakebound
