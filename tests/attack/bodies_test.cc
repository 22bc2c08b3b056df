// Absurd bodies of clusters, through the C interface: each returns a code and a sentence and never
// crashes.
//
// Guards against: attributes and constants that an importer function takes for granted, and bytes
// that are no graph.  Best run under -DTEKTITE_SANITIZE=address,undefined.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clustering/graph_def/text_reader.h"
#include "clustering/graph_def/writer.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

const char* const kOps[] = {
#define TEKTITE_IMPORT(op, function, inputs, work, traits) #op,
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
};

constexpr int64_t kAbsurd[] = {0,
                               1,
                               2,
                               3,
                               -1,
                               -2,
                               5,
                               1000,
                               (int64_t{1} << 31) - 1,
                               int64_t{1} << 31,
                               int64_t{1} << 32,
                               -(int64_t{1} << 31),
                               int64_t{1} << 40,
                               int64_t{1} << 62,
                               INT64_MAX,
                               INT64_MIN};
constexpr char kFunctions[] = R"(library {
  function {
    signature {
      name: 'add'
      input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'b' type: DT_FLOAT }
      output_arg { name: 'r' type: DT_FLOAT }
    }
    node_def { name: 'n' op: 'AddV2' input: ['a', 'b'] attr { key: 'T' value { type: DT_FLOAT } } }
    ret { key: 'r' value: 'n:z:0' }
  }
  function {
    signature {
      name: 'more'
      input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'b' type: DT_FLOAT }
      output_arg { name: 'r' type: DT_BOOL }
    }
    node_def {
      name: 'n' op: 'GreaterEqual' input: ['a', 'b'] attr { key: 'T' value { type: DT_FLOAT } }
    }
    ret { key: 'r' value: 'n:z:0' }
  }
}
)";
// Results may have so many bytes: the host refuses larger ones, as it does when memory is out.
constexpr int64_t kMostBytes = 1 << 20;

// A random node of an op with attributes that mostly make sense for some op of the table, its
// arguments, and constants for each value that it must know in advance.
class BodyMaker {
 public:
  explicit BodyMaker(uint64_t seed) : random_(seed) {}

  struct Body {
    std::string bytes;
    std::vector<std::vector<int64_t>> dims;  // of the arguments
    std::vector<int32_t> dtypes;
  };

  Body Make(const std::string& op) {
    Body body;
    std::string text, inputs;
    const int rank = static_cast<int>(Below(6));
    const int num_inputs =
        1 + static_cast<int>(Below(op.find("Grad") == std::string::npos ? 4 : 6));
    for (int i = 0; i < num_inputs; ++i) {
      if (Below(3) == 0) {
        absl::StrAppend(&text, Constant(i, rank));
        absl::StrAppend(&inputs, "input: 'constant", i, "' ");
        continue;
      }
      const int index = static_cast<int>(body.dims.size());
      // A variable's handle, now and then.
      const bool variable =
          op.find("Resource") != std::string::npos || op.find("Variable") != std::string::npos
              ? i == 0
              : Below(40) == 0;
      const int32_t dtype = Pick({1, 1, 1, 1, 3, 9, 10, 2, 19, 14, 4});
      body.dtypes.push_back(dtype);
      body.dims.push_back(Dims(Below(4) == 0 ? static_cast<int>(Below(6)) : rank));
      absl::StrAppend(&text, "node { name: 'arg", i, "' op: '_Arg' ", IntAttr("index", index),
                      TypeAttr("T", variable ? 20 : dtype), " }\n");
      absl::StrAppend(&inputs, "input: 'arg", i, "' ");
    }
    const int num_outputs = 1 + static_cast<int>(Below(3));
    absl::StrAppend(&text, "node { name: 'n' op: '", op, "' ", inputs, Attributes(rank),
                    absl::StartsWith(op, "Xla") ? XlaAttributes(rank) : "", " }\n", kFunctions);
    for (int i = 0; i < num_outputs; ++i) {
      absl::StrAppend(&text, "node { name: 'ret", i, "' op: '_Retval' input: 'n:", i, "' ",
                      IntAttr("index", i), TypeAttr("T", 1), " }\n");
    }
    auto graph = graph_def::ReadTextGraphDef(text);
    EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
    if (graph.ok()) body.bytes = graph_def::WriteGraphDef(*graph);
    return body;
  }

  std::string Mutate(std::string bytes) {
    for (uint64_t edits = 1 + Below(4); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = Below(bytes.size());
      switch (Below(6)) {
        case 0:
          bytes[at] = static_cast<char>(random_());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
          break;
        case 2:
          bytes.resize(at);
          break;
        case 3:
          bytes.erase(at, 1 + Below(16));
          break;
        case 4:
          bytes.insert(at, bytes.substr(Below(bytes.size()), Below(64)));
          break;
        default:  // a huge varint
          bytes.insert(at, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F");
          break;
      }
    }
    return bytes;
  }

  uint64_t Below(uint64_t n) { return random_() % n; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(values.size())];
  }

