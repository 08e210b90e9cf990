// Zeroed memory. Large blocks lie on huge pages: random access has fewer TLB misses, and there are fewer page faults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mistakebound {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

#if defined(__linux__)
inline constexpr std::size_t large_bytes = huge_page;

inline std::size_t whole_pages(std::size_t bytes) { return (bytes + huge_page - 1) / huge_page * huge_page; }

// Map aligned huge pages: map more than needed, then unmap the parts before the first and after the last huge page.
inline void* huge_memory(std::size_t bytes) {
  const std::size_t size = whole_pages(bytes);
  void* const mapped = mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(mapped);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(mapped) % huge_page) % huge_page;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + size, huge_page - before);
  madvise(begin + before, size, MADV_HUGEPAGE);  // may fail on a kernel without huge pages, which is harmless
  return begin + before;
}

// Release pages of a mapped file that are not needed any more. A later access reads them from the file again.
inline void release_pages(const std::uint8_t* begin, std::size_t bytes) {
  madvise(const_cast<std::uint8_t*>(begin), bytes, MADV_DONTNEED);
}
#else
inline constexpr std::size_t large_bytes = static_cast<std::size_t>(-1);
inline void release_pages(const std::uint8_t*, std::size_t) {}
#endif

template <class T>
T* zeroed_memory(std::size_t count) {
  if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) throw std::bad_alloc();
#if defined(__linux__)
  if (count * sizeof(T) >= large_bytes) return static_cast<T*>(huge_memory(count * sizeof(T)));
#endif
  void* memory = nullptr;
  if constexpr (alignof(T) > alignof(std::max_align_t)) {
    memory = std::aligned_alloc(alignof(T), count * sizeof(T));
    if (memory != nullptr) std::memset(memory, 0, count * sizeof(T));
  } else {
    memory = std::calloc(count, sizeof(T));
  }
  if (memory == nullptr && count > 0) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

template <class T>
void release_memory(T* memory, std::size_t count) {
#if defined(__linux__)
  if (memory != nullptr && count * sizeof(T) >= large_bytes) {
    munmap(memory, whole_pages(count * sizeof(T)));
    return;
  }
#endif
  std::free(memory);
}

}  // namespace mistakebound
