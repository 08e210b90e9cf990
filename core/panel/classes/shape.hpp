// How the numbers of an owner lie side by side as long as classes are few: first the fields that scores depend on, then the others.
// Of each, eight classes have a vector of their own, and the remaining classes follow in a narrower one.
#pragma once
#include <cstddef>

#include "panel/floats.hpp"

namespace mistakebound::panel::MISTAKEBOUND_LEVEL {

struct Shape {
  std::size_t main = 0, tail = 0;  // classes in the first vector (8 or none) and in the second (0, 2, 4 or 8)

  static Shape of(std::size_t classes) {
    if (classes <= 4) return {0, classes <= 2 ? std::size_t{2} : std::size_t{4}};
    const std::size_t rest = classes <= lanes ? 0 : classes - lanes;
    return {lanes, rest == 0 ? 0 : rest <= 2 ? std::size_t{2} : rest <= 4 ? std::size_t{4} : lanes};
  }
  std::size_t width() const { return main + tail; }
  bool operator==(const Shape&) const = default;
};

// A vector of classes: its first class, and where its scored fields and its other fields begin in a record.
template <std::size_t Lanes>
struct Part {
  std::size_t first, scored, others;
};
template <std::size_t Fields, std::size_t Scored>
struct Record {
  static constexpr std::size_t line = 16;  // floats of a cache line

  static std::size_t floats(Shape shape) { return (Fields * shape.width() + line - 1) / line * line; }
  static std::size_t scored_lines(Shape shape) { return (Scored * shape.width() + line - 1) / line; }
  // Where a number lies.
  static std::size_t at(Shape shape, std::size_t field, std::size_t k) {
    const bool in_main = k < shape.main, scored = field < Scored;
    const std::size_t fields = scored ? Scored : Fields - Scored, begin = scored ? 0 : Scored * shape.width(), f = scored ? field : field - Scored;
    return begin + (in_main ? f * lanes + k : fields * shape.main + f * shape.tail + (k - shape.main));
  }
  // Call `visit` with each part.
  template <class Visit>
  static MISTAKEBOUND_INLINE void each_part(Shape shape, Visit visit) {
    const std::size_t others = Scored * shape.width();
    if (shape.main != 0) visit(Part<lanes>{0, 0, others});
    const std::size_t scored_tail = Scored * shape.main, others_tail = others + (Fields - Scored) * shape.main;
    if (shape.tail == 2) visit(Part<2>{shape.main, scored_tail, others_tail});
    if (shape.tail == 4) visit(Part<4>{shape.main, scored_tail, others_tail});
    if (shape.tail == lanes) visit(Part<lanes>{shape.main, scored_tail, others_tail});
  }
  // The vector of a field.
  template <std::size_t Lanes>
  static MISTAKEBOUND_INLINE std::size_t at(const Part<Lanes>& part, std::size_t field) {
    return field < Scored ? part.scored + field * Lanes : part.others + (field - Scored) * Lanes;
  }
};

// Vectors of 8, 4 or 2 numbers. The last two have the same type.
template <std::size_t Lanes>
struct VectorOf {
  using Type = Half;
};
template <>
struct VectorOf<lanes> {
  using Type = Floats;
};
template <std::size_t Lanes>
using Vector = typename VectorOf<Lanes>::Type;

// Two floats are moved as one double, because gcc would write them to the stack first.
template <std::size_t Lanes>
MISTAKEBOUND_INLINE Vector<Lanes> load_part(const float* p) {
  if constexpr (Lanes == 2) {
    double both;
    __builtin_memcpy(&both, p, sizeof both);
    return reinterpret_cast<Half>(experts::MISTAKEBOUND_LEVEL::Two{both, 0});
  } else {
    Vector<Lanes> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
}
template <std::size_t Lanes>
MISTAKEBOUND_INLINE void store_part(float* p, Vector<Lanes> v) {
  if constexpr (Lanes == 2) {
    const double both = reinterpret_cast<experts::MISTAKEBOUND_LEVEL::Two>(v)[0];
    __builtin_memcpy(p, &both, sizeof both);
  } else {
    __builtin_memcpy(p, &v, sizeof v);
  }
}

}  // namespace mistakebound::panel::MISTAKEBOUND_LEVEL
