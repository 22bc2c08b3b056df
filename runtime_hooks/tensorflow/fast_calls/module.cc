// Calls of learned functions without Python: the module tektite._fast_calls.
//
//   Routes            the known routes of one tf.function; in its dictionary as "_tektite_routes"
//     .add(...)       see Route::Create; takes the place of a route for the same arguments
//     .take_calls()   how many calls went this way since it was asked last
//     .spare(n)       the next n go past a sparing dispatcher; returns .spared, those that are left
//   watch, plain_handle                see plain_call.h
//   Dispatcher(otherwise)              called in the place of Function.__call__
//   Dispatcher(otherwise, True)        a sparing one: only spared calls go this way, and a profile
//                                      measures the others (_function_times.py)
//   stand_behind(function, callable)   calls of a Python function become those of `callable`
//   has_won, bind, call   see binding.h
//
// A call with eager tensors alone, for which there is a route and which is plain (plain_call.h),
// runs the cluster.  Every other goes to `otherwise`, Python's way (_direct.py), with the same
// arguments and before anything has happened.
//
// Why: between two calls of a model its kernels push everything else out of the caches, and then
// what Python and an eager op do in 10 us takes 150 to 200.
#include <Python.h>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "runtime_hooks/tensorflow/fast_calls/binding.h"
#include "runtime_hooks/tensorflow/fast_calls/plain_call.h"
#include "runtime_hooks/tensorflow/fast_calls/reference.h"
#include "runtime_hooks/tensorflow/fast_calls/route.h"
#include "runtime_hooks/tensorflow/hook/reason.h"

