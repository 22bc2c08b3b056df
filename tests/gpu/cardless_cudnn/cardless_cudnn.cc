// NVIDIA's cuDNN on a machine without a card: its own checks of graphs and its own choice of
// engines, for a card that is described in words.
//
// All calls go to the library, but these: handles are nobody's, graphs have none, heuristics get
// the card's properties, and plans are not made, since making one loads code.  An engine is
// proposed only where the library has found that it supports the graph.  TEKTITE_CARDLESS holds the
// properties of the card, as JSON.
#include <cudnn_graph.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace {

void* Library() {
  static void* const library = [] {
    // The library looks for the driver by its name and takes what is there.
    dlopen(TEKTITE_CUDA_STUB_FILE, RTLD_NOW | RTLD_GLOBAL);
    void* const opened = dlopen(TEKTITE_CUDNN_FILE, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return opened;
  }();
  return library;
}

#define REAL(symbol) reinterpret_cast<decltype(&symbol)>(dlsym(Library(), #symbol))

std::mutex& Mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}
// Those of a kind, until they are destroyed.
std::set<cudnnBackendDescriptor_t>& Plans() {
  static auto& plans = *new std::set<cudnnBackendDescriptor_t>;
  return plans;
}
bool IsPlan(cudnnBackendDescriptor_t descriptor) {
  std::lock_guard<std::mutex> lock(Mutex());
  return Plans().count(descriptor) > 0;
}

cudnnBackendDescriptor_t MakeProperties() {
  const char* const json = std::getenv("TEKTITE_CARDLESS");
  cudnnBackendDescriptor_t made = nullptr;
  REAL(cudnnBackendCreateDescriptor)(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &made);
  REAL(cudnnBackendSetAttribute)
  (made, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
   static_cast<int64_t>(std::strlen(json)), json);
  if (REAL(cudnnBackendFinalize)(made) != CUDNN_STATUS_SUCCESS) {
    std::fprintf(stderr, "cuDNN does not take these properties: %s\n", json);
    std::abort();
  }
  return made;
}

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT size_t cudnnGetVersion() { return REAL(cudnnGetVersion)(); }

EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static int nobody;
  *handle = reinterpret_cast<cudnnHandle_t>(&nobody);
  return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
EXPORT cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t,
                                         cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}

EXPORT cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                                  cudnnBackendDescriptor_t* descriptor) {
  const cudnnStatus_t status = REAL(cudnnBackendCreateDescriptor)(kind, descriptor);
  if (status == CUDNN_STATUS_SUCCESS && kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    std::lock_guard<std::mutex> lock(Mutex());
    Plans().insert(*descriptor);
  }
  return status;
}

EXPORT cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  {
    std::lock_guard<std::mutex> lock(Mutex());
    Plans().erase(descriptor);
  }
  return REAL(cudnnBackendDestroyDescriptor)(descriptor);
}

EXPORT cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                              cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type, int64_t count,
                                              const void* elements) {
  if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE || name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) {
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
    cudnnBackendDescriptor_t properties = MakeProperties();
    const cudnnStatus_t status =
        REAL(cudnnBackendSetAttribute)(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &properties);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return REAL(cudnnBackendSetAttribute)(descriptor, name, type, count, elements);
}

EXPORT cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return IsPlan(descriptor) ? CUDNN_STATUS_SUCCESS : REAL(cudnnBackendFinalize)(descriptor);
}

EXPORT cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                              cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type, int64_t most,
                                              int64_t* count, void* elements) {
  if (!IsPlan(descriptor)) {
    return REAL(cudnnBackendGetAttribute)(descriptor, name, type, most, count, elements);
  }
  *static_cast<int64_t*>(elements) = 0;
  *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
