// Memory of a device in tests: the host cannot reach it by the addresses that are handed out.
//
//   ClosedMemory memory("card", {/*all=*/1 << 30, /*granule=*/512, /*spoiled=*/4096});
//   std::byte* const closed = memory.Allocate(64);
//   *closed = std::byte{1};                        // SIGSEGV
//   *memory.Open(closed) = std::byte{1};           // what the device itself does
//
// The memory is mapped twice, and the mapping whose addresses are handed out allows no access.
// What is freed is spoiled, so that what comes there next finds garbage.  Thread-safe.
// Limits: a process that gets no address space ends.
#ifndef TEKTITE_TESTS_ISLAND_CLOSED_MEMORY_H_
#define TEKTITE_TESTS_ISLAND_CLOSED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace tektite::testing {

class ClosedMemory {
 public:
  struct Sizes {
    size_t all = 0;      // reserved; pages come with their first use
    size_t granule = 1;  // sizes are rounded up to a multiple
    size_t spoiled = 0;  // at most so many bytes of what is freed
  };

  ClosedMemory(const char* name, const Sizes& sizes);
  ~ClosedMemory();
  ClosedMemory(const ClosedMemory&) = delete;
  ClosedMemory& operator=(const ClosedMemory&) = delete;

  // Null: there is none.
  std::byte* Allocate(size_t bytes);
  // False for an address that Allocate did not return.
  bool Free(const void* address);
  // Bytes from the address to its allocation's end; 0 in none.
  size_t Room(const void* address) const;
  // Whether the address is in the closed mapping, allocated or not.
  bool Holds(const void* address, size_t bytes) const;
  // The device's own address of a byte that the mapping holds.
  std::byte* Open(const void* address) const;
  int64_t held_bytes() const;

 private:
  size_t OffsetOf(const void* address) const;

  const Sizes sizes_;
  std::byte *closed_ = nullptr, *open_ = nullptr;
  mutable std::mutex mutex_;               // guards the members below
  std::map<size_t, size_t> free_, taken_;  // offset and bytes
  int64_t held_bytes_ = 0;
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_ISLAND_CLOSED_MEMORY_H_
