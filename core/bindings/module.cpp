// The Python module `mistakebound._core`: its parts, and the checks at its import.
#include <nanobind/nanobind.h>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "bindings/engine_bindings.hpp"
#include "bindings/expert_bindings.hpp"
#include "bindings/lock.hpp"
#include "bindings/read_bindings.hpp"
#include "play/sum.hpp"

namespace nb = nanobind;

NB_MODULE(core_of_main, m) {
  using namespace mistakebound;
  m.doc() = "The compiled twin of mistakebound.rules.reference: one loop, every linear rule.";
#if defined(__unix__) || defined(__APPLE__)
  pthread_atfork(nullptr, nullptr, [] { ++forks; });
#endif
  m.def("ignore_leaks", [] { nb::set_leak_warnings(false); });
  m.def("has_avx2", &cpu_has_avx2, "Whether this machine runs the AVX2 kernel.");
  bind_engine(m);
  bind_reading(m);
  bind_tables(m);
  bind_experts(m);
}

// nanobind does not support subinterpreters: it would deadlock on the GIL, and one import there corrupts the types of
// the main interpreter. So the import fails before nanobind runs: in PyInit (which later Pythons call in the main
// interpreter) and again in Py_mod_exec.
namespace mistakebound {
namespace {

bool in_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError, "mistakebound cannot be used in a subinterpreter: import it in the main one, or in another process");
  return false;
}

using Fill = int (*)(PyObject*);
Fill fill = nullptr;  // what nanobind does
int fill_in_main(PyObject* module) { return in_main_interpreter() ? fill(module) : -1; }

}  // namespace
}  // namespace mistakebound

extern "C" NB_EXPORT PyObject* PyInit__core();
extern "C" PyObject* PyInit__core() {
  using namespace mistakebound;
  if (!in_main_interpreter()) return nullptr;
  PyObject* const made = PyInit_core_of_main();
  if (made == nullptr || fill != nullptr || !PyObject_TypeCheck(made, &PyModuleDef_Type)) return made;
  for (PyModuleDef_Slot* slot = reinterpret_cast<PyModuleDef*>(made)->m_slots; slot->slot != 0; ++slot) {
    if (slot->slot != Py_mod_exec) continue;
    fill = reinterpret_cast<Fill>(slot->value);
    slot->value = reinterpret_cast<void*>(fill_in_main);
  }
  return made;
}
