#include "runtime_hooks/tensorflow/hook/run/host_memory.h"

#include <optional>

namespace tektite::tf_hook {
namespace {

using tensorflow::Allocator;

// From here on oneDNN's allocator keeps blocks; smaller ones are malloc's.
constexpr size_t kKeptFrom = 256 << 10;

// With room for as much again, since its free memory may be in pieces.
bool HasRoom(Allocator* allocator, size_t bytes) {
  const auto stats = allocator->GetStats();
  if (!stats || !stats->bytes_limit) return true;
  const int64_t room = *stats->bytes_limit - stats->bytes_in_use;
  return room > 0 && bytes <= static_cast<size_t>(room) / 2;
}

void* Allocate(void* context, size_t bytes) {
  auto* const allocator = static_cast<Allocator*>(context);
  if (bytes < kKeptFrom || !HasRoom(allocator, bytes)) return nullptr;
  return allocator->AllocateRaw(Allocator::kAllocatorAlignment, bytes);
}

void Release(void* context, void* block) { static_cast<Allocator*>(context)->DeallocateRaw(block); }

}  // namespace

bool KeepsBlocks(Allocator* allocator) { return allocator->Name() == "mklcpu"; }

void OfferMemory(tektite_options* options) {
  Allocator* const allocator = tensorflow::cpu_allocator();
  if (!KeepsBlocks(allocator)) return;
  options->memory_context = allocator;
  options->memory_allocate = &Allocate;
  options->memory_release = &Release;
}

}  // namespace tektite::tf_hook
