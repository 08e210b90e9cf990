// The Python module `mistakebound._core`, and the checks at its import.
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
  m.doc() = "The compiled core: the loops of linear rules and of rules over experts, and the parsers of files.";
#if defined(__unix__) || defined(__APPLE__)
  pthread_atfork(nullptr, nullptr, [] { ++forks; });
#endif
  m.def("ignore_leaks", [] { nb::set_leak_warnings(false); });
  m.def("has_avx2", &cpu_has_avx2, "Return whether this processor has AVX2.");
  bind_engine(m);
  bind_reading(m);
  bind_tables(m);
  bind_experts(m);
}

// nanobind does not support subinterpreters: it would deadlock on the GIL, and an import there corrupts the types of the main
// interpreter. Hence the import must fail before nanobind runs: in PyInit (which later versions of Python call in the main
// interpreter), and again in Py_mod_exec.
namespace mistakebound {
namespace {

bool in_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError,
                  "mistakebound cannot be imported in a subinterpreter; import it in the main interpreter, or in another process");
  return false;
}

using Fill = int (*)(PyObject*);
Fill fill = nullptr;  // nanobind's function for Py_mod_exec
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
