#include "jit/compiler/tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/compiler/background.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"
#include "jit/passes/apply_schedule.h"

namespace tektite::compiler {
namespace {

using ir::Attr;
using ir::Graph;
using ir::Node;
using ir::Op;

// Candidates take turns so often, if the first turn is not long already.
constexpr int kTurns = 7;
constexpr double kLongTurnUs = 20000;
// A turn shorter than this launches more often the next time.
constexpr double kTurnUs = 200;
// Launches on a card between two events: enough that what the first waits for does not count.
constexpr int kMostLaunches = 32;

bool IsAttention(const Node& fusion) { return fusion.IsFusion(ir::FusionKind::kAttention); }

// "convolution f32[1,56,56,64] f32[3,3,64,64]"
std::string NameOf(const Node& fusion) {
  const Node& contraction = *ops::FindContraction(fusion.region());
  std::string name(IsAttention(fusion) ? "attention" : ir::OpName(contraction.op()));
  for (int i = 0; i < contraction.num_operands(); ++i) {
    absl::StrAppend(&name, " ", contraction.operand_shape(i).ToString());
  }
  return name;
}

// A graph of the fusion alone, its operands parameters.
std::unique_ptr<Graph> Isolated(const Node& fusion, const Node& contraction, bool rhs_is_weights) {
  auto graph = ir::Isolated(fusion, "trial");
  const Node& rhs = *contraction.operand(1).node;
  if (rhs_is_weights && rhs.op() == Op::kParameter) {
    graph->parameter(static_cast<int>(rhs.Int(Attr::index)))->attrs().Set(Attr::weight, true);
  }
  return graph;
}

int64_t Bytes(const Node& fusion) {
  int64_t bytes = 0;
  for (ir::Value v : fusion.operands()) bytes += v.shape().num_bytes();
  for (const ir::Shape& shape : fusion.shapes()) bytes += shape.num_bytes();
  return bytes;
}

// One candidate, ready to run on memory of its own.
class Trial {
 public:
  absl::Status Prepare(const Graph& isolated, const target::Schedule& schedule,
                       backend::Backend& backend) {
    device_ = backend.device();
    graph_ = isolated.Clone();
    Node* fusion = nullptr;
    for (Node* node : graph_->NodeList()) {
      if (node->op() == Op::kFusion) fusion = node;
    }
    TEKTITE_ASSIGN_OR_RETURN(fusion, passes::ApplySchedule(*graph_, fusion, schedule));
    if (fusion == nullptr) return Unimplemented("the contraction does not stand alone");
    return Build(backend);
  }

  // The card's microseconds of a run.
  double Turn() {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    absl::StatusOr<double> us = kNever;
    backend::StreamOptions options;
    options.scratch = scratch_;
    options.scratch_bytes = scratch_bytes_;
    const absl::Status status = device_->WithStream(options, [&](backend::Stream& stream) {
      const auto begin = stream.RecordTime();
      for (int i = 0; i < launches_; ++i) Launch(steps_, stream);
      const auto end = stream.RecordTime();
      TEKTITE_RETURN_IF_ERROR(stream.Synchronize());
      us = stream.MicrosecondsBetween(*begin, *end);
      return us.status();
    });
    if (!status.ok()) return kNever;
    const double once = *us / launches_;
    if (*us < kTurnUs) {
      launches_ = once > 0 ? static_cast<int>(std::min<double>(kTurnUs / once + 1, kMostLaunches))
                           : kMostLaunches;
    }
    // The clock counts half microseconds.
    return std::max(once, 0.01);
  }

 private:
  struct Step {
    std::shared_ptr<const backend::Kernel> kernel;
    std::vector<void*> buffers;
  };

  static void Launch(const std::vector<Step>& steps, backend::Stream& stream) {
    for (const Step& step : steps) {
      stream.Launch(*step.kernel, step.kernel->Configure({}), step.buffers, {});
    }
  }

  void* Allocate(int64_t bytes) {
    blocks_.push_back(device_->memory().Allocate(bytes));
    return blocks_.back().data();
  }

