#include "runtime_hooks/tensorflow/fast_calls/detour.h"

#include <structmember.h>

#include <cstddef>
#include <initializer_list>

#include "runtime_hooks/tensorflow/fast_calls/reference.h"

namespace tektite::fast_calls {
namespace {

// ---- Skips ----

struct Skips {
  PyObject_HEAD;
  long skip;
};
PyTypeObject* skips_type = nullptr;

PyMemberDef skips_members[] = {
    {"skip", T_LONG, offsetof(Skips, skip), 0, "Calls to be made in the ordinary way."},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot skips_slots[] = {
    {Py_tp_doc, const_cast<char*>("Counts calls that are made in the ordinary way.")},
    {Py_tp_members, skips_members},
    {0, nullptr},
};
PyType_Spec skips_spec = {"tektite._fast_calls.Skips", sizeof(Skips), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, skips_slots};

// ---- Detour ----

struct Detour {
  PyObject_HEAD;
  vectorcallfunc call;
  PyObject* otherwise;
  PyObject* ordinary;
  PyObject* key;
  PyObject* listener;  // null: no listener
  PyObject* calls_name;
};

bool IsHeard(const Detour& self) {
  if (self.listener == nullptr) return false;
  const Reference calls(PyObject_GetAttr(self.listener, self.calls_name));
  if (calls == nullptr) PyErr_Clear();
  return calls.get() != Py_None;
}

bool Skip(const Detour& self, PyObject* instance) {
  const Reference attributes(PyObject_GenericGetDict(instance, nullptr));
  if (attributes == nullptr) {
    PyErr_Clear();
    return false;
  }
  const Reference memo = Hold(PyDict_GetItem(attributes.get(), self.key));
  if (memo == nullptr || !PyObject_TypeCheck(memo.get(), skips_type)) return false;
  auto* const skips = reinterpret_cast<Skips*>(memo.get());
  if (skips->skip <= 0 || IsHeard(self)) return false;
  --skips->skip;
  return true;
}

PyObject* Call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* names) {
  const auto& self = *reinterpret_cast<Detour*>(object);
  const bool is_ordinary = PyVectorcall_NARGS(nargsf) > 0 && Skip(self, args[0]);
  return PyObject_Vectorcall(is_ordinary ? self.ordinary : self.otherwise, args, nargsf, names);
}

PyObject* NewDetour(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *otherwise, *ordinary, *key, *listener;
  if (!PyArg_ParseTuple(args, "OOO!O", &otherwise, &ordinary, &PyUnicode_Type, &key, &listener)) {
    return nullptr;
  }
  Reference calls_name(PyUnicode_InternFromString("calls"));
  auto* const self = reinterpret_cast<Detour*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->call = Call;
  self->otherwise = Hold(otherwise).release();
  self->ordinary = Hold(ordinary).release();
  self->key = Hold(key).release();
  if (listener != Py_None) self->listener = Hold(listener).release();
  self->calls_name = calls_name.release();
  return reinterpret_cast<PyObject*>(self);
}

void FreeDetour(PyObject* object) {
  const auto& self = *reinterpret_cast<Detour*>(object);
  for (PyObject* held : {self.otherwise, self.ordinary, self.key, self.listener, self.calls_name}) {
    Py_XDECREF(held);
  }
  PyTypeObject* const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* BindMethod(PyObject* object, PyObject* instance, PyObject*) {
  return instance == nullptr ? Hold(object).release() : PyMethod_New(object, instance);
}

PyMemberDef detour_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Detour, call), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(Detour, ordinary), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot detour_slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "Stands in the place of a method and calls it where nothing else is to do.")},
    {Py_tp_new, reinterpret_cast<void*>(NewDetour)},
    {Py_tp_dealloc, reinterpret_cast<void*>(FreeDetour)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(BindMethod)},
    {Py_tp_members, detour_members},
    {0, nullptr},
};
PyType_Spec detour_spec = {
    "tektite._fast_calls.Detour", sizeof(Detour), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, detour_slots};

}  // namespace

PyObject* CreateSkipsType() {
  PyObject* const type = PyType_FromSpec(&skips_spec);
  skips_type = reinterpret_cast<PyTypeObject*>(Hold(type).release());
  return type;
}

PyObject* CreateDetourType() { return PyType_FromSpec(&detour_spec); }

}  // namespace tektite::fast_calls
