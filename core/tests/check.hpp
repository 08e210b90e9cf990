// A check of the C++ tests: if it fails, its place and text are printed, and the program ends with 1.
#pragma once
#include <cstdio>
#include <cstdlib>

inline void check_that(bool so, const char* what, const char* file, int line) {
  if (so) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
  std::exit(1);
}
#define CHECK(what) check_that((what), #what, __FILE__, __LINE__)
