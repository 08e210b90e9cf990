// An example whose features have names, read from a dict, set, list or tuple of Python.
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

class NamedExample : public NamedRow {  // the names lie in Python's strings, which `held_` or the caller keeps alive
 public:
  // May run Python code (a value's __float__). Hence the caller must not hold a lock.
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

  // Copy the names. After that they need neither the Python object nor the GIL.
  void copy_names() {
    for (std::size_t k = 0; k < size; ++k) name[k] = copies_.emplace_back(name[k]);
  }

  void clear() {
    NamedRow::clear();
    if (!copies_.empty()) copies_.clear();
    held_.reset();
  }

 private:
  std::deque<std::string> copies_;  // copied names, and new ones: {k: "v"} is the feature k=v
  nb::object held_;                 // the object with the strings, if it is not the caller's
  struct Item {
    PyObject *key = nullptr, *value = nullptr;
  };
  std::vector<Item> item_;

  // First collect all addresses and prefetch them, then read names and values. Otherwise each name would wait for memory
  // alone, because reading a name takes more instructions than the processor can look ahead.
  void read_dict(nb::handle x) {
    const auto count = static_cast<std::size_t>(PyDict_Size(x.ptr()));
    grow(count);
    if (item_.size() < count) item_.resize(count);
    Py_ssize_t at = 0;
    std::size_t items = 0;
    while (items < count && PyDict_Next(x.ptr(), &at, &item_[items].key, &item_[items].value)) {
      __builtin_prefetch(item_[items].value);
      __builtin_prefetch(item_[items].key);
      __builtin_prefetch(reinterpret_cast<const char*>(item_[items].key) + 48);  // the characters of a short str
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
      clear();  // a __float__ written in Python may change the dict: start again with a copy
      held_ = nb::steal(PyDict_Copy(x.ptr()));
      read_dict(held_);
      return;
    }
  }

  static bool runs_no_code(PyObject* v) {
    return PyFloat_Check(v) || PyLong_CheckExact(v) || PyBool_Check(v) || PyUnicode_Check(v);
  }

  static std::string repr(nb::handle object) { return nb::cast<std::string>(nb::repr(object)); }

#ifndef Py_LIMITED_API
  static std::string_view ascii(PyObject* text) {
    // The characters follow the header. PyUnicode_DATA would check the kind of str again.
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
      throw nb::value_error(("feature names must be str (valid Unicode), got " + repr(item)).c_str());
    }
    return {data, static_cast<std::size_t>(size)};
  }

  void read_item(PyObject* key, PyObject* v) {
    const std::string_view k = text(key);
    double number;
    if (PyFloat_Check(v)) {
      number = PyFloat_AsDouble(v);
    } else if (PyUnicode_Check(v)) {
      copies_.push_back(std::string(k) + "=" + std::string(text(v)));
      add(copies_.back(), 1.0);
      may_repeat = true;  // {"a": "b", "a=b": 1} has the feature a=b twice
      return;
    } else {
      nb::object as_float = nb::steal(PyNumber_Check(v) ? PyNumber_Float(v) : nullptr);
      if (!as_float.is_valid()) {
        PyErr_Clear();
        throw nb::value_error(("the value of feature " + repr(key) + " must be a number that fits into float64, a bool or a " +
                               "str, got " + repr(v) + "; leave missing features out")
                                  .c_str());
      }
      number = PyFloat_AsDouble(as_float.ptr());
    }
    if (number != 0) add(k, number);
  }
};

}  // namespace mistakebound
