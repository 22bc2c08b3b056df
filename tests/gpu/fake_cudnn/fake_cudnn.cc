// cuDNN's functions, by the stand-in (fake_cudnn.h).
#include "tests/gpu/fake_cudnn/fake_cudnn.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "backends/gpu/cudnn/cudnn_types.h"
#include "tests/gpu/fake_cudnn/fake_attention.h"
#include "tests/gpu/fake_cudnn/fake_graph.h"
#include "tests/gpu/fake_driver/fake_driver.h"

extern "C" const tektite::testing::FakeDriver* fake_driver_controls();

namespace tektite::gpu {

struct DnnHandleObject {
  CuStream stream = nullptr;
};

namespace {

using testing::FakeCudnn;

// Operations behind a convolution, and that.
// What a configuration and an engine keep for themselves.
constexpr int kNumberOfEngine = -1, kGraphOfEngine = -2;

// In the order in which they are proposed.
struct Engine {
  std::vector<int> notes;
  bool is_supported;
};
const std::vector<Engine>& EnginesOf(bool is_f32) {
  static const auto& of_f32 =
      *new std::vector<Engine>{{{kDnnUsesTensorCores, kDnnDownConvertsInputs}, true},
                               {{kDnnUsesWinograd}, true},
                               {{kDnnUsesFft}, true},
                               {{kDnnIsNondeterministic}, true},
                               {{}, false},
                               {{}, true}};
  static const auto& of_others = *new std::vector<Engine>{
      {{kDnnUsesTensorCores, kDnnReducesInLowPrecision}, true}, {{kDnnUsesTensorCores}, true}};
  return is_f32 ? of_f32 : of_others;
}

struct State {
  std::mutex mutex;  // guards what follows
  std::map<std::string, std::pair<DnnStatus, int>> failures;
  std::map<std::string, int64_t> calls;
  std::set<const DnnDescriptorObject*> descriptors;
  double microseconds = 5;
  int64_t workspace = 0;
  int64_t handles = 0;
  std::atomic<int64_t> convolutions{0}, attentions{0};

