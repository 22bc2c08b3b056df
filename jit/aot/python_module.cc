#include "jit/aot/python_module.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tektite::aot {
namespace {

constexpr char kText[] =
    R"py("""$name: a model compiled ahead of time; needs NumPy and $files beside this file.

    results = $name.run($call)
"""
import concurrent.futures
import ctypes
$functoolsimport pathlib

import numpy

# (name, element type, sizes); a size is a number or an expression of the open sizes.
ARGUMENTS = [$arguments]
STATE = [$state]
RESULTS = [$results]
# Open sizes: the tensor and the dimension that each is read from.
SIZES = {$sizes}

_THREADS_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)


class _Arena(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


$weights_classclass _Threads(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32), ("context", ctypes.c_void_p), ("parallel_for", _THREADS_FUNCTION)]


def _struct(fields):
    return type("Struct", (ctypes.Structure,), {"_fields_": fields or [("nothing", ctypes.c_char)]})


_Args = _struct([(name, ctypes.c_void_p) for name, _, _ in ARGUMENTS])
_State = _struct([(name, ctypes.c_void_p) for name, _, _ in STATE])
_Results = _struct([(name, ctypes.c_void_p) for name, _, _ in RESULTS])
_Sizes = _struct([(name, ctypes.c_int64) for name in SIZES])
_library = ctypes.CDLL(str(pathlib.Path(__file__).resolve().parent / "lib$name.so"))
_arena_bytes, _run, _message = _library.$name_arena_bytes, _library.$name_run, _library.$name_message
_arena_bytes.restype = ctypes.c_int64
_run.restype = ctypes.c_int32
_message.restype = ctypes.c_char_p
_pools = {}


class Error(RuntimeError):
    """What a call refused; ``code`` is that of the C library."""

    def __init__(self, code):
        super().__init__(_message(ctypes.c_int32(code)).decode())
        self.code = code


$weights_functiondef _aligned(count):
    memory = numpy.empty(count + 64, numpy.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin:begin + count]


def _parallel_for(count):
    """Threads of this process, kept from call to call."""
    pool = _pools.get(count)
    if pool is None:
        executor = concurrent.futures.ThreadPoolExecutor(count)

        @_THREADS_FUNCTION
        def run(context, bodies, body, argument):
            body = ctypes.cast(body, _BODY)
            list(executor.map(lambda index: body(argument, index), range(bodies)))

        pool = _pools[count] = _Threads(count, None, run)
    return pool


def _sizes(tensors):
    return {name: tensors[tensor].shape[dimension] for name, (tensor, dimension) in SIZES.items()}


def _shape(sizes, dims):
    known = {"__builtins__": {}, "max": max, "min": min}
    return tuple(d if isinstance(d, int) else eval(d, known, sizes) for d in dims)


def run(*, threads=1, **tensors):
    """The results by name.  Each argument is an array, or what NumPy makes one of; those in STATE are changed."""
    for kind in ARGUMENTS, STATE:
        for name, dtype, dims in kind:
            if kind is STATE and not (tensors[name].dtype == dtype and tensors[name].flags.c_contiguous):
                raise TypeError(f"{name} must be an array of {dtype} in C order")
            tensors[name] = numpy.ascontiguousarray(tensors[name], dtype).reshape(numpy.shape(tensors[name]))
    sizes = _sizes(tensors)
    for name, dtype, dims in ARGUMENTS + STATE:
        if tensors[name].shape != _shape(sizes, dims):
            raise ValueError(f"{name} has shape {tensors[name].shape}, not {_shape(sizes, dims)}")
    results = {name: numpy.empty(_shape(sizes, dims), dtype) for name, dtype, dims in RESULTS}
    pool = ctypes.byref(_parallel_for(threads)) if threads > 1 else None
    before = [ctypes.byref(_Sizes(*sizes.values()))] if SIZES else []
    needed = _arena_bytes(*before, pool)
    if needed < 0:
        raise Error(-needed)
    arena = _aligned(needed)
    out = _Results(**{name: array.ctypes.data for name, array in results.items()})
    state = [ctypes.byref(_State(*(tensors[name].ctypes.data for name, _, _ in STATE)))] if STATE else []
    code = _run(*before, ctypes.byref(_Args(*(tensors[name].ctypes.data for name, _, _ in ARGUMENTS))), *state,
                ctypes.byref(out), _Arena(arena.ctypes.data, needed), $weights_argumentpool)
    if code:
        raise Error(code)
    return results
)py";

constexpr char kWeightsClass[] = R"py(class _Weights(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


)py";

constexpr char kWeightsFunction[] = R"py(@functools.cache
def _weights():
    """The file of weights, mapped and checked in the first call."""
    memory = numpy.memmap(pathlib.Path(__file__).resolve().parent / "$name.weights", mode="r")
    weights = _Weights(memory.ctypes.data, memory.size)
    code = _library.$name_check_weights(ctypes.byref(weights), None)
    if code:
        raise Error(code)
    weights.memory = memory
    return weights


)py";

std::string NumpyType(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kBool:
      return "\"bool\"";
    case ir::DType::kF32:
      return "\"float32\"";
    case ir::DType::kF64:
      return "\"float64\"";
    case ir::DType::kF16:
      return "\"float16\"";
    case ir::DType::kBF16:
      return "\"uint16\"";
    default: {
      const std::string name(ir::DTypeName(dtype));
      return absl::StrCat("\"", name[0] == 'u' ? "uint" : "int", name.substr(1), "\"");
    }
  }
}

// ("x", "float32", ("n", 4))
std::string PythonTensor(const Tensor& tensor) {
  std::string dims;
  for (const ir::Dim& dim : tensor.shape.dims()) {
    const std::string text =
        absl::StrReplaceAll(dim.ToString(), {{" floordiv ", " // "}, {" mod ", " % "}});
    absl::StrAppend(&dims, dim.is_constant() ? "" : "\"", text, dim.is_constant() ? "" : "\"",
                    ", ");
  }
  return absl::StrCat("\n    (\"", tensor.name, "\", ", NumpyType(tensor.shape.dtype()), ", (",
                      dims, ")),");
}

}  // namespace

std::string WritePythonModule(const Library& library) {
  std::string arguments, state, results, sizes, call;
  for (const Tensor& tensor : library.arguments) {
    absl::StrAppend(tensor.is_state ? &state : &arguments, PythonTensor(tensor));
    absl::StrAppend(&call, call.empty() ? "" : ", ", tensor.name, "=...");
  }
  for (const Tensor& tensor : library.results) {
    absl::StrAppend(&results, PythonTensor(tensor));
  }
  for (size_t i = 0; i < library.sizes.size(); ++i) {
    const runtime::SymbolSource& source = library.graph.sources[i];
    absl::StrAppend(&sizes, "\"", library.sizes[i], "\": (\"",
                    library.arguments[source.parameter].name, "\", ", source.dimension, "), ");
  }
  const bool is_outside = library.weights != WeightsPlace::kInside;
  const std::string text = absl::StrReplaceAll(
      kText, {{"$weights_class", is_outside ? kWeightsClass : ""},
              {"$weights_function", is_outside ? kWeightsFunction : ""},
              {"$weights_argument", is_outside ? "ctypes.byref(_weights()), " : ""},
              {"$functools", is_outside ? "import functools\n" : ""},
              {"$files", is_outside ? "lib$name.so and $name.weights" : "lib$name.so"}});
  return absl::StrReplaceAll(text, {{"$arguments", arguments},
                                    {"$state", state},
                                    {"$results", results},
                                    {"$sizes", sizes},
                                    {"$call", call},
                                    {"$name", library.name}});
}

}  // namespace tektite::aot