namespace tektite::fast_calls {
namespace {

constexpr size_t kMostRoutes = 4;

// ---- Routes ----

struct Routes {
  PyObject_HEAD;
  std::vector<std::shared_ptr<const Route>>* routes;  // the latest first
  long calls;
  long spared;  // calls that a sparing dispatcher makes from now on
};
PyTypeObject* routes_type = nullptr;

PyObject* NewRoutes(PyTypeObject* type, PyObject*, PyObject*) {
  auto* const self = reinterpret_cast<Routes*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->routes = new std::vector<std::shared_ptr<const Route>>;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* AddRoute(PyObject* object, PyObject* args) {
  std::shared_ptr<const Route> route = Route::Create(args);
  if (route == nullptr) return nullptr;
  auto& routes = *reinterpret_cast<Routes*>(object)->routes;
  std::vector<std::shared_ptr<const Route>> kept = {std::move(route)};
  for (const auto& other : routes) {
    if (kept.size() < kMostRoutes && !(other->patterns() == kept[0]->patterns())) {
      kept.push_back(other);
    }
  }
  kept.swap(routes);
  Py_RETURN_NONE;  // replaced routes are released now, when the list is whole
}

PyObject* TakeCalls(PyObject* object, PyObject*) {
  return PyLong_FromLong(std::exchange(reinterpret_cast<Routes*>(object)->calls, 0));
}

PyObject* Spare(PyObject* object, PyObject* args) {
  long calls = 0;
  if (!PyArg_ParseTuple(args, "l", &calls)) return nullptr;
  return PyLong_FromLong(std::exchange(reinterpret_cast<Routes*>(object)->spared, calls));
}

// Copies learn for themselves.
PyObject* ReduceRoutes(PyObject* object, PyObject*) {
  return Py_BuildValue("O()", Py_TYPE(object));
}

Py_ssize_t NumRoutes(PyObject* object) {
  return static_cast<Py_ssize_t>(reinterpret_cast<Routes*>(object)->routes->size());
}

int TraverseRoutes(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  for (const auto& route : *reinterpret_cast<Routes*>(object)->routes) {
    if (route.use_count() > 1) continue;  // in use: its objects are held from outside
    if (const int stop = route->Traverse(visit, arg); stop != 0) return stop;
  }
  return 0;
}

int ClearRoutes(PyObject* object) {
  std::vector<std::shared_ptr<const Route>> gone;
  gone.swap(*reinterpret_cast<Routes*>(object)->routes);
  return 0;
}

void FreeRoutes(PyObject* object) {
  PyObject_GC_UnTrack(object);
  ClearRoutes(object);
  delete reinterpret_cast<Routes*>(object)->routes;
  PyTypeObject* const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

void Forget(Routes* routes, const std::shared_ptr<const Route>& route) {
  auto& all = *routes->routes;
  const auto it = std::find(all.begin(), all.end(), route);
  if (it != all.end()) all.erase(it);  // the caller holds it
}

PyMethodDef routes_methods[] = {
    {"add", AddRoute, METH_VARARGS, "Learns a route."},
    {"take_calls", TakeCalls, METH_NOARGS, "Calls since this was asked last."},
    {"spare", Spare, METH_VARARGS, "Lets a sparing dispatcher make so many calls."},
    {"__reduce__", ReduceRoutes, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef routes_members[] = {
    {"spared", T_LONG, offsetof(Routes, spared), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot routes_slots[] = {
    {Py_tp_doc, const_cast<char*>("The ways to the clusters of one tf.function.")},
    {Py_tp_new, reinterpret_cast<void*>(NewRoutes)},
    {Py_tp_dealloc, reinterpret_cast<void*>(FreeRoutes)},
    {Py_tp_traverse, reinterpret_cast<void*>(TraverseRoutes)},
    {Py_tp_clear, reinterpret_cast<void*>(ClearRoutes)},
    {Py_tp_methods, routes_methods},
    {Py_tp_members, routes_members},
    {Py_sq_length, reinterpret_cast<void*>(NumRoutes)},
    {0, nullptr},
};
PyType_Spec routes_spec = {"tektite._fast_calls.Routes", sizeof(Routes), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, routes_slots};

// ---- Dispatcher ----

struct Dispatcher {
  PyObject_HEAD;
  vectorcallfunc call;
  PyObject* otherwise;
  PyObject* routes_name;
  bool is_sparing;
};

PyObject* CallDispatcher(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* names);

PyObject* NewDispatcher(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* otherwise = nullptr;
  int is_sparing = 0;
  if (!PyArg_ParseTuple(args, "O|p", &otherwise, &is_sparing)) return nullptr;
  auto* const self = reinterpret_cast<Dispatcher*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->call = CallDispatcher;
  self->otherwise = Hold(otherwise).release();
  self->is_sparing = is_sparing != 0;
  self->routes_name = PyUnicode_InternFromString("_tektite_routes");
  if (self->routes_name == nullptr) {
    Py_DECREF(self);
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(self);
}

void FreeDispatcher(PyObject* object) {
  auto* const self = reinterpret_cast<Dispatcher*>(object);
  Py_XDECREF(self->otherwise);
  Py_XDECREF(self->routes_name);
  PyTypeObject* const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

// The call's result; null without an error if the call must take the other way.
PyObject* TryRoutes(const Dispatcher& self, PyObject* const* args, Py_ssize_t num_args) {
  const Reference attributes(PyObject_GenericGetDict(args[0], nullptr));
  if (attributes == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const Reference held = Hold(PyDict_GetItem(attributes.get(), self.routes_name));
  if (held == nullptr || Py_TYPE(held.get()) != routes_type) return nullptr;
  auto* const routes = reinterpret_cast<Routes*>(held.get());
  if (self.is_sparing && routes->spared <= 0) return nullptr;
  const auto& all = *routes->routes;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& route) {
    return route->Fits(args + 1, num_args - 1);
  });
  if (found == all.end()) return nullptr;
  const std::shared_ptr<const Route> route = *found;  // another thread may replace it
  TFE_Context* const context = PlainContext(route->graph(), route->strategies());
  if (context == nullptr) return nullptr;
  PyObject* const result = route->IsCurrent() ? route->Run(context, args + 1) : nullptr;
  if (result != nullptr) {
    ++routes->calls;
    if (self.is_sparing) --routes->spared;
  } else if (!PyErr_Occurred()) {
    Forget(routes, route);
  }
  return result;
}

PyObject* CallDispatcher(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* names) {
  const auto& self = *reinterpret_cast<Dispatcher*>(object);
  const Py_ssize_t num_args = PyVectorcall_NARGS(nargsf);
  if (num_args > 0 && (names == nullptr || PyTuple_GET_SIZE(names) == 0)) {
    PyObject* const result = TryRoutes(self, args, num_args);
    if (result != nullptr || PyErr_Occurred()) return result;
  }
  return PyObject_Vectorcall(self.otherwise, args, nargsf, names);
}

PyMemberDef dispatcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Dispatcher, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot dispatcher_slots[] = {
    {Py_tp_doc, const_cast<char*>("Called in the place of a method, goes past it where it can.")},
    {Py_tp_new, reinterpret_cast<void*>(NewDispatcher)},
    {Py_tp_dealloc, reinterpret_cast<void*>(FreeDispatcher)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, dispatcher_members},
    {0, nullptr},
};
PyType_Spec dispatcher_spec = {"tektite._fast_calls.Dispatcher", sizeof(Dispatcher), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, dispatcher_slots};

// ---- stand_behind ----

// A Python function with the callable that its calls are made by.  Both are held for good.
struct StandIn {
  PyObject* function;
  PyObject* callable;
};
constexpr size_t kMostStandIns = 4;
std::array<StandIn, kMostStandIns> stand_ins = {};

PyObject* CallStandIn(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* names) {
  for (const StandIn& one : stand_ins) {
    if (one.function == function) return PyObject_Vectorcall(one.callable, args, nargsf, names);
  }
  PyErr_SetString(PyExc_SystemError, "tektite: no callable behind this function");
  return nullptr;
}

// An instance's call comes here without Python's interpreter, which costs 60 ns; calls by name run
// the function's body, which calls the same callable.
PyObject* StandBehind(PyObject*, PyObject* args) {
  PyObject *function, *callable;
  if (!PyArg_ParseTuple(args, "O!O", &PyFunction_Type, &function, &callable)) return nullptr;
  const auto place = std::find_if(stand_ins.begin(), stand_ins.end(),
                                  [](const StandIn& one) { return one.function == nullptr; });
  if (place == stand_ins.end()) {
    PyErr_SetString(PyExc_ValueError, "too many functions to stand behind");
    return nullptr;
  }
  *place = {Hold(function).release(), Hold(callable).release()};
#if PY_VERSION_HEX >= 0x030C0000
  PyFunction_SetVectorcall(reinterpret_cast<PyFunctionObject*>(function), CallStandIn);
#else
  reinterpret_cast<PyFunctionObject*>(function)->vectorcall = CallStandIn;
#endif
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"has_won", HasWon, METH_O, "Whether compiled code serves the function of that name."},
    {"bind", Bind, METH_VARARGS, "Which cluster a function is."},
    {"call", CallBound, METH_VARARGS, "Runs what bind found."},
    {"stand_behind", StandBehind, METH_VARARGS, "Calls of a function become another callable's."},
    {"watch", Watch, METH_VARARGS, "Where TensorFlow says whether calls are plain."},
    {"plain_handle", PlainHandle, METH_NOARGS,
     "The eager context's handle; None where a call means more than running a function here."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "tektite._fast_calls",
                                 "Calls of learned functions without Python.",
                                 -1,
                                 functions,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyObject* CreateRoutesType() {
  PyObject* const type = PyType_FromSpec(&routes_spec);
  routes_type = reinterpret_cast<PyTypeObject*>(Hold(type).release());
  return type;
}

PyObject* CreateDispatcherType() { return PyType_FromSpec(&dispatcher_spec); }

PyObject* CreateModule() {
  Reference module(PyModule_Create(&module_definition));
  if (module == nullptr) return nullptr;
  using Creator = PyObject* (*)();
  for (const auto& [name, create] : {std::pair<const char*, Creator>("Routes", CreateRoutesType),
                                     {"Dispatcher", CreateDispatcherType}}) {
    const Reference type(create());
    if (type == nullptr || PyObject_SetAttrString(module.get(), name, type.get()) < 0) {
      return nullptr;
    }
  }
  // The value that `call` returns where the binding is gone.
  constexpr auto kNoBinding = static_cast<long>(tf_hook::Reason::HOST_NO_BINDING);
  if (PyModule_AddIntConstant(module.get(), "NO_BINDING", kNoBinding) < 0) {
    return nullptr;
  }
  return module.release();
}

}  // namespace
}  // namespace tektite::fast_calls

PyMODINIT_FUNC PyInit__fast_calls() { return tektite::fast_calls::CreateModule(); }
