#include "runtime_hooks/standalone/npy.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"

namespace tektite::standalone {
namespace {

constexpr size_t kAlignment = 64;
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 32;

struct ElementType {
  std::string_view npy;  // without the byte order
  std::string_view name;
  int32_t dtype;
  int bytes;
};
constexpr ElementType kTypes[] = {
    {"b1", "bool", 10, 1}, {"i1", "s8", 6, 1},   {"i2", "s16", 5, 2},  {"i4", "s32", 3, 4},
    {"i8", "s64", 9, 8},   {"u1", "u8", 4, 1},   {"u2", "u16", 17, 2}, {"u4", "u32", 22, 4},
    {"u8", "u64", 23, 8},  {"f2", "f16", 19, 2}, {"f4", "f32", 1, 4},  {"f8", "f64", 2, 8},
    {"V2", "bf16", 14, 2},
};

const ElementType* FindType(int32_t dtype) {
  for (const ElementType& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

int64_t NumElements(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      throw Failure("the array is too large");
  }
  return count;
}

// The header: a Python dictionary such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class Header {
 public:
  explicit Header(std::string_view text) {
    const std::string_view descr = After(text, "'descr'");
    const size_t quote = descr.find('\'');
    const size_t end = descr.find('\'', quote == std::string_view::npos ? quote : quote + 1);
    if (end == std::string_view::npos) throw Failure("no element type in the header");
    ReadType(descr.substr(quote + 1, end - quote - 1));
    const std::string_view order = After(text, "'fortran_order'");
    fortran_order = order.substr(0, order.find(',')).find("True") != std::string_view::npos;
    ReadShape(After(text, "'shape'"));
  }

  const ElementType* type = nullptr;
  bool fortran_order = false;
  std::vector<int64_t> dims;

 private:
  static std::string_view After(std::string_view text, std::string_view key) {
    const size_t at = text.find(key);
    if (at == std::string_view::npos) {
      throw Failure("the header lacks " + std::string(key));
    }
    return text.substr(at + key.size());
  }

  void ReadType(std::string_view descr) {
    std::string_view plain = descr;
    if (!plain.empty() && std::string_view("<|=").find(plain[0]) != std::string_view::npos) {
      plain.remove_prefix(1);
    }
    for (const ElementType& candidate : kTypes) {
      if (candidate.npy == plain) type = &candidate;
    }
    if (type == nullptr)
      throw Failure("element type '" + std::string(descr) + "' is not supported");
  }

  void ReadShape(std::string_view text) {
    size_t at = text.find('(');
    const size_t end = text.find(')');
    if (at == std::string_view::npos || end == std::string_view::npos || end < at) {
      throw Failure("no shape in the header");
    }
    for (++at; at < end;) {
      const char c = text[at];
      if (c == ' ' || c == ',') {
        ++at;
        continue;
      }
      int64_t value = 0;
      const size_t begin = at;
      for (; at < end && text[at] >= '0' && text[at] <= '9'; ++at) {
        if (value > (std::numeric_limits<int64_t>::max() - 9) / 10) throw Failure("bad shape");
        value = value * 10 + (text[at] - '0');
      }
      if (at == begin || dims.size() == kMostDimensions) throw Failure("bad shape in the header");
      dims.push_back(value);
    }
  }
};

// Row-major order out of column-major.
void FromFortranOrder(const Header& header, const char* from, char* to) {
  const size_t rank = header.dims.size();
  const int64_t bytes = header.type->bytes;
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * header.dims[d - 1];
  const int64_t count = NumElements(header.dims);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset += index[d] * stride[d];
    std::memcpy(to + i * bytes, from + offset * bytes, bytes);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < header.dims[d]) break;
      index[d] = 0;
    }
  }
}

Array Parse(std::string_view file) {
  if (file.size() < 10 || file.substr(0, kMagic.size()) != kMagic)
    throw Failure("not an .npy file");
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(file[i]));
  };
  const size_t major = byte(6);
  if (major < 1 || major > 3) throw Failure("unknown version of the format");
  size_t header_at = 10, header_size = byte(8) | byte(9) << 8;
  if (major >= 2) {
    if (file.size() < 12) throw Failure("the file is cut off");
    header_size |= byte(10) << 16 | byte(11) << 24;
    header_at = 12;
  }
  if (file.size() - header_at < header_size) throw Failure("the file is cut off");
  const Header header(file.substr(header_at, header_size));
  const std::string_view body = file.substr(header_at + header_size);

  int64_t bytes = 0;
  if (__builtin_mul_overflow(NumElements(header.dims), header.type->bytes, &bytes) ||
      static_cast<uint64_t>(bytes) > body.size()) {
    throw Failure("the file is cut off");
  }
  Array array = MakeArray(header.type->dtype, header.dims);
  auto* data = static_cast<char*>(array.data.get());
  if (header.fortran_order) {
    FromFortranOrder(header, body.data(), data);
  } else {
    std::memcpy(data, body.data(), bytes);
  }
  return array;
}

}  // namespace

Array MakeArray(int32_t dtype, std::vector<int64_t> dims) {
  const ElementType* type = FindType(dtype);
  if (type == nullptr) throw Failure("element type " + std::to_string(dtype) + " is not supported");
  Array array;
  array.dtype = dtype;
  if (__builtin_mul_overflow(NumElements(dims), type->bytes, &array.bytes)) {
    throw Failure("the array is too large");
  }
  array.dims = std::move(dims);
  const size_t rounded = (static_cast<size_t>(array.bytes) + kAlignment) & ~(kAlignment - 1);
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) throw Failure("no memory for " + Describe(array));
  array.data = std::shared_ptr<void>(memory, &std::free);
  return array;
}

Array ReadNpy(const std::string& path) {
  const std::string file = ReadFile(path, std::numeric_limits<size_t>::max());
  try {
    return Parse(file);
  } catch (const Failure& failure) {
    throw Failure("'" + path + "': " + failure.what());
  }
}

void WriteNpy(const std::string& path, const Array& array) {
  const ElementType* type = FindType(array.dtype);
  std::string header = "{'descr': '";
  header += type->bytes == 1 ? '|' : '<';
  header += std::string(type->npy) + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : array.dims) header += std::to_string(dim) + ", ";
  // NumPy's form is "(2, 3)" or "(2,)"; it reads "(2, 3, )" as well.
  header += "), }";
  constexpr size_t kPrefix = 10;
  header.append(kAlignment - (kPrefix + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string file(kMagic);
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(static_cast<const char*>(array.data.get()), array.bytes);
  WriteFile(path, file);
}

std::string Describe(const Array& array) {
  const ElementType* type = FindType(array.dtype);
  std::string text(type->name);
  text += '[';
  for (size_t i = 0; i < array.dims.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(array.dims[i]);
  }
  return text + "]";
}

}  // namespace tektite::standalone