 private:
  int64_t Absurd() { return kAbsurd[Below(std::size(kAbsurd))]; }
  // Mostly a number that makes sense.
  int64_t Number(int64_t usual) { return Below(6) == 0 ? Absurd() : usual; }

  std::vector<int64_t> Dims(int rank) {
    std::vector<int64_t> dims;
    for (int d = 0; d < rank; ++d) dims.push_back(Pick<int64_t>({1, 2, 2, 4, 4, 4, 3, 0}));
    return dims;
  }

  static std::string IntAttr(const char* name, int64_t value) {
    return absl::StrCat("attr { key: '", name, "' value { i: ", value, " } } ");
  }
  static std::string TypeAttr(const char* name, int32_t type) {
    return absl::StrCat("attr { key: '", name, "' value { type: ", type, " } } ");
  }
  std::string BoolAttr(const char* name) {
    return absl::StrCat("attr { key: '", name, "' value { b: ", Below(2) == 0 ? "true" : "false",
                        " } } ");
  }
  static std::string TextAttr(const char* name, absl::string_view value) {
    return absl::StrCat("attr { key: '", name, "' value { s: '", value, "' } } ");
  }
  std::string ListAttr(const char* name, std::vector<int64_t> values) {
    std::string text = absl::StrCat("attr { key: '", name, "' value { list { ");
    for (int64_t& value : values) absl::StrAppend(&text, "i: ", Number(value), " ");
    return absl::StrCat(text, "} } } ");
  }

  std::string Attributes(int rank) {
    std::string text;
    const std::vector<int64_t> ones(rank, 1);
    std::vector<int64_t> windows(rank, 2);
    if (rank > 1) windows.front() = windows.back() = 1;
    for (const char* name : {"strides", "dilations"}) {
      absl::StrAppend(&text, ListAttr(name, Below(3) == 0 ? windows : ones));
    }
    absl::StrAppend(&text, ListAttr("ksize", windows));
    if (Below(3) == 0) absl::StrAppend(&text, ListAttr("squeeze_dims", {0}));
    if (Below(4) == 0) {
      absl::StrAppend(&text, ListAttr("explicit_paddings", std::vector<int64_t>(2 * rank, 1)),
                      TextAttr("padding", "EXPLICIT"));
    } else {
      absl::StrAppend(&text, TextAttr("padding", Pick({"SAME", "VALID", "", "EXPLICIT"})));
    }
    absl::StrAppend(
        &text, TextAttr("data_format", Pick({"NHWC", "NHWC", "NCHW", "NDHWC", "N", ""})),
        TextAttr("mode", Pick({"REFLECT", "SYMMETRIC", ""})),
        TextAttr("equation", Pick({"ij,jk->ik", "ab,ab->", "...a,...a->...", "ii->i", "ij->ji",
                                   ",->", "->", "aaaa", "ij,jk", "i..,j->i"})),
        TextAttr("reduction", "mean"), TextAttr("bad_indices_policy", ""));
    for (const char* name : {"axis", "batch_dims", "N", "num", "num_split", "block_size", "k",
                             "num_partitions", "index", "new_axis_mask", "shrink_axis_mask",
                             "begin_mask", "end_mask", "ellipsis_mask", "num_side_inputs"}) {
      if (Below(2) == 0) absl::StrAppend(&text, IntAttr(name, Number(Below(3))));
    }
    for (const char* name :
         {"keep_dims", "transpose_a", "transpose_b", "adj_x", "adj_y", "exclusive", "reverse",
          "align_corners", "half_pixel_centers", "is_training", "Truncate", "validate_shape",
          "sorted", "pad_to_max_output_size"}) {
      if (Below(3) == 0) absl::StrAppend(&text, BoolAttr(name));
    }
    for (const char* name : {"T", "DstT", "SrcT", "dtype", "Tidx", "out_type", "output_type",
                             "type", "out_idx", "index_type", "Tout"}) {
      if (Below(2) == 0) {
        absl::StrAppend(&text,
                        TypeAttr(name, Pick({1, 1, 1, 3, 9, 2, 10, 19, 14, 7, 8, 20, 0, 777})));
      }
    }
    for (const char* name :
         {"epsilon", "alpha", "tolerance", "iou_threshold", "exponential_avg_factor"}) {
      if (Below(3) == 0) {
        absl::StrAppend(&text, "attr { key: '", name,
                        "' value { f: ", Pick({"0", "0.5", "-1", "1e38", "inf", "nan"}), " } } ");
      }
    }
    return text;
  }

