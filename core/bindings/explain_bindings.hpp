// Python bindings of explanations: what the parts of a row add to the scores of the members of a panel.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "bindings/arrays.hpp"
#include "play/engine.hpp"

namespace mistakebound {

// `Locked`: an engine with a lock.
template <class Locked>
class ExplainBindings {
 public:
  static void bind(nb::class_<Locked>& engine) {
    using namespace nb::literals;
    engine.def("explain_named", &explain_named, "x"_a)
        .def("explain_csr", &explain_csr, "indptr"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert())
        .def("features_alone", &features_alone, "first"_a, "last"_a);
  }

 private:
  static nb::tuple explain_named(Locked& self, nb::handle x) {
    const typename Locked::Borrowed example(self, x);
    const auto lock = self.take([&] { example->copy_names(); });  // other threads may change x while this one waits
    check(self);
    panel::Parts parts;
    std::size_t at = 0;
    const Fault fault = self.engine().explain(*example, parts, at);
    if (fault != Fault::none) Locked::throw_fault(fault, *example, at);
    nb::list names;
    for (std::size_t k = 0; k < example->size; ++k) names.append(nb::str(example->name[k].data(), example->name[k].size()));
    return nb::make_tuple(nb::none(), tuple_of(parts, names));
  }
  // Returns the fault of the row, or None, and the parts.
  static nb::tuple explain_csr(Locked& self, Array<std::int64_t> indptr, Array<std::int64_t> index, Array<double> value) {
    const auto row = self.csr(indptr, index, value);
    if (row.rows != 1) throw nb::value_error("the matrix must have one row");
    const auto lock = self.take();
    check(self);
    panel::Parts parts;
    const Stop stop = self.engine().explain(row, parts);
    if (stop.fault != Fault::none) return nb::make_tuple(stop, nb::none());
    return nb::make_tuple(nb::none(), tuple_of(parts, to_numpy(parts.index, 0, parts.index.size())));
  }
  static nb::object features_alone(Locked& self, std::size_t first, std::size_t last) {
    const auto lock = self.take();
    check(self);
    const std::vector<double> found = self.engine().alone(first, last);
    return to_numpy(found, 0, found.size());
  }
  static void check(Locked& self) {
    if (self.engine().panel() == nullptr && self.engine().classes() == nullptr) throw nb::value_error("this engine is not a panel");
  }

  static nb::tuple tuple_of(const panel::Parts& parts, const nb::object& features) {
    const auto array = [](const auto& numbers) { return to_numpy(numbers, 0, numbers.size()); };
    return nb::make_tuple(features, array(parts.value), parts.classes, array(parts.of_places), array(parts.slots), array(parts.of_slots),
                          array(parts.scores), array(parts.factors), array(parts.mixing), array(parts.shares), parts.logit, parts.prediction,
                          parts.overridden, array(parts.probabilities));
  }
};

}  // namespace mistakebound
