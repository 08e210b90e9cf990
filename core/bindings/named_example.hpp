// One example whose features have names, read from Python's dict, set, list or tuple.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "names/named_row.hpp"

namespace mistakebound {

namespace nb = nanobind;

class NamedExample : public NamedRow {  // its names lie in Python's own strings, which `held_` or the caller keeps alive
 public:
  // May run Python code (a value's __float__), so nothing may be locked meanwhile.
  void read(nb::handle x) {
    clear();
    if (PyDict_Check(x.ptr())) {
      read_dict(x);
    } else if (PyObject_HasAttrString(x.ptr(), "items")) {
      held_ = nb::module_::import_("builtins").attr("dict")(x);
      read_dict(held_);
    } else {
      may_repeat = !PyAnySet_Check(x.ptr());
      held_ = nb::module_::import_("builtins").attr(PyTuple_CheckExact(x.ptr()) ? "tuple" : "list")(x);
      grow(static_cast<std::size_t>(nb::len(held_)));
      for (nb::handle item : held_) add(text(item), 1.0);
    }
  }

  // From now on the names need neither the example nor the GIL.
  void own_names() {
    for (std::size_t k = 0; k < size; ++k) name[k] = built_.emplace_back(name[k]);
  }

  void clear() {
    NamedRow::clear();
    if (!built_.empty()) built_.clear();
    held_.reset();
  }

 private:
  std::deque<std::string> built_;  // names made here: {k: "v"} is the feature k=v
  nb::object held_;                // what the names point into, where that is not the caller's
  struct Item {
    PyObject *key = nullptr, *value = nullptr;
  };
  std::vector<Item> item_;

  // First where everything lies, so that the cache can fetch it all at once; then what it is. (A name takes more
  // instructions than the processor looks ahead, so one after the other each would wait for its memory alone.)
  void read_dict(nb::handle x) {
    const auto count = static_cast<std::size_t>(PyDict_Size(x.ptr()));
    grow(count);
    if (item_.size() < count) item_.resize(count);
    Py_ssize_t at = 0;
    std::size_t items = 0;
    while (items < count && PyDict_Next(x.ptr(), &at, &item_[items].key, &item_[items].value)) {
      __builtin_prefetch(item_[items].value);
      __builtin_prefetch(item_[items].key);
      __builtin_prefetch(reinterpret_cast<const char*>(item_[items].key) + 48);  // the letters of a short str
      ++items;
    }
    for (std::size_t k = 0; k < items; ++k) {
      const auto [key, v] = item_[k];
#ifndef Py_LIMITED_API
      if (PyFloat_CheckExact(v) && PyUnicode_CheckExact(key) && PyUnicode_IS_COMPACT_ASCII(key)) [[likely]] {
        if (const double number = PyFloat_AS_DOUBLE(v); number != 0) add(ascii(key), number);
        continue;
      }
#endif
      if (runs_no_code(v) || x.is(held_)) {
        read_item(key, v);
        continue;
      }
      clear();  // a stranger's __float__ may change the dict: begin again with a copy of it
      held_ = nb::steal(PyDict_Copy(x.ptr()));
      read_dict(held_);
      return;
    }
  }

  static bool runs_no_code(PyObject* v) {
    return PyFloat_Check(v) || PyLong_CheckExact(v) || PyBool_Check(v) || PyUnicode_Check(v);
  }

  static std::string words(nb::handle object) { return nb::cast<std::string>(nb::repr(object)); }

#ifndef Py_LIMITED_API
  static std::string_view ascii(PyObject* text) {
    // Straight after the header; PyUnicode_DATA would ask once more what kind of str it is.
    return {reinterpret_cast<const char*>(reinterpret_cast<PyASCIIObject*>(text) + 1),
            static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))};
  }
#endif

  static std::string_view text(nb::handle item) {
#ifndef Py_LIMITED_API
    if (PyUnicode_Check(item.ptr()) && PyUnicode_IS_COMPACT_ASCII(item.ptr())) [[likely]]
      return ascii(item.ptr());
#endif
    Py_ssize_t size = 0;
    const char* data = PyUnicode_Check(item.ptr()) ? PyUnicode_AsUTF8AndSize(item.ptr(), &size) : nullptr;
    if (data == nullptr) {
      PyErr_Clear();
      throw nb::value_error(("feature names must be str (valid Unicode), got " + words(item)).c_str());
    }
    return {data, static_cast<std::size_t>(size)};
  }

  void read_item(PyObject* key, PyObject* v) {
    const std::string_view k = text(key);
    double number;
    if (PyFloat_Check(v)) {
      number = PyFloat_AsDouble(v);
    } else if (PyUnicode_Check(v)) {
      built_.push_back(std::string(k) + "=" + std::string(text(v)));
      add(built_.back(), 1.0);
      may_repeat = true;  // {"a": "b", "a=b": 1} says it twice
      return;
    } else {
      nb::object as_float = nb::steal(PyNumber_Check(v) ? PyNumber_Float(v) : nullptr);
      if (!as_float.is_valid()) {
        PyErr_Clear();
        throw nb::value_error(("feature " + words(key) + " has the value " + words(v) +
                               ": a number (of float64's range), bool or str is needed; leave a missing one out")
                                  .c_str());
      }
      number = PyFloat_AsDouble(as_float.ptr());
    }
    if (number != 0) add(k, number);
  }
};

}  // namespace mistakebound