  static State& Get() {
    static auto& state = *new State;
    return state;
  }
  DnnStatus Enter(const char* symbol) {
    std::lock_guard<std::mutex> lock(mutex);
    ++calls[symbol];
    const auto failure = failures.find(symbol);
    if (failure == failures.end() || failure->second.second == 0) return kDnnSuccess;
    if (failure->second.second > 0) --failure->second.second;
    return failure->second.first;
  }
  bool IsThere(const DnnDescriptorObject* descriptor) {
    std::lock_guard<std::mutex> lock(mutex);
    return descriptors.count(descriptor) > 0;
  }
  void Reset() {
    std::lock_guard<std::mutex> lock(mutex);
    failures.clear();
    calls.clear();
    microseconds = 5;
    workspace = 0;
    convolutions = 0;
    attentions = 0;
  }
};

#define ENTER(symbol)                                                                 \
  do {                                                                                \
    if (const DnnStatus status = State::Get().Enter(symbol); status != kDnnSuccess) { \
      return status;                                                                  \
    }                                                                                 \
  } while (false)

struct Kind {
  std::map<int, int> types;  // of its attributes
  std::set<int> optional;
};

const std::map<int, Kind>& Kinds() {
  static const auto& kinds = *new std::map<int, Kind>{
      {kDnnTensor,
       {{{kDnnTensorType, kDnnTypeOfDataType},
         {kDnnTensorDimensions, kDnnTypeOfI64},
         {kDnnTensorStrides, kDnnTypeOfI64},
         {kDnnTensorId, kDnnTypeOfI64},
         {kDnnTensorAlignment, kDnnTypeOfI64},
         {kDnnTensorIsVirtual, kDnnTypeOfBoolean},
         {kDnnTensorIsByValue, kDnnTypeOfBoolean}},
        {kDnnTensorIsVirtual, kDnnTensorIsByValue}}},
      {kDnnConvolution,
       {{{kDnnConvolutionType, kDnnTypeOfDataType},
         {kDnnConvolutionMode, kDnnTypeOfConvolutionMode},
         {kDnnConvolutionSpatial, kDnnTypeOfI64},
         {kDnnConvolutionStrides, kDnnTypeOfI64},
         {kDnnConvolutionDilations, kDnnTypeOfI64},
         {kDnnConvolutionPre, kDnnTypeOfI64},
         {kDnnConvolutionPost, kDnnTypeOfI64}},
        {}}},
      {kDnnForwardOperation,
       {{{kDnnForwardConvolution, kDnnTypeOfDescriptor},
         {kDnnForwardX, kDnnTypeOfDescriptor},
         {kDnnForwardW, kDnnTypeOfDescriptor},
         {kDnnForwardY, kDnnTypeOfDescriptor},
         {kDnnForwardAlpha, kDnnTypeOfF32},
         {kDnnForwardBeta, kDnnTypeOfF32}},
        {}}},
      {kDnnBackwardDataOperation,
       {{{kDnnBackwardDataConvolution, kDnnTypeOfDescriptor},
         {kDnnBackwardDataDx, kDnnTypeOfDescriptor},
         {kDnnBackwardDataW, kDnnTypeOfDescriptor},
         {kDnnBackwardDataDy, kDnnTypeOfDescriptor},
         {kDnnBackwardDataAlpha, kDnnTypeOfF32},
         {kDnnBackwardDataBeta, kDnnTypeOfF32}},
        {}}},
      {kDnnBackwardFilterOperation,
       {{{kDnnBackwardFilterConvolution, kDnnTypeOfDescriptor},
         {kDnnBackwardFilterX, kDnnTypeOfDescriptor},
         {kDnnBackwardFilterDw, kDnnTypeOfDescriptor},
         {kDnnBackwardFilterDy, kDnnTypeOfDescriptor},
         {kDnnBackwardFilterAlpha, kDnnTypeOfF32},
         {kDnnBackwardFilterBeta, kDnnTypeOfF32}},
        {}}},
      {kDnnPointwise,
       {{{kDnnPointwiseMode, kDnnTypeOfPointwiseMode},
         {kDnnPointwiseType, kDnnTypeOfDataType},
         {kDnnPointwiseAxis, kDnnTypeOfI64},
         {kDnnPointwiseNan, kDnnTypeOfNan}},
        {kDnnPointwiseAxis, kDnnPointwiseNan}}},
      {kDnnPointwiseOperation,
       {{{kDnnPointwiseOperationKind, kDnnTypeOfDescriptor},
         {kDnnPointwiseOperationX, kDnnTypeOfDescriptor},
         {kDnnPointwiseOperationB, kDnnTypeOfDescriptor},
         {kDnnPointwiseOperationT, kDnnTypeOfDescriptor},
         {kDnnPointwiseOperationY, kDnnTypeOfDescriptor}},
        {kDnnPointwiseOperationB, kDnnPointwiseOperationT}}},
      {kDnnProduct, {{{kDnnProductType, kDnnTypeOfDataType}}, {}}},
      {kDnnProductOperation,
       {{{kDnnProductOperationKind, kDnnTypeOfDescriptor},
         {kDnnProductOperationA, kDnnTypeOfDescriptor},
         {kDnnProductOperationB, kDnnTypeOfDescriptor},
         {kDnnProductOperationC, kDnnTypeOfDescriptor}},
        {}}},
      {kDnnReduction,
       {{{kDnnReductionOperator, kDnnTypeOfReduction}, {kDnnReductionType, kDnnTypeOfDataType}},
        {}}},
      {kDnnReductionOperation,
       {{{kDnnReductionOperationKind, kDnnTypeOfDescriptor},
         {kDnnReductionOperationX, kDnnTypeOfDescriptor},
         {kDnnReductionOperationY, kDnnTypeOfDescriptor}},
        {}}},
      {kDnnGraph,
       {{{kDnnGraphHandle, kDnnTypeOfHandle}, {kDnnGraphOperations, kDnnTypeOfDescriptor}}, {}}},
      {kDnnHeuristic,
       {{{kDnnHeuristicGraph, kDnnTypeOfDescriptor}, {kDnnHeuristicMode, kDnnTypeOfHeuristicMode}},
        {}}},
      {kDnnConfiguration, {}},
      {kDnnEngine, {}},
      {kDnnPlan,
       {{{kDnnPlanHandle, kDnnTypeOfHandle}, {kDnnPlanConfiguration, kDnnTypeOfDescriptor}}, {}}},
      {kDnnPack,
       {{{kDnnPackIds, kDnnTypeOfI64},
         {kDnnPackPointers, kDnnTypeOfPointer},
         {kDnnPackWorkspace, kDnnTypeOfPointer}},
        {}}},
  };
  return kinds;
}

size_t BytesOf(int type) {
  switch (type) {
    case kDnnTypeOfBoolean:
      return sizeof(bool);
    case kDnnTypeOfI64:
    case kDnnTypeOfPointer:
    case kDnnTypeOfDescriptor:
    case kDnnTypeOfHandle:
      return sizeof(int64_t);
    default:
      return sizeof(int);
  }
}

// It and all that it names are there and finalized.
bool IsWhole(const DnnDescriptorObject* descriptor) {
  if (!State::Get().IsThere(descriptor) || !descriptor->is_final) return false;
  for (const auto& [name, attribute] : descriptor->attributes) {
    if (attribute.type != kDnnTypeOfDescriptor) continue;
    for (const DnnDescriptor named : descriptor->All<DnnDescriptor>(name)) {
      if (!IsWhole(named)) return false;
    }
  }
  return true;
}

void Keep(DnnDescriptor descriptor, int attribute, int type, int64_t count, const void* elements) {
  descriptor->attributes[attribute] = {
      type, count,
      std::string(static_cast<const char*>(elements), static_cast<size_t>(count) * BytesOf(type))};
}

bool IsF32(const DnnDescriptorObject& graph) {
  fake::Graph meant;
  return fake::Graph::Of(graph.All<DnnDescriptor>(kDnnGraphOperations), &meant) &&
         meant.image.type == kDnnF32;
}

const DnnDescriptorObject& GraphOf(const DnnDescriptorObject& engine) {
  return *engine.Get<DnnDescriptor>(kGraphOfEngine);
}

const Engine& EngineOf(const DnnDescriptorObject& engine) {
  return EnginesOf(IsF32(GraphOf(engine)))[static_cast<size_t>(engine.Get<int>(kNumberOfEngine))];
}

DnnStatus Propose(const DnnDescriptorObject& heuristic, int64_t most, int64_t* count,
                  DnnDescriptor* proposals) {
  const DnnDescriptor graph = heuristic.Get<DnnDescriptor>(kDnnHeuristicGraph);
  const size_t engines = EnginesOf(IsF32(*graph)).size();
  *count = 0;
  for (size_t i = 0; i < engines && *count < most; ++i) {
    const DnnDescriptor proposal = proposals[*count];
    if (!State::Get().IsThere(proposal) || proposal->kind != kDnnConfiguration) {
      return kDnnBadParameter;
    }
    const int number = static_cast<int>(i);
    Keep(proposal, kNumberOfEngine, kDnnTypeOfPointwiseMode, 1, &number);
    Keep(proposal, kGraphOfEngine, kDnnTypeOfDescriptor, 1, &graph);
    proposal->is_final = true;
    ++*count;
  }
  return kDnnSuccess;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))
#define TEKTITE_CUDNN_FUNCTION(name, symbol, parameters) EXPORT DnnStatus symbol parameters;
#include "backends/gpu/cudnn/cudnn_function_list.inc"
#undef TEKTITE_CUDNN_FUNCTION

EXPORT size_t cudnnGetVersion() { return 91900; }

DnnStatus cudnnCreate(DnnHandle* handle) {
  ENTER("cudnnCreate");
  *handle = new DnnHandleObject;
  std::lock_guard<std::mutex> lock(State::Get().mutex);
  ++State::Get().handles;
  return kDnnSuccess;
}

DnnStatus cudnnDestroy(DnnHandle handle) {
  ENTER("cudnnDestroy");
  delete handle;
  std::lock_guard<std::mutex> lock(State::Get().mutex);
  --State::Get().handles;
  return kDnnSuccess;
}

DnnStatus cudnnSetStream(DnnHandle handle, CuStream stream) {
  ENTER("cudnnSetStream");
  handle->stream = stream;
  return kDnnSuccess;
}

DnnStatus cudnnBackendCreateDescriptor(int kind, DnnDescriptor* descriptor) {
  ENTER("cudnnBackendCreateDescriptor");
  if (Kinds().count(kind) == 0) return kDnnNotSupported;
  *descriptor = new DnnDescriptorObject{kind, false, {}};
  std::lock_guard<std::mutex> lock(State::Get().mutex);
  State::Get().descriptors.insert(*descriptor);
  return kDnnSuccess;
}

DnnStatus cudnnBackendDestroyDescriptor(DnnDescriptor descriptor) {
  ENTER("cudnnBackendDestroyDescriptor");
  std::lock_guard<std::mutex> lock(State::Get().mutex);
  if (State::Get().descriptors.erase(descriptor) == 0) return kDnnBadParameter;
  delete descriptor;
  return kDnnSuccess;
}

DnnStatus cudnnBackendSetAttribute(DnnDescriptor descriptor, int attribute, int type, int64_t count,
                                   const void* elements) {
  ENTER("cudnnBackendSetAttribute");
  const Kind& kind = Kinds().at(descriptor->kind);
  const auto known = kind.types.find(attribute);
  if (descriptor->is_final || known == kind.types.end() || known->second != type || count < 1) {
    return kDnnBadParameter;
  }
  Keep(descriptor, attribute, type, count, elements);
  return kDnnSuccess;
}

DnnStatus cudnnBackendFinalize(DnnDescriptor descriptor) {
  ENTER("cudnnBackendFinalize");
  const Kind& kind = Kinds().at(descriptor->kind);
  for (const auto& [attribute, type] : kind.types) {
    if (!descriptor->Has(attribute) && kind.optional.count(attribute) == 0) return kDnnBadParameter;
  }
  descriptor->is_final = true;
  if (!IsWhole(descriptor)) return kDnnNotFinalized;
  if (descriptor->kind == kDnnGraph) {
    fake::Graph graph;
    const auto operations = descriptor->All<DnnDescriptor>(kDnnGraphOperations);
    fake::Attention attention;
    return fake::Graph::Of(operations, &graph) || fake::Attention::Of(operations, &attention)
               ? kDnnSuccess
               : kDnnShapeMismatch;
  }
  if (descriptor->kind == kDnnPlan) {
    const auto& configuration = *descriptor->Get<DnnDescriptor>(kDnnPlanConfiguration);
    if (!EngineOf(configuration).is_supported) return kDnnNotSupported;
  }
  return kDnnSuccess;
}

DnnStatus cudnnBackendGetAttribute(DnnDescriptor descriptor, int attribute, int type, int64_t most,
                                   int64_t* count, void* elements) {
  ENTER("cudnnBackendGetAttribute");
  if (!IsWhole(descriptor)) return kDnnNotFinalized;
  const auto is = [&](int kind, int name, int of_type) {
    return descriptor->kind == kind && attribute == name && type == of_type;
  };
  if (is(kDnnHeuristic, kDnnHeuristicResults, kDnnTypeOfDescriptor)) {
    return Propose(*descriptor, most, count, static_cast<DnnDescriptor*>(elements));
  }
  if (is(kDnnConfiguration, kDnnConfigurationEngine, kDnnTypeOfDescriptor)) {
    const DnnDescriptor engine = *static_cast<DnnDescriptor*>(elements);
    if (!State::Get().IsThere(engine) || engine->kind != kDnnEngine) return kDnnBadParameter;
    engine->attributes = descriptor->attributes;
    engine->is_final = true;
    *count = 1;
    return kDnnSuccess;
  }
  if (is(kDnnEngine, kDnnEngineNotes, kDnnTypeOfNote)) {
    const std::vector<int>& notes = EngineOf(*descriptor).notes;
    *count = static_cast<int64_t>(notes.size());
    for (size_t i = 0; i < notes.size() && static_cast<int64_t>(i) < most; ++i) {
      static_cast<int*>(elements)[i] = notes[i];
    }
    return kDnnSuccess;
  }
  if (is(kDnnPlan, kDnnPlanWorkspace, kDnnTypeOfI64)) {
    *static_cast<int64_t*>(elements) = State::Get().workspace;
    *count = 1;
    return kDnnSuccess;
  }
  return kDnnBadParameter;
}

DnnStatus cudnnBackendExecute(DnnHandle handle, DnnDescriptor plan, DnnDescriptor arguments) {
  ENTER("cudnnBackendExecute");
  if (!IsWhole(plan) || !IsWhole(arguments) || plan->kind != kDnnPlan ||
      arguments->kind != kDnnPack || plan->Get<DnnHandle>(kDnnPlanHandle) != handle) {
    return kDnnBadParameter;
  }
  const auto& configuration = *plan->Get<DnnDescriptor>(kDnnPlanConfiguration);
  const auto operations = GraphOf(configuration).All<DnnDescriptor>(kDnnGraphOperations);
  fake::Graph graph;
  fake::Attention attention;
  const bool attends = fake::Attention::Of(operations, &attention);
  if (!attends) fake::Graph::Of(operations, &graph);
  const auto ids = arguments->All<int64_t>(kDnnPackIds);
  const auto pointers = arguments->All<uint64_t>(kDnnPackPointers);
  if (ids.size() != pointers.size()) return kDnnBadParameter;
  std::map<int64_t, uint64_t> addresses;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool is_passed = attends && attention.IsPassed(ids[i]);
    if (pointers[i] % 16 != 0 && !is_passed) return kDnnBadParameter;
    addresses[ids[i]] = pointers[i];
  }
  if (attends && !attention.TakeValues(addresses)) return kDnnBadParameter;
  const auto& driver = *fake_driver_controls();
  const auto workspace = arguments->Get<uint64_t>(kDnnPackWorkspace);
  const int64_t bytes = State::Get().workspace;
  if (bytes > 0 &&
      (workspace % 16 != 0 || driver.reach(workspace, static_cast<size_t>(bytes)) == nullptr)) {
    return kDnnBadParameter;
  }
  bool rounds = false;
  for (int note : EngineOf(configuration).notes) rounds = rounds || note == kDnnDownConvertsInputs;
  const int told = driver.tell(
      handle->stream,
      [graph, attention, attends, addresses, rounds] {
        if (attends) {
          const int ran = attention.Run(addresses);
          if (ran == kCuSuccess) ++State::Get().attentions;
          return ran;
        }
        const int ran = graph.Run(addresses, rounds);
        if (ran == kCuSuccess) ++State::Get().convolutions;
        return ran;
      },
      State::Get().microseconds);
  return told == kCuSuccess ? DnnStatus{kDnnSuccess} : DnnStatus{kDnnInternalError};
}

EXPORT const FakeCudnn* fake_cudnn_controls() {
  static const FakeCudnn controls = [] {
    FakeCudnn f = {};
    f.reset = [] { State::Get().Reset(); };
    f.fail = [](const char* symbol, int status, int times) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      State::Get().failures[symbol] = {status, times};
    };
    f.set_microseconds = [](double microseconds) { State::Get().microseconds = microseconds; };
    f.set_workspace = [](int64_t bytes) { State::Get().workspace = bytes; };
    f.calls = [](const char* symbol) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      return State::Get().calls[symbol];
    };
    f.convolutions = [] { return State::Get().convolutions.load(); };
    f.attentions = [] { return State::Get().attentions.load(); };
    f.held_things = [] {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      return State::Get().handles + static_cast<int64_t>(State::Get().descriptors.size());
    };
    return f;
  }();
  return &controls;
}

}  // extern "C"

}  // namespace tektite::gpu
