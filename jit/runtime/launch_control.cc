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
  for (const Planned& step : steps_) {
    if (step.control < 0 || !controls_[step.control].is_loop) continue;
    std::vector<std::vector<Toggle>> toggles(2);
    for (size_t r = 0; r < toggles.size(); ++r) {
      AddToggles(step, controls_[step.control].regions[r], building, &toggles[r]);
    }
    controls_[step.control].toggles = std::move(toggles);
  }
}

void Launch::AddToggles(const Planned& step, Range range, const Building& building,
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
    double all = 0, most = 0;
    for (Range region : control.regions) {
      const double cost_ns = CostNs(region.begin, region.end);
      all += cost_ns;
      most = std::max(most, cost_ns);
    }
    step->launch.cost_ns = control.is_loop ? kAssumedTurns * all : most;
  }
}

bool Launch::RunControl(const Planned& step, const Context& context) const {
  const Control& control = controls_[step.control];
  return control.is_loop ? RunLoop(step, control, context) : RunChoice(step, control, context);
}

// The pointers of the turn at hand are those of the first one, flipped for every second turn.  What
// was launched may run later, until Synchronize, so a region's are flipped only after that: the
// condition's at the end of a turn, the body's when the condition is known.
bool Launch::RunLoop(const Planned& step, const Control& loop, const Context& context) const {
  void** const own = context.pointers + step.first_slot;
  void** const results = own + loop.num_operands;
  void* const condition = results[loop.num_results];
  void** const next = results + loop.num_results + 1;
  for (int r = 0; r < loop.num_results; ++r) {
    if (own[r] != results[r]) context.stream.CopyWithin(results[r], own[r], loop.bytes[r]);
  }
  const auto flip = [&](size_t region) {
    Flip(loop.toggles[region], loop, results, context.pointers);
  };
  bool is_odd = false, body_is_odd = false;
  while (true) {
    bool goes_on = false;
    if (!RunSteps(loop.regions[kCondition], context)) return false;
    context.stream.CopyToHost(&goes_on, condition, sizeof(goes_on));
    if (!context.stream.Synchronize().ok()) return false;
    if (!goes_on) break;
    if (body_is_odd != is_odd) flip(kBody);
    body_is_odd = is_odd;
    if (!RunSteps(loop.regions[kBody], context)) return false;
    is_odd = !is_odd;
    flip(kCondition);
  }
  if (body_is_odd) flip(kBody);
  if (!is_odd) return true;
  flip(kCondition);
  for (int r = 0; r < loop.num_results; ++r) {
    if (next[r] != results[r]) context.stream.CopyWithin(results[r], next[r], loop.bytes[r]);
  }
  return true;
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

bool Launch::RunChoice(const Planned& step, const Control& choice, const Context& context) const {
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