  // Dimension numbers as a message in a string, and functions.
  std::string XlaAttributes(int rank) {
    std::string numbers;
    for (int field = 1; field <= 12; ++field) {
      for (uint64_t count = Below(3); count > 0; --count) {
        const uint64_t number = Below(12) == 0 ? 0x7f : Below(rank + 1);
        absl::StrAppendFormat(&numbers, "\\%03o\\%03o", field << 3, number);
        if (Below(60) == 0) absl::StrAppend(&numbers, "\\377\\377");  // an end that is missing
      }
    }
    std::string text =
        absl::StrCat(TextAttr("dimension_numbers", numbers), ListAttr("dimensions_to_reduce", {0}));
    for (const char* name : {"batch_group_count", "exponent_bits", "mantissa_bits"}) {
      absl::StrAppend(&text, IntAttr(name, Number(static_cast<int64_t>(1 + Below(8)))));
    }
    for (const char* name : {"reducer", "computation", "update_computation", "select", "scatter",
                             "comparator", "cond", "body", "then_branch", "else_branch"}) {
      absl::StrAppend(&text, "attr { key: '", name, "' value { func { name: '",
                      Pick({"add", "add", "more", "nothing"}), "' } } } ");
    }
    return text;
  }

  // Integers, mostly as an axis, a size or a permutation is; now and then of a shape that lies.
  std::string Constant(int i, int rank) {
    const bool is_long = Below(2) == 0, is_scalar = Below(3) == 0, pairs = Below(4) == 0;
    const int64_t count = is_scalar ? 1 : Below(6) == 0 ? static_cast<int64_t>(Below(6)) : rank;
    std::string text = absl::StrCat(
        "node { name: 'constant", i, "' op: 'Const' ", TypeAttr("dtype", is_long ? 9 : 3),
        "attr { key: 'value' value { tensor { dtype: ", is_long ? 9 : 3, " tensor_shape { ");
    const bool lies = Below(50) == 0;
    if (!is_scalar) absl::StrAppend(&text, "dim { size: ", lies ? Absurd() : count, " } ");
    if (pairs && !is_scalar) absl::StrAppend(&text, "dim { size: 2 } ");
    absl::StrAppend(&text, "} ");
    const int64_t first = Pick<int64_t>({0, 0, 1, 2, 4});
    for (int64_t e = 0; e < count * (pairs && !is_scalar ? 2 : 1); ++e) {
      int64_t value = Number(Below(2) == 0 ? e : first);
      if (!is_long) value = static_cast<int32_t>(value);
      absl::StrAppend(&text, is_long ? "int64_val: " : "int_val: ", value, " ");
    }
    return absl::StrCat(text, "} } } }\n");
  }

  std::mt19937_64 random_;
};

// A host whose memory is exactly as large as it says.
struct Host {
  std::vector<std::unique_ptr<void, void (*)(void*)>> memory;
  std::vector<int64_t> argument_bytes;

  static void* Allocate(void* self, int32_t, int32_t dtype, int32_t rank, const int64_t* dims) {
    int64_t bytes = BytesOf(dtype);
    for (int i = 0; i < rank; ++i) {
      EXPECT_GE(dims[i], 0);
      if (__builtin_mul_overflow(bytes, dims[i], &bytes) || bytes > kMostBytes) return nullptr;
    }
    return static_cast<Host*>(self)->Block(bytes);
  }
  static int32_t BeginUpdates(void* self, tektite_update* updates, int32_t count) {
    auto* const host = static_cast<Host*>(self);
    for (int32_t i = 0; i < count; ++i) {
      updates[i].memory = host->Block(host->argument_bytes.at(updates[i].arg));
    }
    return 0;
  }
  static int64_t BytesOf(int32_t dtype) {  // by TensorFlow's numbers
    switch (dtype) {
      case 18:  // complex128
        return 16;
      case 2:   // double
      case 8:   // complex64
      case 9:   // int64
      case 23:  // uint64
        return 8;
      case 1:   // float
      case 3:   // int32
      case 22:  // uint32
        return 4;
      case 5:   // int16
      case 14:  // bfloat16
      case 17:  // uint16
      case 19:  // half
        return 2;
      default:
        return 1;
    }
  }
  // Not a byte more than was asked for, so that a sanitizer sees what is written behind.
  void* Block(int64_t bytes) {
    void* block = nullptr;
    if (posix_memalign(&block, 64, static_cast<size_t>(bytes)) != 0) return nullptr;
    memory.emplace_back(block, &std::free);
    return block;
  }
};

struct Outcomes {
  int created = 0, ran = 0, refused = 0;
};

