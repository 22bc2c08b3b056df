#include "runtime_hooks/standalone/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "runtime_hooks/standalone/files.h"

namespace tektite::standalone {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// By the first letter of its type's name: floats, or what is counted.
template <typename T, typename Make>
void FillWith(const Array& array, Make make) {
  auto* const data = static_cast<T*>(array.data.get());
  const auto count = static_cast<size_t>(array.bytes) / sizeof(T);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<T>(make());
}

// The upper half of a float, or its value in half precision where it is a multiple of 1/256.
uint16_t HalfOf(float value, bool is_bfloat16) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (is_bfloat16) return static_cast<uint16_t>(bits >> 16);
  if (value == 0) return 0;
  const uint32_t sign = bits >> 31, exponent = (bits >> 23 & 0xff) - 127 + 15;
  return static_cast<uint16_t>(sign << 15 | exponent << 10 | (bits >> 13 & 0x3ff));
}

// "f32[2,3]"; without data where `text` is no type.
Array ArrayOf(const std::string& text) {
  struct Type {
    const char* name;
    int32_t dtype;
  };
  static constexpr Type kTypes[] = {
      {"f32", 1},   {"f64", 2},   {"s32", 3},  {"u8", 4},   {"s16", 5},  {"s8", 6},  {"s64", 9},
      {"bool", 10}, {"bf16", 14}, {"u16", 17}, {"f16", 19}, {"u32", 22}, {"u64", 23}};
  const size_t open = text.find('[');
  if (open == std::string::npos || text.back() != ']') return {};
  for (const Type& type : kTypes) {
    if (text.substr(0, open) != type.name) continue;
    std::vector<int64_t> dims;
    for (const std::string& dim : Split(text.substr(open + 1, text.size() - open - 2), ',')) {
      size_t end = 0;
      int64_t size = -1;
      try {
        size = std::stoll(dim, &end);
      } catch (const std::exception&) {
      }
      if (size < 0 || end != dim.size()) throw Failure("'" + text + "' is no type of an array");
      dims.push_back(size);
    }
    return MakeArray(type.dtype, std::move(dims));
  }
  return {};
}

// Numbers that every run makes alike.
void Fill(const Array& array, size_t number) {
  std::mt19937 random(static_cast<uint32_t>(number) + 1);
  const auto real = [&] {
    return static_cast<float>(static_cast<int>(random() % 513) - 256) / 256;
  };
  const auto bit = [&] { return random() % 2; };
  switch (array.dtype) {
    case 1:
      return FillWith<float>(array, real);
    case 2:
      return FillWith<double>(array, real);
    case 14:
    case 19:
      return FillWith<uint16_t>(array, [&] { return HalfOf(real(), array.dtype == 14); });
    case 5:
    case 17:
      return FillWith<uint16_t>(array, bit);
    case 3:
    case 22:
      return FillWith<uint32_t>(array, bit);
    case 9:
    case 23:
      return FillWith<uint64_t>(array, bit);
    default:
      return FillWith<uint8_t>(array, bit);
  }
}

// The types of the parameters of the first graph of IR text: "graph @f(%x: f32[n,10]) -> ...".
std::vector<std::string> ParameterTypes(const std::string& text) {
  std::vector<std::string> types;
  size_t at = text.find("graph @");
  if (at == std::string::npos) return types;
  const size_t end = text.find(") ->", at);
  while ((at = text.find(": ", at)) != std::string::npos && at < end) {
    at += 2;
    types.push_back(text.substr(at, text.find(']', at) + 1 - at));
  }
  return types;
}

// "f32[8,1,3]" for "f32[?,n,3]" and a batch of 8.
std::string KnownType(const std::string& type, int64_t batch) {
  const size_t open = type.find('[');
  if (open == std::string::npos || type.back() != ']') return "";
  std::string known = type.substr(0, open + 1);
  bool is_first = true;
  for (const std::string& size : Split(type.substr(open + 1, type.size() - open - 2), ',')) {
    const bool is_number = size.find_first_not_of("0123456789") == std::string::npos;
    if (!is_first) known += ',';
    known += is_number ? size : is_first ? std::to_string(batch) : "1";
    is_first = false;
  }
  return known + ']';
}

}  // namespace

Program LoadProgram(const std::string& file, const std::string& outputs,
                    tektite_compiler* compiler) {
  Program program;
  program.file = file;
  const std::string bytes = ReadModel(file);
  const std::string name = std::filesystem::path(file).stem().string();
  tektite_status status = {};
  program.is_ir = HasSuffix(file, ".ir") || HasSuffix(file, ".tir");
  if (program.is_ir) {
    program.cluster.reset(tektite_cluster_create_from_ir(compiler, name.c_str(), bytes.data(),
                                                         bytes.size(), &status));
    program.input_types = ParameterTypes(bytes);
  } else {
    size_t size = 0;
    char* signature_text = nullptr;
    const Text closed(tektite_close_graph(bytes.data(), bytes.size(), outputs.c_str(), &size,
                                          &signature_text, &status));
    const Text signature(signature_text);
    if (closed != nullptr) {
      const std::string text = signature.get();
      const size_t arrow = text.find("->");
      for (const std::string& input : Split(text.substr(0, arrow), ';')) {
        const size_t equals = std::min(input.find('='), input.size());
        program.input_names.push_back(input.substr(0, equals));
        program.input_types.push_back(input.substr(std::min(equals + 1, input.size())));
      }
      program.output_names = Split(text.substr(arrow + 2), ';');
      program.cluster.reset(
          tektite_cluster_create(compiler, name.c_str(), closed.get(), size, &status));
    }
  }
  if (program.cluster == nullptr) throw Failure("'" + file + "': " + status.message);
  return program;
}

