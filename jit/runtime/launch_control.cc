// Loops and choices in a launch.
#include <algorithm>

#include "jit/runtime/launch.h"

namespace tektite::runtime {
namespace {

// The turns that a loop is assumed to take before it runs, to decide whether threads are worth
// asking for.
constexpr double kAssumedTurns = 16;
constexpr size_t kCondition = 0, kBody = 1;

}  // namespace

void Launch::FindToggles(const Building& building) {
  for (const PreparedStep& step : steps_) {
    if (step.control < 0 || !controls_[step.control].is_loop) continue;
    std::vector<std::vector<Toggle>> toggles(2);
    for (size_t r = 0; r < toggles.size(); ++r) {
      AddToggles(step, controls_[step.control].regions[r], building, &toggles[r]);
    }
    controls_[step.control].toggles = std::move(toggles);
  }
}

void Launch::AddToggles(const PreparedStep& step, Range range, const Building& building,
                        std::vector<Toggle>* toggles) const {
  if (range.begin == range.end) return;
  const Control& loop = controls_[step.control];
  const int own = step.first_slot + loop.num_operands;
  for (int result = 0; result < loop.num_results; ++result) {
    const Location& present = building.slots[own + result].location;
    const Location& next = building.slots[own + loop.num_results + 1 + result].location;
    if (present == next) continue;
    for (int slot = steps_[range.begin].first_slot; slot < EndOfSlots(range.end); ++slot) {
      const Location& location = building.slots[slot].location;
      if (location == present || location == next) {
        toggles->push_back({slot, result, building.slots[slot].part});
      }
    }
  }
  for (int i = range.begin; i < range.end; ++i) {
    if (steps_[i].control < 0) continue;
    for (Range region : controls_[steps_[i].control].regions) {
      AddToggles(step, region, building, toggles);
    }
  }
}

void Launch::PlaceControls(absl::Span<const int64_t> table) {
  // Regions stand behind their control steps.
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->control < 0) continue;
    Control& control = controls_[step->control];
    control.bytes.clear();
    for (int place : control.places) control.bytes.push_back(table[place]);
    control.turn_ns = control.divisible_ns = 0;
    double most = 0;
    for (Range region : control.regions) {
      const double cost_ns = CostNs(region.begin, region.end);
      control.turn_ns += cost_ns;
      control.divisible_ns += DivisibleNs(region);
      most = std::max(most, cost_ns);
    }
    step->launch.cost_ns = control.is_loop ? kAssumedTurns * control.turn_ns : most;
  }
}

bool Launch::RunControl(const PreparedStep& step, const Context& context) const {
  const Control& control = controls_[step.control];
  if (!control.is_loop) return RunChoice(step, control, context);
  return step.round_steps > 1 ? RunLoops(step, context) : RunLoop(step, context);
}

bool Launch::RunLoop(const PreparedStep& step, const Context& context) const {
  Turning turning = BeginLoop(step, context);
  while (turning.goes_on) {
    if (!RunTurn(&turning, context)) return false;
  }
  EndLoop(&turning, context);
  return true;
}

Launch::Turning Launch::BeginLoop(const PreparedStep& step, const Context& context) const {
  const Control& loop = controls_[step.control];
  void* const* const own = context.pointers + step.first_slot;
  void* const* const results = own + loop.num_operands;
  for (int r = 0; r < loop.num_results; ++r) {
    if (own[r] != results[r]) context.stream.CopyWithin(results[r], own[r], loop.bytes[r]);
  }
  return {&step, &loop};
}

// What was launched may run later, until Synchronize, so a region's pointers are flipped only after
// that: the condition's at the end of a turn, the body's when the condition is known.
bool Launch::RunTurn(Turning* turning, const Context& context) const {
  const Control& loop = *turning->loop;
  void* const* const results = context.pointers + turning->step->first_slot + loop.num_operands;
  void* const condition = results[loop.num_results];
  bool goes_on = false;
  if (!RunSteps(loop.regions[kCondition], context)) return false;
  context.stream.CopyToHost(&goes_on, condition, sizeof(goes_on));
  if (!context.stream.Synchronize().ok()) return false;
  turning->goes_on = goes_on;
  if (!goes_on) return true;
  if (turning->body_is_odd != turning->is_odd) {
    Flip(loop.toggles[kBody], loop, results, context.pointers);
  }
  turning->body_is_odd = turning->is_odd;
  if (!RunSteps(loop.regions[kBody], context)) return false;
  turning->is_odd = !turning->is_odd;
  Flip(loop.toggles[kCondition], loop, results, context.pointers);
  return true;
}

void Launch::EndLoop(Turning* turning, const Context& context) const {
  const Control& loop = *turning->loop;
  void* const* const results = context.pointers + turning->step->first_slot + loop.num_operands;
  void* const* const next = results + loop.num_results + 1;
  if (turning->body_is_odd) Flip(loop.toggles[kBody], loop, results, context.pointers);
  if (!turning->is_odd) return;
  Flip(loop.toggles[kCondition], loop, results, context.pointers);
  for (int r = 0; r < loop.num_results; ++r) {
    if (next[r] != results[r]) context.stream.CopyWithin(results[r], next[r], loop.bytes[r]);
  }
}

void Launch::Flip(const std::vector<Toggle>& toggles, const Control& loop, void* const* results,
                  void** pointers) {
  for (const Toggle& toggle : toggles) {
    const uintptr_t present = Address(results[toggle.result]);
    const uintptr_t next = Address(results[loop.num_results + 1 + toggle.result]);
    const uintptr_t both = present + next + 2 * toggle.part;
    pointers[toggle.slot] = reinterpret_cast<void*>(both - Address(pointers[toggle.slot]));
  }
}

bool Launch::RunChoice(const PreparedStep& step, const Control& choice,
                       const Context& context) const {
  const void* const which = context.pointers[step.first_slot];
  const int last = static_cast<int>(choice.regions.size()) - 1;
  int chosen = 0;
  if (choice.by_number) {
    int32_t number = 0;
    context.stream.CopyToHost(&number, which, sizeof(number));
    if (!context.stream.Synchronize().ok()) return false;
    chosen = number < 0 || number > last ? last : number;
  } else {
    bool first = false;
    context.stream.CopyToHost(&first, which, sizeof(first));
    if (!context.stream.Synchronize().ok()) return false;
    chosen = first ? 0 : 1;
  }
  return RunSteps(choice.regions[chosen], context);
}

}  // namespace tektite::runtime