  absl::Status Run(const std::vector<Step>& steps) const {
    backend::StreamOptions options;
    options.scratch = scratch_;
    options.scratch_bytes = scratch_bytes_;
    return device_->WithStream(options, [&](backend::Stream& stream) {
      Launch(steps, stream);
      return stream.Synchronize();
    });
  }

  absl::Status Build(backend::Backend& backend) {
    absl::flat_hash_map<ir::Value, void*> pointers;
    absl::flat_hash_set<const Node*> once;
    std::vector<Step> first;
    for (Node* node : graph_->NodeList()) {
      if (node->op() == Op::kParameter) {
        void* const data = Allocate(node->shape().num_bytes());
        if (data == nullptr) return absl::ResourceExhaustedError("no memory for a trial");
        TEKTITE_RETURN_IF_ERROR(Fill(node->shape(), data));
        pointers[node->result()] = data;
        if (node->Bool(Attr::weight)) once.insert(node);
        continue;
      }
      if (node->op() != Op::kFusion) return Unimplemented("a trial of more than fusions");
      Step step;
      TEKTITE_RETURN_IF_ERROR(Background::Checkpoint());
      backend::CompileOptions options;
      options.name = "trial";
      TEKTITE_ASSIGN_OR_RETURN(step.kernel, backend.Compile(*node, options));
      bool stable = true;
      for (ir::Value v : node->operands()) {
        step.buffers.push_back(pointers.at(v));
        stable = stable && once.contains(v.node);
      }
      for (int r = 0; r < node->num_results(); ++r) {
        void* const result = Allocate(node->shape(r).num_bytes());
        if (result == nullptr) return absl::ResourceExhaustedError("no memory for a trial");
        step.buffers.push_back(result);
        pointers[node->result(r)] = result;
      }
      scratch_bytes_ = std::max(scratch_bytes_, step.kernel->Configure({}).scratch_bytes);
      if (stable) once.insert(node);
      (stable ? first : steps_).push_back(std::move(step));
    }
    scratch_ = Allocate(scratch_bytes_);
    if (scratch_ == nullptr) return absl::ResourceExhaustedError("no memory for a trial");
    return Run(first);
  }

  // Numbers of usual size: neither zeros nor denormals, which some machines are faster or slower
  // with, nor like each other, with which a card takes less power and so runs faster.
  absl::Status Fill(const ir::Shape& shape, void* data) const {
    std::vector<std::byte> bytes(
        shape.num_bytes(),
        std::byte{shape.dtype() == ir::DType::kBool ? uint8_t{1} : uint8_t{0x3c}});
    switch (shape.dtype()) {
      case ir::DType::kF16:
        FillWith<uint16_t>(bytes, 0x83ff, 0x3800);
        break;
      case ir::DType::kBF16:
        FillWith<uint16_t>(bytes, 0x807f, 0x3f00);
        break;
      case ir::DType::kF32:
        FillWith<uint32_t>(bytes, 0x807fffff, 0x3f000000);
        break;
      default:
        break;
    }
    return device_->WithStream({}, [&](backend::Stream& stream) {
      stream.CopyFromHost(data, bytes.data(), static_cast<int64_t>(bytes.size()));
      return stream.Synchronize();
    });
  }

  // Floats from 0.5 to 1 and their negatives: sign and mantissa are random, the exponent is given.
  template <typename Bits>
  static void FillWith(std::vector<std::byte>& bytes, Bits random, Bits exponent) {
    std::minstd_rand generator(1);
    for (size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
      // Of 31 bits, the low ones the worst.
      const uint32_t number = static_cast<uint32_t>(generator()) << 1;
      const auto bits = static_cast<Bits>(number >> (32 - 8 * sizeof(Bits)));
      const Bits value = static_cast<Bits>((bits & random) | exponent);
      std::memcpy(bytes.data() + at, &value, sizeof(Bits));
    }
  }