void Try(tektite_compiler* compiler, const std::string& bytes, const BodyMaker::Body& body,
         Outcomes* outcomes) {
  tektite_status status = {};
  const ClusterPtr cluster(
      tektite_cluster_create(compiler, "attack", bytes.data(), bytes.size(), &status));
  if (cluster == nullptr) {
    EXPECT_NE(status.code, TEKTITE_OK);
    EXPECT_NE(status.message[0], '\0');
    return;
  }
  ++outcomes->created;
  Host host;
  std::vector<tektite_tensor> args;
  std::vector<void*> data;
  for (size_t i = 0; i < body.dims.size(); ++i) {
    int64_t bytes_of = Host::BytesOf(body.dtypes[i]);
    for (const int64_t d : body.dims[i]) bytes_of *= d;
    host.argument_bytes.push_back(bytes_of);
    data.push_back(host.Block(bytes_of));
    if (bytes_of > 0) std::memset(data.back(), static_cast<int>(i % 2), bytes_of);
    args.push_back({data.back(), body.dims[i].data(), static_cast<int32_t>(body.dims[i].size()),
                    body.dtypes[i], 0, TEKTITE_HOST});
  }
  tektite_call call = {};
  call.struct_size = sizeof(call);
  call.args = args.data();
  call.num_args = static_cast<int32_t>(args.size());
  call.context = &host;
  call.allocate = &Host::Allocate;
  call.begin_updates = &Host::BeginUpdates;
  const int code = tektite_cluster_run(cluster.get(), &call, &status);
  ++(code == TEKTITE_OK ? outcomes->ran : outcomes->refused);
  if (code != TEKTITE_OK) {
    EXPECT_NE(status.message[0], '\0');
  }
}

void MarkBytes(tektite_compiler* compiler, const std::string& bytes) {
  tektite_mark_options options = {};
  options.struct_size = sizeof(options);
  tektite_status status = {};
  const MarkingPtr marking(tektite_mark(compiler, bytes.data(), bytes.size(), &options, &status));
  if (marking == nullptr) {
    EXPECT_NE(status.message[0], '\0');
  }
}

class Bodies : public testing::TestWithParam<const char*> {};

TEST_P(Bodies, EveryOpWithAbsurdAttributes) {
  const CompilerPtr compiler = MakeCompiler("--min_cluster_cost=0", GetParam());
  ASSERT_NE(compiler, nullptr);
  // TEKTITE_ATTACK_OPS=Xla TEKTITE_ATTACK_TRIES=1000: more tries for ops whose name begins so.
  const char* const only = std::getenv("TEKTITE_ATTACK_OPS");
  const char* const more = std::getenv("TEKTITE_ATTACK_TRIES");
  const int usual = std::strcmp(GetParam(), "cpu") == 0 ? 6 : 200;
  const int tries = more == nullptr ? usual : std::atoi(more);
  Outcomes outcomes;
  uint64_t seed = 0;
  for (const char* op : kOps) {
    if (only != nullptr && !absl::StartsWith(op, only)) continue;
    for (int t = 0; t < tries; ++t) {
      BodyMaker maker(++seed);
      SCOPED_TRACE(absl::StrCat(op, ", seed ", seed));
      const BodyMaker::Body body = maker.Make(op);
      Try(compiler.get(), body.bytes, body, &outcomes);
      if (t % 8 == 0) MarkBytes(compiler.get(), body.bytes);
    }
  }
  if (only != nullptr) return;
  // Neither all refused nor all taken: the attack reaches what it is for.  Of XLA's own ops, which
  // have their numbers of dimensions in a message, hardly any body is whole.
  EXPECT_GT(outcomes.ran, tries * static_cast<int>(std::size(kOps)) / 30);
  EXPECT_GT(outcomes.refused, tries * static_cast<int>(std::size(kOps)) / 20);
}

TEST_P(Bodies, MutatedBytes) {
  const CompilerPtr compiler = MakeCompiler("--min_cluster_cost=0", GetParam());
  ASSERT_NE(compiler, nullptr);
  const int tries = std::strcmp(GetParam(), "cpu") == 0 ? 300 : 4000;
  Outcomes outcomes;
  for (int t = 0; t < tries; ++t) {
    BodyMaker maker(t);
    SCOPED_TRACE(absl::StrCat("seed ", t));
    const BodyMaker::Body body = maker.Make(kOps[maker.Below(std::size(kOps))]);
    const std::string bytes = maker.Mutate(body.bytes);
    Try(compiler.get(), bytes, body, &outcomes);
    MarkBytes(compiler.get(), bytes);
  }
  EXPECT_GT(outcomes.created, tries / 20);
}

INSTANTIATE_TEST_SUITE_P(Backends, Bodies, testing::Values("reference", "cpu"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tektite
