#include "jit/target/schedules.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/base/status.h"

namespace tektite::target {
namespace {

constexpr std::pair<absl::string_view, bool Schedule::*> kWords[] = {
    {"alone", &Schedule::stands_alone},
    {"copies_rhs", &Schedule::copies_rhs},
    {"features_first", &Schedule::features_first},
    {"lhs_in_place", &Schedule::lhs_in_place}};
constexpr std::pair<absl::string_view, int64_t RhsLayout::*> kOfRhs[] = {
    {"columns", &RhsLayout::columns},
    {"fours", &RhsLayout::fours},
    {"halves", &RhsLayout::halves},
    {"nibbles", &RhsLayout::nibbles},
    {"pairs", &RhsLayout::pairs}};
constexpr std::pair<absl::string_view, int64_t Blocks::*> kOfBlocks[] = {
    {"channels", &Blocks::channels},
    {"panels", &Blocks::panels},
    {"piece", &Blocks::piece},
    {"pixels", &Blocks::pixels},
    {"row_vectors", &Blocks::row_vectors},
    {"squares", &Blocks::squares},
    {"steps", &Blocks::steps},
    {"taps", &Blocks::taps}};
constexpr absl::string_view kLater = "later";

bool ReadPositive(absl::string_view text, int64_t* number) {
  return absl::SimpleAtoi(text, number) && *number > 0;
}

template <typename Owner, typename Names>
bool ReadNumber(const Names& names, absl::string_view name, absl::string_view text, Owner* owner) {
  for (const auto& [known, member] : names) {
    if (name == known) return ReadPositive(text, &(owner->*member));
  }
  return false;
}

template <typename Owner, typename Names>
void PrintNumbers(const Names& names, const Owner& owner, std::string* text) {
  for (const auto& [name, member] : names) {
    if (owner.*member > 0) absl::StrAppend(text, ", ", name, " = ", owner.*member);
  }
}

// Reads one part of the text that Print has written.
bool ReadPart(absl::string_view part, Schedule* schedule) {
  if (part == kLater) return schedule->rhs.later = true;
  for (const auto& [word, member] : kWords) {
    if (part == word) return schedule->*member = true;
  }
  const std::pair<absl::string_view, absl::string_view> named =
      absl::StrSplit(part, absl::MaxSplits(" = ", 1));
  if (named.first == "tile") {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(named.second, absl::MaxSplits('x', 1));
    return ReadPositive(sides.first, &schedule->tile.vectors) &&
           ReadPositive(sides.second, &schedule->tile.rows);
  }
  return ReadNumber(kOfRhs, named.first, named.second, &schedule->rhs) ||
         ReadNumber(kOfBlocks, named.first, named.second, &schedule->blocks);
}

}  // namespace

std::string Tile::ToString() const { return absl::StrCat(vectors, "x", rows); }

std::string Schedule::Print() const {
  std::string text = implementation;
  if (tile.rows > 0) absl::StrAppend(&text, ", tile = ", tile.ToString());
  PrintNumbers(kOfRhs, rhs, &text);
  PrintNumbers(kOfBlocks, blocks, &text);
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