  std::unique_ptr<Graph> graph_;
  std::shared_ptr<backend::Device> device_;
  std::vector<backend::Block> blocks_;
  std::vector<Step> steps_;
  void* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0;
  int launches_ = 1;  // of a turn
};

}  // namespace

Tuner::Tuner(std::unique_ptr<backend::Backend> backend,
             std::shared_ptr<const cache::KeyEnvironment> environment,
             std::shared_ptr<cache::DiskStore> disk)
    : backend_(std::move(backend)), environment_(std::move(environment)), disk_(std::move(disk)) {}

std::shared_ptr<Tuner> Tuner::Create(std::unique_ptr<backend::Backend> backend,
                                     std::shared_ptr<const cache::KeyEnvironment> environment,
                                     std::shared_ptr<cache::DiskStore> disk) {
  if (backend == nullptr || backend->device() == nullptr) return nullptr;
  return std::shared_ptr<Tuner>(
      new Tuner(std::move(backend), std::move(environment), std::move(disk)));
}

std::string Tuner::Encode(const Result& result) {
  std::string text = result.chosen;
  for (const auto& [candidate, us] : result.microseconds) {
    absl::StrAppend(&text, "\n", candidate, " ", us);
  }
  return text;
}

bool Tuner::Decode(absl::string_view text, Result* result) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  result->chosen = std::string(lines[0]);
  result->microseconds.clear();
  bool measured = false;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(lines[i], ' ');
    double us = 0;
    if (parts.first.empty() || !absl::SimpleAtod(parts.second, &us) || !(us > 0)) return false;
    result->microseconds.emplace_back(parts.first, us);
    measured |= parts.first == result->chosen;
  }
  return measured;
}

void Tuner::Prefer(const Node& fusion, const target::Facts& facts,
                   std::vector<target::Offer>* offers) {
  std::vector<std::string> names;
  for (const target::Offer& offer : *offers) {
    if (offer.schedule.ok()) names.push_back(offer.schedule->implementation);
  }
  if (names.size() < 2) return;
  const std::string fastest = Fastest(fusion, facts, names);
  const auto is_fastest = [&](const target::Offer& offer) {
    return offer.schedule.ok() && offer.schedule->implementation == fastest;
  };
  std::stable_partition(offers->begin(), offers->end(), is_fastest);
}

std::string Tuner::Fastest(const Node& fusion, const target::Facts& facts,
                           const std::vector<std::string>& names) {
  const Node* const contraction = ops::FindContraction(fusion.region());
  if (contraction == nullptr || ir::HasSymbols(fusion.region())) return "";
  Result result;
  result.name = NameOf(fusion);
  const std::string text =
      absl::StrCat(facts.rhs_is_weights ? "packed " : "", backend_->LibraryVersion(), "\n",
                   ir::PrintCanonical(fusion.region()), "\n", absl::StrJoin(names, " "));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [it, added] = results_.emplace(text, result);
    if (!added) {
      const Result& known = it->second;
      return known.microseconds.empty() || known.chosen == known.microseconds.front().first
                 ? ""
                 : known.chosen;
    }
  }
  if (LoadFromDisk(text, &result)) {
    Remember(text, result, /*keep=*/false);
    return result.chosen == result.microseconds.front().first ? "" : result.chosen;
  }
  if (Bytes(fusion) > kMostBytes) return "";
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back({text, Isolated(fusion, *contraction, facts.rhs_is_weights), facts});
  }
  MeasureNextInBackground();
  return "";
}

// One at a time, so that a compilation waits for one of them at most.
void Tuner::MeasureNextInBackground() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (measuring_ || waiting_.empty()) return;
    measuring_ = true;
  }
  const bool submitted = Background::Get().Submit([self = shared_from_this()] {
    Waiting next;
    {
      std::lock_guard<std::mutex> lock(self->mutex_);
      next = std::move(self->waiting_.front());
      self->waiting_.pop_front();
    }
    self->Measure(next);
    {
      std::lock_guard<std::mutex> lock(self->mutex_);
      self->measuring_ = false;
    }
    self->MeasureNextInBackground();
  });
  if (submitted) return;
  std::lock_guard<std::mutex> lock(mutex_);
  measuring_ = false;
}

bool Tuner::LoadFromDisk(const std::string& text, Result* result) {
  if (disk_ == nullptr) return false;
  auto describe = [&] {
    return cache::DescribeMeasurement(cache::EntryKind::kTuning, text, result->name, *environment_);
  };
  const Fingerprint key = environment_->Finish(cache::EntryKind::kTuning, text);
  const std::optional<std::string> payload = disk_->Load(key, describe);
  if (!payload.has_value()) return false;
  if (Decode(*payload, result)) {
    result->from_disk = true;
    return true;
  }
  disk_->Reject(key);
  return false;
}

