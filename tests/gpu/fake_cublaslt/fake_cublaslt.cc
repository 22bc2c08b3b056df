// cuBLASLt's functions, by the stand-in (fake_cublaslt.h).
#include "tests/gpu/fake_cublaslt/fake_cublaslt.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "backends/gpu/cublaslt/cublaslt_types.h"
#include "jit/ir/dtype.h"
#include "tests/gpu/fake_driver/fake_driver.h"

extern "C" const tektite::testing::FakeDriver* fake_driver_controls();

namespace tektite::gpu {

struct LtHandleObject {};
struct LtLayoutObject {
  LtType type;
  int64_t rows, columns, leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct LtOperationObject {
  LtCompute compute;
  LtType scale;
  int32_t transposes_a = 0, transposes_b = 0;
  uint32_t epilogue = kLtNoEpilogue;
  const void* bias = nullptr;
};
struct LtPreferenceObject {
  uint64_t most_workspace = 0;
  uint32_t reduction_schemes = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

namespace {

using testing::FakeCublasLt;

constexpr LtStatus kInternalError = 14;

struct State {
  std::mutex mutex;  // guards what follows
  std::map<std::string, std::pair<LtStatus, int>> failures;
  std::map<std::string, int64_t> calls;
  double microseconds = 5;
  int proposals = 1;
  size_t workspace_bytes = 0;
  int compute_type = 0;
  uint32_t reduction_schemes = 0;
  std::atomic<int64_t> products{0}, things{0};

  static State& Get() {
    static auto& state = *new State;
    return state;
  }
  LtStatus Enter(const char* symbol) {
    std::lock_guard<std::mutex> lock(mutex);
    ++calls[symbol];
    const auto failure = failures.find(symbol);
    if (failure == failures.end() || failure->second.second == 0) return kLtSuccess;
    if (failure->second.second > 0) --failure->second.second;
    return failure->second.first;
  }
  void Reset() {
    std::lock_guard<std::mutex> lock(mutex);
    failures.clear();
    calls.clear();
    microseconds = 5;
    proposals = 1;
    workspace_bytes = 0;
    products = 0;
  }
};

#define ENTER(symbol)                                                               \
  do {                                                                              \
    if (const LtStatus status = State::Get().Enter(symbol); status != kLtSuccess) { \
      return status;                                                                \
    }                                                                               \
  } while (false)

template <typename T>
LtStatus Made(T** handle, T* thing) {
  *handle = thing;
  ++State::Get().things;
  return kLtSuccess;
}

template <typename T>
LtStatus Gone(T* thing) {
  --State::Get().things;
  delete thing;
  return kLtSuccess;
}

// Of the attribute's own size alone.
template <typename T>
LtStatus Take(T* to, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return kLtInvalidValue;
  std::memcpy(to, value, bytes);
  return kLtSuccess;
}

size_t BytesOf(LtType type) { return type == kLtF32 || type == kLtS32 ? 4 : type == kLtS8 ? 1 : 2; }

float Load(const void* data, int64_t i, LtType type) {
  switch (type) {
    case kLtF32:
      return static_cast<const float*>(data)[i];
    case kLtF16:
      return static_cast<float>(static_cast<const ir::Half*>(data)[i]);
    case kLtBF16:
      return static_cast<float>(static_cast<const ir::BFloat16*>(data)[i]);
    case kLtS8:
      return static_cast<float>(static_cast<const int8_t*>(data)[i]);
    case kLtS32:
      break;  // of results alone
  }
  return 0;
}

void Store(void* data, int64_t i, float value, LtType type) {
  switch (type) {
    case kLtF32:
      static_cast<float*>(data)[i] = value;
      return;
    case kLtF16:
      static_cast<ir::Half*>(data)[i] = ir::Half(value);
      return;
    case kLtBF16:
      static_cast<ir::BFloat16*>(data)[i] = ir::BFloat16(value);
      return;
    case kLtS32:  // sums of bytes that are short enough for f32
      static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
      return;
    case kLtS8:
      return;
  }
}

struct Product {
  LtOperationObject operation;
  LtLayoutObject a_layout, b_layout, d_layout;
  const void *a, *b;
  void* d;

