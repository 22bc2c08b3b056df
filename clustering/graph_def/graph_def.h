// TensorFlow's GraphDef in memory: plain structs, no TensorFlow, no protobuf.
//
// A GraphDef is what a host hands over and what model files hold. Reading (reader.h,
// text_reader.h), writing (writer.h) and taking functions apart (inline_functions.h) work on
// these structs; clustering and the importer only look at them.
//
//   ASSIGN_OR_RETURN(GraphDef graph, ReadGraphDef(bytes));
//   for (const NodeDef& node : graph.nodes) {
//     const AttrValue* type = node.attrs.Find("T");
//     if (type != nullptr && type->type() == DataType::kFloat) ...
//   }
//
// Limits: what no part of Tektite reads (debug info, full types, gradients of functions) is
// dropped on reading. Tensors stay serialized until MaterializeTensor (tensor.h) is asked.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_GRAPH_DEF_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_GRAPH_DEF_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "clustering/graph_def/data_type.h"

namespace tektite::graph_def {

// Bytes that may be owned or borrowed. Copies share.
class Bytes {
 public:
  Bytes() = default;
  static Bytes Own(std::string bytes);
  // The caller keeps the bytes alive.
  static Bytes Borrow(absl::string_view bytes);
  // A part of these bytes, sharing the owner.
  Bytes Part(absl::string_view part) const;
  absl::string_view view() const { return view_; }

 private:
  std::shared_ptr<const std::string> owner_;
  absl::string_view view_;
};

// A shape of which parts may be unknown; an unknown dimension is -1.
struct PartialShape {
  bool unknown_rank = false;
  absl::InlinedVector<int64_t, 4> dims;

  bool IsStatic() const;
  // Elements, saturating at INT64_MAX; -1 unless static.
  int64_t NumElements() const;
  // "[2,?,3]", "<unknown>".
  std::string ToString() const;
  bool operator==(const PartialShape& other) const {
    return unknown_rank == other.unknown_rank && dims == other.dims;
  }
};

// A tensor.TensorProto: its type and shape, and all of it still serialized.
struct TensorProto {
  DataType dtype = DataType::kInvalid;
  PartialShape shape;
  Bytes serialized;
};

struct Attr;
struct AttrValue;

// Attributes by name, sorted.
class AttrMap {
 public:
  // nullptr when there is none.
  const AttrValue* Find(absl::string_view name) const;
  AttrValue* Find(absl::string_view name);
  void Set(absl::string_view name, AttrValue value);
  void Erase(absl::string_view name);
  const std::vector<Attr>& entries() const { return entries_; }

  // The value, or `fallback` where the attribute is missing or of another kind.
  absl::string_view String(absl::string_view name, absl::string_view fallback = "") const;
  int64_t Int(absl::string_view name, int64_t fallback) const;
  float Float(absl::string_view name, float fallback) const;
  bool Bool(absl::string_view name, bool fallback) const;
  DataType Type(absl::string_view name, DataType fallback = DataType::kInvalid) const;

 private:
  std::vector<Attr> entries_;
};

// A function by name, with the attributes it is instantiated with.
struct FunctionRef {
  std::string name;
  AttrMap attrs;
};

struct Placeholder {
  std::string name;
};

// A list has one kind of element; the empty list is std::monostate.
using AttrList =
    std::variant<std::monostate, std::vector<std::string>, std::vector<int64_t>, std::vector<float>,
                 std::vector<bool>, std::vector<DataType>, std::vector<PartialShape>,
                 std::vector<TensorProto>, std::vector<FunctionRef>>;

struct AttrValue {
  std::variant<std::monostate, std::string, int64_t, float, bool, DataType, PartialShape,
               TensorProto, AttrList, FunctionRef, Placeholder>
      value;

  AttrValue() = default;
  template <typename T>
  static AttrValue Of(T v) {
    AttrValue a;
    a.value = std::move(v);
    return a;
  }
  // nullptr when the value is of another kind.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value);
  }
  // The elements of a list of T; nullptr for another kind, and for the empty list.
  template <typename T>
  const std::vector<T>* AsListOf() const {
    const AttrList* list = std::get_if<AttrList>(&value);
    return list == nullptr ? nullptr : std::get_if<std::vector<T>>(list);
  }
};

struct Attr {
  std::string name;
  AttrValue value;
};

// One input of a node. In a graph: "node:2" (index 2), "node" (index 0), "^node" (control). In the
// body of a function an output argument may be named too: "node:y:1".
struct NodeInput {
  static constexpr int kControl = -1;

  std::string node;
  int index = 0;
  std::string output;  // function bodies only

  bool is_control() const { return index == kControl; }
  // Understands all the forms above; never fails, text that is no reference is a node's name.
  static NodeInput Parse(absl::string_view text);
  std::string ToString() const;
  bool operator==(const NodeInput& o) const {
    return index == o.index && node == o.node && output == o.output;
  }
};

struct NodeDef {
  std::string name;
  std::string op;
  std::string device;
  std::vector<NodeInput> inputs;  // data inputs come before control inputs
  AttrMap attrs;

  int NumDataInputs() const;
};

// An argument or result in an operation's signature.
struct ArgDef {
  std::string name;
  DataType type = DataType::kInvalid;
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
};

struct AttrDef {
  std::string name;
  std::string type;  // "int", "list(type)", ...
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<std::string> control_outputs;
  std::vector<AttrDef> attrs;
  bool is_stateful = false;
};

struct FunctionDef {
  OpDef signature;
  AttrMap attrs;
  std::vector<std::pair<uint32_t, AttrMap>> arg_attrs;  // by argument index
  std::vector<NodeDef> nodes;
  std::vector<std::pair<std::string, std::string>> ret;          // result name -> "node:y:0"
  std::vector<std::pair<std::string, std::string>> control_ret;  // name -> node
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<FunctionDef> functions;
  int32_t producer = 0;
  int32_t min_consumer = 0;
};

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_GRAPH_DEF_H_