std::vector<Array> ReadInputs(const std::vector<std::string>& inputs, const Program& program,
                              bool makes_arrays, int64_t batch) {
  const auto count = static_cast<size_t>(tektite_cluster_num_args(program.cluster.get()));
  std::vector<Array> arrays(count);
  std::vector<bool> given(count, false);
  size_t next = 0;
  for (const std::string& input : inputs) {
    size_t at = next;
    std::string path = input;
    const size_t equals = input.find('=');
    if (equals != std::string::npos) {
      const auto& names = program.input_names;
      const auto found = std::find(names.begin(), names.end(), input.substr(0, equals));
      if (found != names.end()) {
        at = static_cast<size_t>(found - names.begin());
        path = input.substr(equals + 1);
      }
    }
    if (at >= count) {
      throw Failure("'" + program.file + "' takes " + std::to_string(count) + " inputs, '" + input +
                    "' is one too many");
    }
    if (given[at]) throw Failure("input " + std::to_string(at) + " is given twice");
    if (makes_arrays) arrays[at] = ArrayOf(path);
    if (arrays[at].data == nullptr) {
      arrays[at] = ReadNpy(path);
    } else {
      Fill(arrays[at], at);
    }
    given[at] = true;
    while (next < count && given[next]) ++next;
  }
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    if (makes_arrays && i < program.input_types.size()) {
      arrays[i] = ArrayOf(KnownType(program.input_types[i], batch));
      if (arrays[i].data != nullptr) {
        Fill(arrays[i], i);
        continue;
      }
    }
    std::string message = "input " + std::to_string(i);
    if (i < program.input_names.size()) message += " '" + program.input_names[i] + "'";
    throw Failure(message + " of '" + program.file + "' is missing: --input FILE.npy" +
                  (makes_arrays ? " or --input f32[8,16]" : ""));
  }
  return arrays;
}

Caller::Caller(const Program& program, std::vector<Array> inputs, int threads)
    : program_(program), inputs_(std::move(inputs)), pool_(threads - 1) {
  for (const Array& input : inputs_) {
    tektite_tensor tensor = {};
    tensor.data = input.data.get();
    tensor.dims = input.dims.data();
    tensor.rank = static_cast<int32_t>(input.dims.size());
    tensor.dtype = input.dtype;
    // Parameters that IR text calls weights are the same in every repetition; a frozen graph's
    // placeholders stand for what changes.
    tensor.version = program.is_ir ? 1 : 0;
    args_.push_back(tensor);
  }
  results_.resize(static_cast<size_t>(tektite_cluster_num_results(program.cluster.get())));
}

void Caller::Schedule(void* self, void (*fn)(void*), void* arg) {
  static_cast<Caller*>(self)->pool_.Schedule(fn, arg);
}

void* Caller::Allocate(void* self, int32_t index, int32_t dtype, int32_t rank,
                       const int64_t* dims) {
  try {
    Array array = MakeArray(dtype, std::vector<int64_t>(dims, dims + rank));
    void* data = array.data.get();
    static_cast<Caller*>(self)->results_[static_cast<size_t>(index)] = std::move(array);
    return data;
  } catch (const std::exception&) {
    return nullptr;  // the C interface is crossed: no exception may
  }
}

double Caller::Call() {
  tektite_call call = {};
  call.struct_size = sizeof(call);
  call.args = args_.data();
  call.num_args = static_cast<int32_t>(args_.size());
  call.num_threads = pool_.size();
  call.context = this;
  call.schedule = &Caller::Schedule;
  call.allocate = &Caller::Allocate;
  tektite_status status = {};
  const auto begin = std::chrono::steady_clock::now();
  if (tektite_cluster_run(program_.cluster.get(), &call, &status) != TEKTITE_OK) {
    throw Failure(status.message);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::string> ObjectsOf(const std::string& stats, const std::string& array) {
  std::vector<std::string> objects;
  const std::string name = "\"" + array + "\": [";
  size_t at = stats.find(name);
  if (at == std::string::npos) return objects;
  at += name.size();
  while (at < stats.size() && stats[at] == '{') {
    size_t end = at;
    for (bool in_text = false; end < stats.size() && (in_text || stats[end] != '}'); ++end) {
      if (in_text && stats[end] == '\\') {
        ++end;
      } else if (stats[end] == '"') {
        in_text = !in_text;
      }
    }
    if (end >= stats.size()) break;
    objects.push_back(stats.substr(at, end + 1 - at));
    at = end + 1;
    while (at < stats.size() && (stats[at] == ',' || stats[at] == ' ')) ++at;
  }
  return objects;
}

}  // namespace tektite::standalone