  static void* Reach(const void* address, const LtLayoutObject& layout) {
    const auto elements =
        static_cast<size_t>((layout.batch - 1) * layout.stride + layout.leading * layout.columns);
    return fake_driver_controls()->reach(reinterpret_cast<uint64_t>(address),
                                         elements * BytesOf(layout.type));
  }

  int Run() const {
    const void *const from_a = Reach(a, a_layout), *const from_b = Reach(b, b_layout);
    void* const to = Reach(d, d_layout);
    const void* bias = nullptr;
    if (operation.epilogue == kLtBias) {
      bias = fake_driver_controls()->reach(reinterpret_cast<uint64_t>(operation.bias),
                                           static_cast<size_t>(d_layout.rows) * sizeof(float));
    }
    if (from_a == nullptr || from_b == nullptr || to == nullptr ||
        (bias == nullptr && operation.epilogue == kLtBias)) {
      return kCuIllegalAddress;
    }
    const int64_t terms = operation.transposes_a != 0 ? a_layout.rows : a_layout.columns;
    for (int64_t batch = 0; batch < d_layout.batch; ++batch) {
      for (int64_t column = 0; column < d_layout.columns; ++column) {
        for (int64_t row = 0; row < d_layout.rows; ++row) {
          float sum = 0;
          for (int64_t k = 0; k < terms; ++k) {
            const int64_t at_a = operation.transposes_a != 0 ? k + row * a_layout.leading
                                                             : row + k * a_layout.leading;
            const int64_t at_b = operation.transposes_b != 0 ? column + k * b_layout.leading
                                                             : k + column * b_layout.leading;
            sum += Load(from_a, batch * a_layout.stride + at_a, a_layout.type) *
                   Load(from_b, batch * b_layout.stride + at_b, b_layout.type);
          }
          if (bias != nullptr) sum += Load(bias, row, kLtF32);
          Store(to, batch * d_layout.stride + row + column * d_layout.leading, sum, d_layout.type);
        }
      }
    }
    ++State::Get().products;
    return kCuSuccess;
  }
};

// What an algorithm was made for.
uint64_t KeyOf(const LtOperationObject& operation, const LtLayoutObject& a, const LtLayoutObject& b,
               const LtLayoutObject& d) {
  uint64_t key = 1469598103934665603u;
  for (int64_t value :
       {int64_t{operation.transposes_a}, int64_t{operation.transposes_b},
        int64_t{operation.epilogue}, a.rows, a.columns, b.rows, b.columns, d.rows, d.columns,
        int64_t{d.type}, int64_t{d.batch}, a.stride, b.stride, d.stride}) {
    key = (key ^ static_cast<uint64_t>(value)) * 1099511628211u;
  }
  return key;
}

// Bytes are summed in s32, and lie along what is summed in words.
bool HaveTypesOfOneSum(const LtOperationObject& operation, const LtLayoutObject& a,
                       const LtLayoutObject& d) {
  if (a.type != kLtS8) {
    return a.type == d.type && operation.compute == kLtComputeF32 && operation.scale == kLtF32;
  }
  return d.type == kLtS32 && operation.compute == kLtComputeS32 && operation.scale == kLtS32 &&
         operation.transposes_a != 0 && operation.transposes_b == 0 && a.leading % 4 == 0 &&
         d.leading % 4 == 0;
}

bool FitTogether(const LtOperationObject& operation, const LtLayoutObject& a,
                 const LtLayoutObject& b, const LtLayoutObject& d) {
  const bool ta = operation.transposes_a != 0, tb = operation.transposes_b != 0;
  return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
         (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows) && a.batch == b.batch &&
         a.batch == d.batch && a.type == b.type && HaveTypesOfOneSum(operation, a, d);
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))
#define TEKTITE_CUBLASLT_FUNCTION(name, symbol, parameters) EXPORT LtStatus symbol parameters;
#include "backends/gpu/cublaslt/cublaslt_function_list.inc"
#undef TEKTITE_CUBLASLT_FUNCTION

EXPORT size_t cublasLtGetVersion() { return 130100; }

LtStatus cublasLtCreate(LtHandle* handle) {
  ENTER("cublasLtCreate");
  return Made(handle, new LtHandleObject);
}

LtStatus cublasLtDestroy(LtHandle handle) {
  ENTER("cublasLtDestroy");
  return Gone(handle);
}

LtStatus cublasLtMatrixLayoutCreate(LtLayout* layout, LtType type, uint64_t rows, uint64_t columns,
                                    int64_t leading) {
  ENTER("cublasLtMatrixLayoutCreate");
  if (leading < static_cast<int64_t>(rows)) return kLtInvalidValue;
  return Made(layout, new LtLayoutObject{type, static_cast<int64_t>(rows),
                                         static_cast<int64_t>(columns), leading});
}

LtStatus cublasLtMatrixLayoutDestroy(LtLayout layout) {
  ENTER("cublasLtMatrixLayoutDestroy");
  return Gone(layout);
}

LtStatus cublasLtMatrixLayoutSetAttribute(LtLayout layout, LtLayoutAttribute attribute,
                                          const void* value, size_t bytes) {
  ENTER("cublasLtMatrixLayoutSetAttribute");
  switch (attribute) {
    case kLtBatchCount:
      return Take(&layout->batch, value, bytes);
    case kLtBatchStride:
      return Take(&layout->stride, value, bytes);
  }
  return kLtInvalidValue;
}

LtStatus cublasLtMatmulDescCreate(LtOperation* operation, LtCompute compute, LtType scale) {
  ENTER("cublasLtMatmulDescCreate");
  return Made(operation, new LtOperationObject{compute, scale});
}

LtStatus cublasLtMatmulDescDestroy(LtOperation operation) {
  ENTER("cublasLtMatmulDescDestroy");
  return Gone(operation);
}

LtStatus cublasLtMatmulDescSetAttribute(LtOperation operation, LtOperationAttribute attribute,
                                        const void* value, size_t bytes) {
  ENTER("cublasLtMatmulDescSetAttribute");
  switch (attribute) {
    case kLtTransposeA:
      return Take(&operation->transposes_a, value, bytes);
    case kLtTransposeB:
      return Take(&operation->transposes_b, value, bytes);
    case kLtEpilogue:
      return Take(&operation->epilogue, value, bytes);
    case kLtBiasPointer:
      return Take(&operation->bias, value, bytes);
  }
  return kLtInvalidValue;
}

LtStatus cublasLtMatmulPreferenceCreate(LtPreference* preference) {
  ENTER("cublasLtMatmulPreferenceCreate");
  return Made(preference, new LtPreferenceObject);
}

LtStatus cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  ENTER("cublasLtMatmulPreferenceDestroy");
  return Gone(preference);
}

LtStatus cublasLtMatmulPreferenceSetAttribute(LtPreference preference,
                                              LtPreferenceAttribute attribute, const void* value,
                                              size_t bytes) {
  ENTER("cublasLtMatmulPreferenceSetAttribute");
  switch (attribute) {
    case kLtMostWorkspace:
      return Take(&preference->most_workspace, value, bytes);
    case kLtReductionSchemes:
      return Take(&preference->reduction_schemes, value, bytes);
    case kLtAlignmentA:
    case kLtAlignmentB:
    case kLtAlignmentC:
    case kLtAlignmentD:
      return Take(&preference->alignments[attribute - kLtAlignmentA], value, bytes);
  }
  return kLtInvalidValue;
}

LtStatus cublasLtMatmulAlgoGetHeuristic(LtHandle handle, LtOperation operation, LtLayout a,
                                        LtLayout b, LtLayout c, LtLayout d, LtPreference preference,
                                        int most, LtHeuristic* proposals, int* num_proposals) {
  ENTER("cublasLtMatmulAlgoGetHeuristic");
  if (handle == nullptr || c != d || most < 1 || !FitTogether(*operation, *a, *b, *d)) {
    return kLtInvalidValue;
  }
  State& state = State::Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  const bool fits = state.workspace_bytes <= preference->most_workspace;
  *num_proposals = fits && state.proposals < most ? state.proposals : (fits ? most : 0);
  state.compute_type = operation->compute;
  state.reduction_schemes = preference->reduction_schemes;
  for (int i = 0; i < *num_proposals; ++i) {
    proposals[i] = {};
    uint32_t least = 256;
    for (uint32_t alignment : preference->alignments) least = alignment < least ? alignment : least;
    proposals[i].algorithm.data[0] = KeyOf(*operation, *a, *b, *d);
    proposals[i].algorithm.data[1] = state.workspace_bytes;
    proposals[i].algorithm.data[2] = least;
    proposals[i].workspace_bytes = state.workspace_bytes;
  }
  return kLtSuccess;
}

LtStatus cublasLtMatmul(LtHandle handle, LtOperation operation, const void* alpha, const void* a,
                        LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta,
                        const void* c, LtLayout c_layout, void* d, LtLayout d_layout,
                        const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes,
                        CuStream stream) {
  ENTER("cublasLtMatmul");
  const bool of_bytes = operation->scale == kLtS32;
  const auto is = [&](const void* factor, int number) {
    return of_bytes ? *static_cast<const int32_t*>(factor) == number
                    : *static_cast<const float*>(factor) == static_cast<float>(number);
  };
  if (handle == nullptr || !is(alpha, 1) || !is(beta, 0) || c != d || c_layout != d_layout ||
      !FitTogether(*operation, *a_layout, *b_layout, *d_layout) ||
      algorithm->data[0] != KeyOf(*operation, *a_layout, *b_layout, *d_layout) ||
      workspace_bytes < algorithm->data[1]) {
    return kLtInvalidValue;
  }
  for (const void* operand : {a, b, static_cast<const void*>(d)}) {
    if (reinterpret_cast<uint64_t>(operand) % algorithm->data[2] != 0) return kLtInvalidValue;
  }
  const auto& driver = *fake_driver_controls();
  if (workspace_bytes > 0 &&
      (reinterpret_cast<uint64_t>(workspace) % 16 != 0 ||
       driver.reach(reinterpret_cast<uint64_t>(workspace), workspace_bytes) == nullptr)) {
    return kLtInvalidValue;
  }
  const Product product{*operation, *a_layout, *b_layout, *d_layout, a, b, d};
  const int told = driver.tell(
      stream, [product] { return product.Run(); }, State::Get().microseconds);
  return told == kCuSuccess ? kLtSuccess : kInternalError;
}

EXPORT const FakeCublasLt* fake_cublaslt_controls() {
  static const FakeCublasLt controls = [] {
    FakeCublasLt f = {};
    f.reset = [] { State::Get().Reset(); };
    f.fail = [](const char* symbol, int status, int times) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      State::Get().failures[symbol] = {status, times};
    };
    f.set_microseconds = [](double microseconds) { State::Get().microseconds = microseconds; };
    f.set_proposals = [](int proposals, size_t workspace_bytes) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      State::Get().proposals = proposals;
      State::Get().workspace_bytes = workspace_bytes;
    };
    f.calls = [](const char* symbol) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      return State::Get().calls[symbol];
    };
    f.products = [] { return State::Get().products.load(); };
    f.held_things = [] { return State::Get().things.load(); };
    f.compute_type = [] { return State::Get().compute_type; };
    f.reduction_schemes = [] { return State::Get().reduction_schemes; };
    return f;
  }();
  return &controls;
}

}  // extern "C"

}  // namespace tektite::gpu
