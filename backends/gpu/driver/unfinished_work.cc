#include "backends/gpu/driver/unfinished_work.h"

#include <utility>

#include "backends/gpu/driver/card.h"

namespace tektite::gpu {

void UnfinishedWork::Needs::Return(Card& card) {
  for (auto& graph : graphs) card.graphs().Return(std::move(graph));
  for (auto& room : rooms) card.pinned().Return(std::move(room));
  for (auto& piece : pieces) card.pinned().Return(std::move(piece));
  *this = Needs();
}

UnfinishedWork::~UnfinishedWork() {
  Wait();
  if (!card_.takes_back()) return;
  for (CuEvent event : idle_events_) card_.driver().EventDestroy(event);
}

CuEvent UnfinishedWork::TakeEvent() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_events_.empty()) {
      const CuEvent event = idle_events_.back();
      idle_events_.pop_back();
      return event;
    }
  }
  CuEvent event = nullptr;
  const CuResult result = card_.driver().EventCreate(&event, kCuEventWithoutTiming);
  return card_.Check(result, "making an event").ok() ? event : nullptr;
}

void UnfinishedWork::Add(CuStream stream, Needs needs) {
  Entry entry{TakeEvent(), std::move(needs)};
  const bool is_recorded =
      entry.reached != nullptr &&
      card_.Check(card_.driver().EventRecord(entry.reached, stream), "recording an event").ok();
  if (!is_recorded) {
    if (card_.takes_back()) {
      card_.Check(card_.driver().StreamSynchronize(stream), "waiting for it").IgnoreError();
    }
    return Finish(std::move(entry));
  }
  std::unique_lock<std::mutex> lock(mutex_);
  entries_.push_back(std::move(entry));
  const bool is_behind = entries_.size() > kMost;
  lock.unlock();
  if (is_behind) Finish(TakeOldest(/*waits=*/true));
  Collect();
}

UnfinishedWork::Entry UnfinishedWork::TakeOldest(bool waits) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (entries_.empty()) return {};
  if (!waits && card_.takes_back()) {
    const CuResult result = card_.driver().EventQuery(entries_.front().reached);
    if (result == kCuNotReady) return {};
    // After an error nothing runs there any more.
    card_.Check(result, "asking for an event").IgnoreError();
  }
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  lock.unlock();
  if (waits && card_.takes_back()) {
    card_.Check(card_.driver().EventSynchronize(entry.reached), "waiting for an event")
        .IgnoreError();
  }
  return entry;
}

void UnfinishedWork::Finish(Entry entry) {
  entry.needs.Return(card_);
  if (entry.reached == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  idle_events_.push_back(entry.reached);
}

void UnfinishedWork::Collect() {
  for (Entry entry = TakeOldest(false); entry.reached != nullptr; entry = TakeOldest(false)) {
    Finish(std::move(entry));
  }
}

bool UnfinishedWork::empty() {
  std::lock_guard<std::mutex> lock(mutex_);
  return entries_.empty();
}

void UnfinishedWork::Wait() {
  for (Entry entry = TakeOldest(true); entry.reached != nullptr; entry = TakeOldest(true)) {
    Finish(std::move(entry));
  }
}

}  // namespace tektite::gpu
