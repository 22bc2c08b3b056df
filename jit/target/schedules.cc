#include "jit/target/schedules.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/base/status.h"

namespace tektite::target {
namespace {

constexpr std::pair<absl::string_view, bool Schedule::*> kWords[] = {
    {"alone", &Schedule::stands_alone}, {"features_first", &Schedule::features_first}};
constexpr std::pair<absl::string_view, int64_t RhsLayout::*> kNumbers[] = {
    {"columns", &RhsLayout::columns}, {"pairs", &RhsLayout::pairs}};
constexpr absl::string_view kLater = "later";

// Reads one part of the text that Print has written.
bool ReadPart(absl::string_view part, Schedule* schedule) {
  if (part == kLater) return schedule->rhs.later = true;
  for (const auto& [word, member] : kWords) {
    if (part == word) return schedule->*member = true;
  }
  const std::pair<absl::string_view, absl::string_view> named =
      absl::StrSplit(part, absl::MaxSplits(" = ", 1));
  if (named.first == "variant") {
    schedule->variant = std::string(named.second);
    return !schedule->variant.empty();
  }
  for (const auto& [word, member] : kNumbers) {
    if (named.first == word) {
      return absl::SimpleAtoi(named.second, &(schedule->rhs.*member)) && schedule->rhs.*member > 0;
    }
  }
  return false;
}

}  // namespace

std::string Schedule::Name() const {
  return variant.empty() ? implementation : absl::StrCat(implementation, "_", variant);
}

std::string Schedule::Print() const {
  std::string text = implementation;
  if (!variant.empty()) absl::StrAppend(&text, ", variant = ", variant);
  for (const auto& [word, member] : kNumbers) {
    if (rhs.*member > 0) absl::StrAppend(&text, ", ", word, " = ", rhs.*member);
  }
  if (rhs.later) absl::StrAppend(&text, ", ", kLater);
  for (const auto& [word, member] : kWords) {
    if (this->*member) absl::StrAppend(&text, ", ", word);
  }
  return text;
}

absl::StatusOr<Schedule> Schedule::Parse(absl::string_view text) {
  Schedule schedule;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ", ");
  schedule.implementation = std::string(parts[0]);
  bool is_sound = !parts[0].empty();
  for (size_t i = 1; i < parts.size() && is_sound; ++i) is_sound = ReadPart(parts[i], &schedule);
  if (!is_sound) return InvalidArgument("'", text, "' is no schedule");
  return schedule;
}

Schedule ScheduleOf(const ir::Node& fusion) {
  if (!fusion.attrs().Has(ir::Attr::schedule)) return {};
  return Schedule::Parse(fusion.String(ir::Attr::schedule)).value_or(Schedule());
}

void SetSchedule(const Schedule& schedule, ir::Node* fusion) {
  fusion->attrs().Set(ir::Attr::schedule, schedule.Print());
}

}  // namespace tektite::target
