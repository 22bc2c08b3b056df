// Values as bytes and back, for files: little-endian, strings with their length before them.
// Example(uint64_t number, const std::string& name, ByteWriter& w):
//   w.U64(number), w.String(name);
//   ByteReader r(w.bytes());
//   const bool is_same = r.U64() == number && r.String() == name;
//   if (!r.AtEnd() || !is_same) return;  // damaged
//
// A reader never reads beyond its bytes: the first value that is not there makes it fail, and all
// later ones are zero or empty.  Its results borrow from those bytes.
#ifndef TEKTITE_JIT_BASE_BYTES_H_
#define TEKTITE_JIT_BASE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace tektite {

class ByteWriter {
 public:
  void U32(uint32_t value) { Raw(&value, sizeof(value)); }
  void U64(uint64_t value) { Raw(&value, sizeof(value)); }
  void I64(int64_t value) { Raw(&value, sizeof(value)); }
  void F64(double value) { Raw(&value, sizeof(value)); }
  void String(absl::string_view text) {
    U64(text.size());
    bytes_.append(text.data(), text.size());
  }
  // A number of things that is never large.
  void Size(size_t size) { U32(static_cast<uint32_t>(size)); }
  // Without a length.
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : left_(bytes) {}

  uint32_t U32() { return Value<uint32_t>(); }
  uint64_t U64() { return Value<uint64_t>(); }
  int64_t I64() { return Value<int64_t>(); }
  double F64() { return Value<double>(); }
  absl::string_view String() { return Raw(U64()); }
  absl::string_view Raw(uint64_t size) {
    if (size > left_.size()) {
      Fail();
      return absl::string_view();
    }
    const absl::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  // A number of things of at least `bytes_each` bytes, that all have to be there.
  uint64_t Count(uint64_t bytes_each) { return Bounded(U64(), bytes_each); }
  // The same, written by Size.
  uint64_t Size(uint64_t bytes_each) { return Bounded(U32(), bytes_each); }

  bool ok() const { return ok_; }
  // All was read, and all that was read was there.
  bool AtEnd() const { return ok_ && left_.empty(); }
  void Fail() {
    ok_ = false;
    left_ = absl::string_view();
  }

 private:
  uint64_t Bounded(uint64_t count, uint64_t bytes_each) {
    if (count <= left_.size() / bytes_each) return count;
    Fail();
    return 0;
  }
  template <typename T>
  T Value() {
    T value{};
    const absl::string_view raw = Raw(sizeof(T));
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  absl::string_view left_;
  bool ok_ = true;
};

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_BYTES_H_
