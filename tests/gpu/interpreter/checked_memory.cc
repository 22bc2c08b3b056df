#include "tests/gpu/interpreter/checked_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/llvm/warpgroup.h"
#include "tests/gpu/interpreter/thread_values.h"

namespace tektite::gpu {

namespace {
constexpr int16_t kSeveral = -1;
}  // namespace

int CheckedMemory::AddBuffer(absl::string_view name, void* data, int64_t bytes, bool written) {
  auto* begin = static_cast<std::byte*>(data);
  regions_.push_back(std::make_unique<Region>(
      Region{std::string(name), Kind::kBuffer, begin, bytes, written, {}}));
  Extent whole = {begin, begin + bytes};
  const auto absorb = [&](const Extent& e) {
    if (whole.end <= e.begin || e.end <= whole.begin) return false;
    whole = {std::min(whole.begin, e.begin), std::max(whole.end, e.end)};
    return true;
  };
  extents_.erase(std::remove_if(extents_.begin(), extents_.end(), absorb), extents_.end());
  extents_.push_back(whole);
  return static_cast<int>(regions_.size()) - 1;
}

CheckedMemory::Granule* CheckedMemory::NewGranules(int64_t bytes) {
  granules_.push_back(std::make_unique<std::vector<Granule>>(
      static_cast<size_t>(CeilDiv(bytes, int64_t{granule_}))));
  return granules_.back()->data();
}

void CheckedMemory::BeginLaunch() {
  if (epoch_ == 0) {
    for (const Extent& extent : extents_) {
      Granule* granules = NewGranules(extent.end - extent.begin);
      for (const std::unique_ptr<Region>& region : regions_) {
        if (region->kind == Kind::kBuffer && region->data >= extent.begin &&
            region->data < extent.end) {
          region->granules = granules + (region->data - extent.begin) / granule_;
        }
      }
    }
  }
  launch_begin_ = ++epoch_;
}

int CheckedMemory::AddScratch(int64_t bytes) { return AddOwned("scratch", Kind::kScratch, bytes); }
int CheckedMemory::AddShared(int64_t bytes) {
  return AddOwned("shared memory", Kind::kShared, bytes);
}

int CheckedMemory::AddOwned(absl::string_view name, Kind kind, int64_t bytes) {
  auto region = std::make_unique<Region>(Region{
      std::string(name), kind, nullptr, bytes,
      /*written=*/true, std::vector<std::byte>(static_cast<size_t>(bytes)), NewGranules(bytes)});
  region->data = region->owned.data();
  regions_.push_back(std::move(region));
  return static_cast<int>(regions_.size()) - 1;
}

absl::Status CheckedMemory::CheckAddress(const Region& region, Place at, int64_t bytes,
                                         int64_t alignment) const {
  if (at.offset < 0 || at.offset > region.bytes - bytes) {
    return InvalidArgument(bytes, " bytes at byte ", at.offset, " of ", region.name,
                           " are out of bounds: it has ", region.bytes);
  }
  // Shared memory and scratch begin where every vector may.
  const uintptr_t base =
      region.kind == Kind::kBuffer ? reinterpret_cast<uintptr_t>(region.data) : uintptr_t{0};
  if ((base + static_cast<uintptr_t>(at.offset)) % static_cast<uintptr_t>(alignment) != 0) {
    return InvalidArgument("byte ", at.offset, " of ", region.name, " is misaligned: ", bytes,
                           " bytes at once must begin at a multiple of ", alignment);
  }
  return absl::OkStatus();
}

absl::Status CheckedMemory::Race(const Region& region, Place at, absl::string_view what,
                                 uint32_t epoch, int other, absl::string_view did) const {
  const std::string who = epoch < block_begin_ ? "another block"
                          : other == kSeveral  ? "other threads"
                                               : absl::StrCat("thread ", other);
  return InvalidArgument("data race: ", what, " byte ", at.offset, " of ", region.name, ", which ",
                         who, " ", did, " without a barrier between");
}

absl::Status CheckedMemory::CheckWriter(const Region& region, const Granule& granule, int thread,
                                        Place at, absl::string_view what) const {
  if (!Counts(region, granule.write_epoch)) return absl::OkStatus();
  if (granule.write_epoch < block_begin_ ||
      (granule.write_epoch == epoch_ && granule.write_thread != thread &&
       !IsKnown(granule.write_thread, granule.write_step, thread))) {
    return Race(region, at, what, granule.write_epoch, granule.write_thread, "wrote");
  }
  return absl::OkStatus();
}

absl::Status CheckedMemory::CheckCopy(const Granule& granule, const Region& region, Place at,
                                      absl::string_view what) const {
  if (granule.copy_epoch < block_begin_ || granule.copy_epoch == 0) return absl::OkStatus();
  return InvalidArgument("data race: ", what, " byte ", at.offset, " of ", region.name,
                         ", into which a copy is under way");
}

absl::Status CheckedMemory::NoteRead(const Region& region, Granule& granule, int thread,
                                     Place at) const {
  TEKTITE_RETURN_IF_ERROR(CheckCopy(granule, region, at, "reads"));
  if (region.kind != Kind::kBuffer && !IsThere(region, granule.write_epoch)) {
    return InvalidArgument("byte ", at.offset, " of ", region.name, " is read uninitialized");
  }
  TEKTITE_RETURN_IF_ERROR(CheckWriter(region, granule, thread, at, "reads"));
  if (granule.read_epoch == epoch_ && !IsKnown(granule.read_thread, granule.read_step, thread)) {
    if (granule.read_thread != thread) granule.read_thread = kSeveral;
    return absl::OkStatus();
  }
  granule.read_by_earlier_block =
      granule.read_epoch >= launch_begin_ &&
      (granule.read_by_earlier_block || granule.read_epoch < block_begin_);
  granule.read_epoch = epoch_;
  granule.read_thread = static_cast<int16_t>(thread);
  granule.read_step = StepOf(thread);
  return absl::OkStatus();
}

absl::Status CheckedMemory::NoteWrite(const Region& region, Granule& granule, int thread,
                                      Place at) const {
  TEKTITE_RETURN_IF_ERROR(CheckCopy(granule, region, at, "writes"));
  TEKTITE_RETURN_IF_ERROR(CheckWriter(region, granule, thread, at, "writes"));
  const bool counts = Counts(region, granule.read_epoch);
  const bool of_earlier_block = granule.read_by_earlier_block && region.kind != Kind::kShared;
  if (counts && (of_earlier_block || granule.read_epoch < block_begin_)) {
    return Race(region, at, "writes", 0, 0, "read");
  }
  if (counts && granule.read_epoch == epoch_ && granule.read_thread != thread &&
      !IsKnown(granule.read_thread, granule.read_step, thread)) {
    return Race(region, at, "writes", epoch_, granule.read_thread, "read");
  }
  granule.write_epoch = epoch_;
  granule.write_thread = static_cast<int16_t>(thread);
  granule.write_step = StepOf(thread);
  return absl::OkStatus();
}

absl::Status CheckedMemory::Read(int thread, Place at, int64_t bytes, int64_t alignment, void* to) {
  const Region& region = *regions_[static_cast<size_t>(at.region)];
  TEKTITE_RETURN_IF_ERROR(CheckAddress(region, at, bytes, alignment));
  for (int64_t i = 0; i < bytes; i += granule_) {
    const Place part = {at.region, at.offset + i};
    TEKTITE_RETURN_IF_ERROR(
        NoteRead(region, region.granules[part.offset >> granule_shift_], thread, part));
  }
  CopyBytes(to, region.data + at.offset, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status CheckedMemory::Write(int thread, Place at, int64_t bytes, int64_t alignment,
                                  const void* from) {
  const Region& region = *regions_[static_cast<size_t>(at.region)];
  TEKTITE_RETURN_IF_ERROR(CheckAddress(region, at, bytes, alignment));
  if (!region.written) {
    return InvalidArgument("writes to ", region.name, ", which is read only");
  }
  for (int64_t i = 0; i < bytes; i += granule_) {
    const Place part = {at.region, at.offset + i};
    TEKTITE_RETURN_IF_ERROR(
        NoteWrite(region, region.granules[part.offset >> granule_shift_], thread, part));
  }
  CopyBytes(region.data + at.offset, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status CheckedMemory::BeginCopy(int thread, Place to, int64_t bytes) {
  const Region& region = *regions_[static_cast<size_t>(to.region)];
  TEKTITE_RETURN_IF_ERROR(CheckAddress(region, to, bytes, bytes));
  for (int64_t i = 0; i < bytes; i += granule_) {
    const Place part = {to.region, to.offset + i};
    Granule& granule = region.granules[part.offset / granule_];
    TEKTITE_RETURN_IF_ERROR(NoteWrite(region, granule, thread, part));
    granule.copy_epoch = epoch_;
  }
  return absl::OkStatus();
}

absl::Status CheckedMemory::EndCopy(int thread, Place to, int64_t bytes, const void* from) {
  const Region& region = *regions_[static_cast<size_t>(to.region)];
  for (int64_t i = 0; i < bytes; i += granule_) {
    region.granules[(to.offset + i) / granule_].copy_epoch = 0;
  }
  return Write(thread, to, bytes, bytes, from);
}

absl::Status CheckedMemory::ReadInBackground(Place at, int64_t bytes, void* to) {
  const Region& region = *regions_[static_cast<size_t>(at.region)];
  TEKTITE_RETURN_IF_ERROR(CheckAddress(region, at, bytes, loop::kSwizzledBytes));
  for (int64_t i = 0; i < bytes; i += granule_) {
    const Place part = {at.region, at.offset + i};
    const Granule& granule = region.granules[part.offset >> granule_shift_];
    TEKTITE_RETURN_IF_ERROR(CheckCopy(granule, region, part, "reads"));
    if (!IsThere(region, granule.write_epoch)) {
      return InvalidArgument("byte ", part.offset, " of ", region.name, " is read uninitialized");
    }
  }
  std::memcpy(to, region.data + at.offset, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

}  // namespace tektite::gpu