void Tuner::Remember(const std::string& text, Result result, bool keep) {
  if (keep && disk_ != nullptr) {
    disk_->Store(
        cache::DescribeMeasurement(cache::EntryKind::kTuning, text, result.name, *environment_),
        Encode(result));
    disk_->Flush();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  results_[text] = std::move(result);
}

void Tuner::Measure(const Waiting& job) {
  const int64_t began = ThreadNanoseconds() / 1000;
  auto spent = [&] { return spent_us_.load() + ThreadNanoseconds() / 1000 - began; };
  const Node* fusion = nullptr;
  for (const auto& node : job.graph->nodes()) {
    if (node->op() == Op::kFusion) fusion = node.get();
  }
  std::vector<target::Schedule> schedules;
  if (spent() < kBudgetUs) {
    for (target::Offer& offer : backend_->Schedules(*fusion, job.facts)) {
      if (offer.schedule.ok()) schedules.push_back(*std::move(offer.schedule));
    }
  }
  if (schedules.size() >= 2) {
    Result result;
    result.name = NameOf(*fusion);
    const absl::Status status = Compare(
        job, schedules, [&] { return spent() < kBudgetUs; }, &result);
    if (status.ok()) Remember(job.text, std::move(result), /*keep=*/true);
  }
  spent_us_ += ThreadNanoseconds() / 1000 - began;
}

absl::Status Tuner::Compare(const Waiting& job, const std::vector<target::Schedule>& schedules,
                            const std::function<bool()>& may_go_on, Result* result) const {
  auto prepare = [&](const target::Schedule& schedule, Trial* trial) {
    return trial->Prepare(*job.graph, schedule, *backend_);
  };
  constexpr double kNever = std::numeric_limits<double>::infinity();
  Trial usual;
  TEKTITE_RETURN_IF_ERROR(prepare(schedules[0], &usual));
  result->chosen = schedules[0].implementation;
  result->microseconds.emplace_back(result->chosen, kNever);
  std::vector<double> ratios = {1};  // to the usual way, in the same turns
  for (size_t i = 1; i < schedules.size(); ++i) {
    // Memory for two of them at a time.
    Trial other;
    const absl::Status status = prepare(schedules[i], &other);
    if (absl::IsCancelled(status)) return status;
    if (!status.ok()) continue;  // one that cannot be made is left out
    double usual_us = kNever, other_us = kNever;
    for (int turn = 0; turn < kTurns; ++turn) {
      TEKTITE_RETURN_IF_ERROR(Background::Checkpoint());
      if (!may_go_on()) return absl::DeadlineExceededError("the budget for tuning is used up");
      const double first = usual.Turn(), second = other.Turn();
      if (turn == 0) continue;  // it brings code and data into the caches
      usual_us = std::min(usual_us, first);
      other_us = std::min(other_us, second);
      if (first + second > kLongTurnUs) break;
    }
    double& usual_least = result->microseconds[0].second;
    usual_least = std::min(usual_least, usual_us);
    result->microseconds.emplace_back(schedules[i].implementation, other_us);
    ratios.push_back(other_us / usual_us);
  }
  // Better in the turns they took, and than the usual way ever was: a neighbour who slows down one
  // of them for a while decides nothing.
  double best = 1 - kLeastGain;
  for (size_t i = 1; i < ratios.size(); ++i) {
    const auto& [name, us] = result->microseconds[i];
    if (ratios[i] >= best || us >= (1 - kLeastGain) * result->microseconds[0].second) continue;
    best = ratios[i];
    result->chosen = name;
  }
  if (result->microseconds.size() < 2) return Unimplemented("there is one way only");
  return absl::OkStatus();
}

bool Tuner::IsMeasuring() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return measuring_ || !waiting_.empty();
}

std::vector<Tuner::Result> Tuner::results() const {
  std::vector<Result> all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [text, result] : results_) all.push_back(result);
  return all;
}

}  // namespace tektite::compiler
