#include "backends/gpu/driver/launch_graphs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/log.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

// So that tensor maps in a frame lie where the copy engine reads them.
constexpr int64_t kFrameAlignment = alignof(CuTensorMap);

// Which of several calls a recording failed at is not known: the library may have noticed nothing.
bool BlameLibraries(const LaunchGraphs::Run& run) {
  bool any = false;
  for (const LaunchGraphs::Run::Step& step : run.steps()) {
    const auto& call = step.kernel->call();
    if (call == nullptr) continue;
    if (call->is_recordable()) {
      Warn("'", step.kernel->name(), "' of ", call->library(), " is not recorded");
    }
    call->DoNotRecord();
    any = true;
  }
  return any;
}

}  // namespace

struct LaunchGraphs::Entry {
  int calls = 0;
  int made = 0;
  bool is_evicted = false;
  uint64_t last_use = 0;
  std::vector<std::unique_ptr<Graph>> idle;
  // Code must stay as long as a graph names it.
  std::vector<std::shared_ptr<const void>> code;
};

void LaunchGraphs::Run::Add(const CardKernel& kernel, int64_t blocks, const uint64_t* frame) {
  steps_.push_back({&kernel, blocks, frame_bytes_, {}});
  key_.push_back(kernel.number());
  key_.push_back(static_cast<uint64_t>(blocks));
  if (kernel.call() != nullptr) {
    steps_.back().addresses.assign(frame, frame + kernel.num_buffers() + 1);
    key_.insert(key_.end(), frame, frame + kernel.num_buffers() + 1);
  }
  const int64_t bytes = kernel.frame_words() * static_cast<int64_t>(sizeof(uint64_t));
  frame_bytes_ += RoundUp(bytes, kFrameAlignment);
}

void LaunchGraphs::Run::Clear() {
  steps_.clear();
  key_.clear();
  frame_bytes_ = 0;
}

LaunchGraphs::LaunchGraphs(Card* card) : card_(*card) {}

LaunchGraphs::~LaunchGraphs() {
  for (auto& [key, entry] : entries_) {
    for (auto& graph : entry->idle) Destroy(std::move(graph));
    entry->idle.clear();
  }
}

std::shared_ptr<LaunchGraphs::Entry> LaunchGraphs::Find(
    const std::vector<uint64_t>& key, std::vector<std::unique_ptr<Graph>>* evicted) {
  std::shared_ptr<Entry>& known = entries_[key];
  if (known == nullptr) known = std::make_shared<Entry>();
  const std::shared_ptr<Entry> entry = known;
  entry->last_use = ++clock_;
  if (entries_.size() > kMostRuns) {
    auto oldest = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second->last_use < oldest->second->last_use) oldest = it;
    }
    *evicted = std::move(oldest->second->idle);
    oldest->second->is_evicted = true;
    entries_.erase(oldest);
  }
  return entry;
}

std::unique_ptr<LaunchGraphs::Graph> LaunchGraphs::Take(const Run& run, CuStream stream) {
  if (run.steps().size() < kFewestLaunches || cannot_record_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  std::vector<std::unique_ptr<Graph>> evicted;
  std::unique_ptr<Graph> graph = TakeKnown(run, stream, &evicted);
  for (auto& old : evicted) Destroy(std::move(old));
  return graph;
}

std::unique_ptr<LaunchGraphs::Graph> LaunchGraphs::TakeKnown(
    const Run& run, CuStream stream, std::vector<std::unique_ptr<Graph>>* evicted) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::shared_ptr<Entry> entry = Find(run.key(), evicted);
  if (!entry->idle.empty()) {
    std::unique_ptr<Graph> graph = std::move(entry->idle.back());
    entry->idle.pop_back();
    graph->entry = std::move(entry);
    return graph;
  }
  if (++entry->calls <= kCallsBefore || entry->made >= kMostAtOnce) return nullptr;
  ++entry->made;
  lock.unlock();
  auto graph = std::make_unique<Graph>();
  const absl::Status status = Record(run, stream, graph.get());
  if (!status.ok()) {
    Destroy(std::move(graph));
    if (absl::IsInternal(status) && !BlameLibraries(run)) {
      Warn("launches are not recorded: ", status.message());
      cannot_record_.store(true, std::memory_order_relaxed);
    }
    lock.lock();
    --entry->made;  // there may be memory later
    return nullptr;
  }
  graph->entry = std::move(entry);
  lock.lock();
  if (graph->entry->code.empty()) {
    for (const Run::Step& step : run.steps()) {
      graph->entry->code.push_back(step.kernel->code());
      graph->entry->code.push_back(step.kernel->call());
    }
  }
  recorded_.fetch_add(1, std::memory_order_relaxed);
  return graph;
}

void LaunchGraphs::Return(std::unique_ptr<Graph> graph) {
  const std::shared_ptr<Entry> entry = std::move(graph->entry);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!entry->is_evicted) entry->idle.push_back(std::move(graph));
  }
  if (graph != nullptr) Destroy(std::move(graph));
}

absl::Status LaunchGraphs::Record(const Run& run, CuStream stream, Graph* graph) const {
  TEKTITE_ASSIGN_OR_RETURN(graph->room, card_.pinned().TakeRoom());
  const Driver& driver = card_.driver();
  const auto* const frames = graph->room->device.data();
  TEKTITE_RETURN_IF_ERROR(
      card_.Check(driver.StreamBeginCapture(stream, kCuCaptureOfThread), "recording launches"));
  absl::Status told =
      card_.Check(driver.MemcpyHtoDAsync(reinterpret_cast<CuAddress>(frames), graph->room->host,
                                         static_cast<size_t>(run.frame_bytes()), stream),
                  "recording a copy");
  if (told.ok()) told = Launch(run, frames, stream);
  CuGraph recorded = nullptr;
  // Also after an error: the stream has to leave the mode.
  const absl::Status ended =
      card_.Check(driver.StreamEndCapture(stream, &recorded), "recording launches");
  if (told.ok()) told = ended;
  if (told.ok()) {
    told = card_.Check(driver.GraphInstantiate(&graph->executable, recorded, /*flags=*/0),
                       "making a graph");
  }
  if (recorded != nullptr) driver.GraphDestroy(recorded);
  return told;
}

absl::Status LaunchGraphs::Launch(const Run& run, const std::byte* frames, CuStream stream) const {
  for (const Run::Step& step : run.steps()) {
    if (const auto& call = step.kernel->call()) {
      absl::Span<const CuAddress> addresses = step.addresses;
      TEKTITE_RETURN_IF_ERROR(
          call->Tell(addresses.first(addresses.size() - 1), addresses.back(), stream));
      continue;
    }
    auto frame = reinterpret_cast<CuAddress>(frames + step.frame);
    void* parameters[] = {&frame};
    const CuResult result = card_.driver().LaunchKernel(
        step.kernel->code()->function(), static_cast<unsigned>(step.blocks), 1, 1,
        static_cast<unsigned>(step.kernel->threads()), 1, 1,
        static_cast<unsigned>(step.kernel->dynamic_shared_bytes()), stream, parameters, nullptr);
    if (result == kCuSuccess) continue;
    return card_.Check(result, absl::StrCat("launching '", step.kernel->name(), "'"));
  }
  return absl::OkStatus();
}

void LaunchGraphs::Destroy(std::unique_ptr<Graph> graph) {
  if (graph->executable != nullptr && card_.takes_back()) {
    card_.driver().GraphExecDestroy(graph->executable);
  }
  if (graph->room != nullptr) card_.pinned().Return(std::move(graph->room));
}

}  // namespace tektite::gpu
