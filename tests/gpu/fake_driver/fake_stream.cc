// libcuda's functions for streams, events and graphs, by the stand-in (fake_driver.h).
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/gpu/fake_driver/fake_call.h"
#include "tests/gpu/fake_driver/fake_state.h"

namespace tektite::gpu::fake {

extern "C" {

CuResult cuStreamCreate(CuStream* stream, unsigned) {
  ENTER(EnterContext("cuStreamCreate"));
  return Made(reinterpret_cast<Stream**>(stream), new Stream());
}

CuResult cuStreamDestroy_v2(CuStream stream) {
  ENTER(EnterOn("cuStreamDestroy_v2", stream));
  return Gone(Of(stream));
}

CuResult cuStreamSynchronize(CuStream stream) {
  ENTER(EnterOn("cuStreamSynchronize", stream));
  if (Of(stream)->is_recording()) return kCaptureUnsupported;
  Of(stream)->Wait();
  return State::Get().lost.load();
}

CuResult cuStreamWaitEvent(CuStream stream, CuEvent event, unsigned) {
  ENTER(EnterOn("cuStreamWaitEvent", stream));
  if (Of(stream)->is_recording()) return kCaptureUnsupported;
  Of(stream)->Tell([reached = reinterpret_cast<Event*>(event)->reached] {
    while (!reached->load() && State::Get().lost.load() == 0) std::this_thread::yield();
    return static_cast<int>(kCuSuccess);
  });
  return kCuSuccess;
}

CuResult cuEventCreate(CuEvent* event, unsigned flags) {
  ENTER(EnterContext("cuEventCreate"));
  auto* const made = new Event();
  made->has_time = (flags & kCuEventWithoutTiming) == 0;
  return Made(reinterpret_cast<Event**>(event), made);
}

CuResult cuEventDestroy_v2(CuEvent event) {
  ENTER(EnterContext("cuEventDestroy_v2"));
  return Gone(reinterpret_cast<Event*>(event));
}

CuResult cuEventRecord(CuEvent event, CuStream stream) {
  ENTER(EnterOn("cuEventRecord", stream));
  if (Of(stream)->is_recording()) return kCaptureUnsupported;
  auto reached = std::make_shared<std::atomic<bool>>(false);
  reinterpret_cast<Event*>(event)->reached = reached;
  const auto time = reinterpret_cast<Event*>(event)->time;
  Of(stream)->Tell([reached, time] {
    *time = Stream::Now();
    reached->store(true);
    return static_cast<int>(kCuSuccess);
  });
  return kCuSuccess;
}

CuResult cuEventQuery(CuEvent event) {
  ENTER(EnterContext("cuEventQuery"));
  if (const int lost = State::Get().lost.load()) return lost;
  return reinterpret_cast<Event*>(event)->reached->load() ? kCuSuccess : kCuNotReady;
}

CuResult cuEventSynchronize(CuEvent event) {
  ENTER(EnterContext("cuEventSynchronize"));
  State& state = State::Get();
  const auto reached = reinterpret_cast<Event*>(event)->reached;
  while (!reached->load() && state.lost.load() == 0) std::this_thread::yield();
  return state.lost.load();
}

CuResult cuEventElapsedTime(float* milliseconds, CuEvent begin, CuEvent end) {
  ENTER(EnterContext("cuEventElapsedTime"));
  const auto &first = *reinterpret_cast<Event*>(begin), &second = *reinterpret_cast<Event*>(end);
  if (!first.has_time || !second.has_time) return kInvalidHandle;
  if (!first.reached->load() || !second.reached->load()) return kCuNotReady;
  *milliseconds = static_cast<float>((*second.time - *first.time) / 1000);
  return kCuSuccess;
}

CuResult cuStreamBeginCapture_v2(CuStream stream, CuCaptureMode) {
  ENTER(EnterOn("cuStreamBeginCapture_v2", stream));
  Of(stream)->BeginCapture();
  return kCuSuccess;
}

CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph) {
  ENTER(EnterOn("cuStreamEndCapture", stream));
  auto recorded = std::make_unique<std::vector<Work>>();
  if (!Of(stream)->EndCapture(recorded.get())) return kCuInvalidValue;
  return Made(reinterpret_cast<std::vector<Work>**>(graph), recorded.release());
}

CuResult cuGraphInstantiateWithFlags(CuGraphExec* executable, CuGraph graph, unsigned long long) {
  ENTER(EnterContext("cuGraphInstantiateWithFlags"));
  return Made(reinterpret_cast<std::vector<Work>**>(executable),
              new std::vector<Work>(*reinterpret_cast<std::vector<Work>*>(graph)));
}

CuResult cuGraphDestroy(CuGraph graph) {
  ENTER(EnterContext("cuGraphDestroy"));
  return Gone(reinterpret_cast<std::vector<Work>*>(graph));
}

CuResult cuGraphExecDestroy(CuGraphExec graph) {
  ENTER(EnterContext("cuGraphExecDestroy"));
  return Gone(reinterpret_cast<std::vector<Work>*>(graph));
}

CuResult cuGraphLaunch(CuGraphExec graph, CuStream stream) {
  ENTER(EnterOn("cuGraphLaunch", stream));
  for (const Work& work : *reinterpret_cast<std::vector<Work>*>(graph)) Of(stream)->Tell(work);
  return kCuSuccess;
}

}  // extern "C"

}  // namespace tektite::gpu::fake
