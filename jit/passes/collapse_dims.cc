// collapse_dims: merges neighbouring dimensions of a fusion that are never told apart, and drops
// those of size 1.
//
//   before  fusion(x: f32[1,128,768], bias: f32[768])      iterates over [1,128,768]
//   after   fusion(x: f32[128,768], bias: f32[768])        iterates over [128,768]
//
// so that emitters see long inner loops.  Operands and results change shape through reshapes
// outside the fusion, which are views and cost nothing.  A contraction or window keeps its own
// shape inside; a reshape follows it, and the epilogue runs over the merged dimensions.  Of data
// movement only columns (jit/ir/columns.h) stay, in loops.
//
// A fusion whose region holds other data movement, which tells every dimension apart, stays as it
// is, and so does attention: its products tell apart what a loop over one space would merge.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/ir/columns.h"
#include "jit/ops/ops.h"
#include "jit/passes/fusion/fusion_groups.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

using Axes = std::vector<int>;  // which dimensions of the space a value's dimensions are

class Collapser {
 public:
  Collapser(Graph& graph, Node* fusion)
      : graph_(graph), fusion_(fusion), region_(fusion->region()) {}

  // Whether the fusion was replaced by one over merged dimensions.
  bool Run() {
    if (!FindSpace() || !AssignAxes() || !FindMerges()) return false;
    return Rebuild() != nullptr;
  }

 private:
  // Positions of the dimensions that are not 1.
  static std::vector<int> Kept(const Shape& shape) {
    std::vector<int> kept;
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape.dim(i) != Dim(1)) kept.push_back(i);
    }
    return kept;
  }

  bool IsLoop() const { return fusion_->IsFusion(ir::FusionKind::kLoop); }

  static bool IsWindowed(const Node& node) {
    return node.op() == Op::kReduceWindow || node.op() == Op::kSelectAndScatter;
  }

  static bool IsRoot(const Node& node) {
    return node.op() == Op::kDotGeneral || node.op() == Op::kConvolution || IsWindowed(node);
  }

  // The space is the largest shape iterated over: the root's, or that of the widest value.
  bool FindSpace() {
    const Shape* widest = nullptr;
    for (const auto& node : region_.nodes()) {
      // Without elements there is nothing to gain, and sizes do not tell dimensions apart.
      if (std::find(node->shape().dims().begin(), node->shape().dims().end(), Dim(0)) !=
          node->shape().dims().end()) {
        return false;
      }
      switch (node->op()) {
        case Op::kParameter:
        case Op::kConstant:
        case Op::kBroadcastInDim:
        case Op::kIota:
          break;
        case Op::kReshape:
          if (Kept(node->shape()).size() != Kept(node->operand_shape(0)).size()) return false;
          break;
        case Op::kReduce:
          if (node->num_regions() > 0) return false;
          break;
        case Op::kSlice:
          if (!IsLoop() || !ir::TakesColumn(*node)) return false;
          break;
        case Op::kConcatenate:
          if (!IsLoop() || !ir::JoinsColumns(*node)) return false;
          break;
        case Op::kConvolution: {
          const std::string& layout = node->String(Attr::output_layout);
          if (layout.empty() || layout.front() != 'b' || layout.back() != 'f') return false;
          root_ = node.get();
          break;
        }
        case Op::kDotGeneral:
        case Op::kReduceWindow:
        case Op::kSelectAndScatter:
          root_ = node.get();
          break;
        default:
          if (!ir::IsElementwise(node->op())) return false;
      }
    }
    for (const auto& node : region_.nodes()) {
      if (root_ != nullptr && (node.get() == root_ || FeedsRoot(node.get()))) continue;
      const Shape& shape = node->shape();
      if (widest == nullptr || Kept(shape).size() > Kept(*widest).size()) widest = &shape;
    }
    if (root_ != nullptr) widest = &root_->shape();
    if (widest == nullptr) return false;
    for (int i : Kept(*widest)) space_.push_back(widest->dim(i));
    return true;
  }

  // Operands of the root keep their shapes.
  bool FeedsRoot(const Node* node) const {
    for (int r = 0; r < node->num_results(); ++r) {
      for (const ir::Use& use : node->uses(r)) {
        if (use.user == root_) return true;
      }
    }
    return false;
  }

  bool SetAxes(const Node* node, const Axes& axes) {
    const Shape& shape = node->shape();
    std::vector<int> kept = Kept(shape);
    if (kept.size() != axes.size()) return false;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (shape.dim(kept[i]) != space_[axes[i]]) return false;
    }
    auto [it, fresh] = axes_.emplace(node, axes);
    if (!fresh && it->second != axes) return false;
    changed_ |= fresh;
    return true;
  }

  const Axes* AxesOf(const Node* node) const {
    auto it = axes_.find(node);
    return it == axes_.end() ? nullptr : &it->second;
  }

  bool Propagate(Node* node) {
    const Axes* axes = AxesOf(node);
    switch (node->op()) {
      case Op::kParameter:
      case Op::kConstant:
      case Op::kIota:
        return true;
      case Op::kBroadcastInDim: {
        if (axes == nullptr) return true;
        std::map<int, int> axis_of;  // result dimension -> axis
        std::vector<int> kept = Kept(node->shape());
        for (size_t i = 0; i < kept.size(); ++i) axis_of[kept[i]] = (*axes)[i];
        Axes operand;
        for (int i : Kept(node->operand_shape(0))) {
          operand.push_back(axis_of[node->Ints(Attr::dimensions)[i]]);
        }
        if (!std::is_sorted(operand.begin(), operand.end())) return false;
        return SetAxes(node->operand(0).node, operand);
      }
      case Op::kReduce: {
        const Axes all = AllAxes();
        const Node* operand = node->operand(0).node;
        if (Kept(operand->shape()).size() != space_.size()) return false;
        if (!SetAxes(operand, all)) return false;
        const auto& dims = node->Ints(Attr::dimensions);
        Axes result;
        std::vector<int> kept = Kept(operand->shape());
        for (size_t i = 0; i < kept.size(); ++i) {
          if (std::find(dims.begin(), dims.end(), kept[i]) == dims.end()) result.push_back(all[i]);
        }
        return SetAxes(node, result);
      }
      case Op::kSlice:
        return SetAxes(node->operand(0).node, AllAxes()) && SetAxes(node, RowAxes());
      case Op::kConcatenate:
        for (Value column : node->operands()) {
          if (!SetAxes(column.node, RowAxes())) return false;
        }
        return SetAxes(node, AllAxes());
      default:
        break;
    }
    if (node == root_) return true;
    // Elementwise, or a reshape that moves only 1s: the axes of all operands and of the result
    // agree.
    for (Value v : node->operands()) {
      if (axes == nullptr) axes = AxesOf(v.node);
    }
    if (axes == nullptr) return true;
    Axes copy = *axes;
    if (!SetAxes(node, copy)) return false;
    for (Value v : node->operands()) {
      if (!SetAxes(v.node, copy)) return false;
    }
    return true;
  }

  Axes AllAxes() const {
    Axes all;
    for (size_t i = 0; i < space_.size(); ++i) all.push_back(static_cast<int>(i));
    return all;
  }
  // A column's.
  Axes RowAxes() const {
    Axes rows = AllAxes();
    rows.pop_back();
    return rows;
  }

  bool AssignAxes() {
    const Axes all = AllAxes();
    for (const auto& node : region_.nodes()) {
      if (root_ != nullptr && node.get() != root_ && FeedsRoot(node.get())) continue;
      if (Kept(node->shape()).size() == space_.size() && !SetAxes(node.get(), all)) return false;
      if (Kept(node->shape()).empty() && !SetAxes(node.get(), {})) return false;
    }
    std::vector<Node*> nodes = region_.NodeList();
    do {
      changed_ = false;
      for (Node* node : nodes) {
        if (!Propagate(node)) return false;
      }
    } while (changed_);
    return std::all_of(nodes.begin(), nodes.end(), [this](Node* node) {
      return AxesOf(node) != nullptr || (root_ != nullptr && FeedsRoot(node));
    });
  }

  bool FindMerges() {
    merge_with_next_.assign(space_.empty() ? 0 : space_.size() - 1, true);
    for (const auto& [node, axes] : axes_) {
      std::vector<bool> has(space_.size(), false);
      for (int a : axes) has[a] = true;
      for (size_t i = 0; i + 1 < space_.size(); ++i) {
        if (has[i] != has[i + 1]) merge_with_next_[i] = false;
      }
      if (node->op() == Op::kIota) {
        std::vector<int> kept = Kept(node->shape());
        for (size_t i = 0; i < kept.size(); ++i) {
          if (kept[i] != node->Int(Attr::dimension)) continue;
          if (i > 0) merge_with_next_[axes[i] - 1] = false;
          if (i + 1 < space_.size()) merge_with_next_[axes[i]] = false;
        }
      }
    }
    if (root_ != nullptr) SeparateRootGroups();
    groups_.clear();
    for (size_t i = 0; i < space_.size(); ++i) {
      if (i > 0 && merge_with_next_[i - 1]) {
        merged_.back() = merged_.back() * space_[i];
      } else {
        merged_.push_back(space_[i]);
      }
      groups_.push_back(static_cast<int>(merged_.size()) - 1);
    }
    // Anything to do?
    for (const auto& node : region_.nodes()) {
      if (root_ != nullptr && (node.get() == root_ || FeedsRoot(node.get()))) continue;
      if (node->shape() != NewShape(node.get())) return true;
      if (node->op() == Op::kReshape && node->operand(0).node != root_) return true;
    }
    return root_ != nullptr && root_->shape().dims() != merged_ && root_->uses().size() > 0;
  }

  // Batch, rows and columns of a contraction stay apart.
  void SeparateRootGroups() {
    std::vector<int> boundary;  // result dimensions that start a group
    if (root_->op() == Op::kDotGeneral) {
      ops::DotDims dims = ops::GetDotDims(*root_);
      boundary = {static_cast<int>(dims.lhs_batch.size()),
                  static_cast<int>(dims.lhs_batch.size() + dims.lhs_free.size())};
    } else {
      boundary = {root_->shape().rank() - 1};
      if (IsWindowed(*root_)) {
        boundary.clear();
        for (int i = 1; i < root_->shape().rank(); ++i) boundary.push_back(i);
      }
    }
    std::vector<int> kept = Kept(root_->shape());
    for (size_t i = 0; i + 1 < kept.size(); ++i) {
      for (int b : boundary) {
        if (kept[i] < b && kept[i + 1] >= b) merge_with_next_[i] = false;
      }
    }
  }

  // Axes of the merged space.
  std::vector<int> NewAxes(const Node* node) const {
    std::vector<int> result;
    for (int a : *AxesOf(node)) {
      if (result.empty() || result.back() != groups_[a]) result.push_back(groups_[a]);
    }
    return result;
  }

  Shape NewShape(const Node* node) const {
    Dims dims;
    for (int g : NewAxes(node)) dims.push_back(merged_[g]);
    return Shape(node->shape().dtype(), dims);
  }

  Value Reshaped(Graph& graph, Value v, const Shape& shape, Node* before) {
    if (v.shape() == shape) return v;
    return graph.Append(Op::kReshape, {v}, {{Attr::shape, shape.dims()}}, {shape}, before)
        ->result();
  }

  Node* Rebuild() {
    auto region = std::make_unique<Graph>(region_.name());
    absl::flat_hash_map<const Node*, Value> map;
    std::vector<Value> operands;
    for (Node* p : region_.parameters()) {
      const bool keeps = root_ != nullptr && FeedsRoot(p);
      Shape shape = keeps ? p->shape() : NewShape(p);
      Value v = region->AddParameter(shape, p->name());
      for (const auto& [attr, value] : p->attrs().values()) v.node->attrs().Set(attr, value);
      map[p] = v;
      operands.push_back(
          Reshaped(graph_, fusion_->operand(static_cast<int>(operands.size())), shape, fusion_));
    }
    for (const auto& owned : region_.nodes()) {
      Node* node = owned.get();
      if (node->op() != Op::kParameter) map[node] = RebuildNode(*region, node, map);
    }
    std::vector<Value> outputs;
    for (Value v : region_.outputs()) outputs.push_back(map.at(v.node));
    region->SetOutputs(outputs);
    Node* result = graph_.AppendFusion(operands, fusion_->attrs(), std::move(region), fusion_);
    result->set_name(fusion_->name());
    for (int i = 0; i < fusion_->num_results(); ++i) {
      graph_.ReplaceAllUses(fusion_->result(i),
                            Reshaped(graph_, result->result(i), fusion_->shape(i), fusion_));
    }
    graph_.Erase(fusion_);
    return result;
  }

  static Shape ColumnOf(const Shape& shape) {
    Dims dims = shape.dims();
    dims.back() = Dim(1);
    return Shape(shape.dtype(), dims);
  }

  Value RebuildSlice(Graph& region, Node* node, Value operand) {
    const Shape column = ColumnOf(operand.shape());
    Dims starts(column.rank(), Dim(0)), limits = column.dims();
    starts.back() = node->attrs().GetDims(Attr::starts).back();
    limits.back() = starts.back() + Dim(1);
    Attributes attrs = node->attrs();
    attrs.Set(Attr::starts, starts)
        .Set(Attr::limits, limits)
        .Set(Attr::strides, std::vector<int64_t>(column.rank(), 1));
    Node* copy = region.Append(Op::kSlice, {operand}, attrs, {column});
    copy->set_name(node->name());
    return Reshaped(region, copy->result(), NewShape(node), nullptr);
  }

  Value RebuildConcatenate(Graph& region, Node* node, std::vector<Value> columns) {
    const Shape shape = NewShape(node);
    for (Value& v : columns) v = Reshaped(region, v, ColumnOf(shape), nullptr);
    Node* copy =
        region.Append(Op::kConcatenate, columns,
                      {{Attr::dimension, static_cast<int64_t>(shape.rank() - 1)}}, {shape});
    copy->set_name(node->name());
    return copy->result();
  }

  Value RebuildNode(Graph& region, Node* node, const absl::flat_hash_map<const Node*, Value>& map) {
    std::vector<Value> operands;
    for (Value v : node->operands()) operands.push_back(map.at(v.node));
    if (root_ != nullptr && (node == root_ || FeedsRoot(node))) {
      Node* copy = region.Append(node->op(), operands, node->attrs(), {node->shape()});
      copy->set_name(node->name());
      return Reshaped(region, copy->result(), node == root_ ? NewShape(node) : node->shape(),
                      nullptr);
    }
    if (node->op() == Op::kReshape) return operands[0];
    if (node->op() == Op::kSlice) return RebuildSlice(region, node, operands[0]);
    if (node->op() == Op::kConcatenate) return RebuildConcatenate(region, node, operands);
    Shape shape = NewShape(node);
    Attributes attrs = node->attrs();
    if (node->op() == Op::kConstant) {
      attrs.Set(Attr::value, node->attrs().GetLiteral(Attr::value).Reshaped({}));
    } else if (node->op() == Op::kBroadcastInDim) {
      // The result may be narrower than the space: positions among the result's own axes.
      std::vector<int> result_axes = NewAxes(node);
      std::vector<int64_t> dimensions;
      for (int axis : NewAxes(node->operand(0).node)) {
        dimensions.push_back(std::find(result_axes.begin(), result_axes.end(), axis) -
                             result_axes.begin());
      }
      if (operands[0].shape() == shape) return operands[0];
      attrs.Set(Attr::dimensions, dimensions).Set(Attr::shape, shape.dims());
    } else if (node->op() == Op::kIota) {
      std::vector<int> kept = Kept(node->shape());
      auto at = std::find(kept.begin(), kept.end(), node->Int(Attr::dimension));
      if (at == kept.end()) {  // along a dimension of size 1: all zero
        Value zero =
            region
                .Append(Op::kConstant, {}, {{Attr::value, ir::Literal::ScalarOf(shape.dtype(), 0)}},
                        {Shape(shape.dtype(), Dims())})
                ->result();
        if (shape.rank() == 0) return zero;
        return region
            .Append(Op::kBroadcastInDim, {zero},
                    {{Attr::dimensions, std::vector<int64_t>{}}, {Attr::shape, shape.dims()}},
                    {shape})
            ->result();
      }
      std::vector<int> axes = NewAxes(node);
      int axis = groups_[(*AxesOf(node))[at - kept.begin()]];
      int64_t dimension = std::find(axes.begin(), axes.end(), axis) - axes.begin();
      attrs.Set(Attr::dimension, dimension).Set(Attr::shape, shape.dims());
    } else if (node->op() == Op::kReduce) {
      std::vector<int> from = NewAxes(node->operand(0).node), to = NewAxes(node);
      std::vector<int64_t> dimensions;
      for (size_t i = 0; i < from.size(); ++i) {
        if (std::find(to.begin(), to.end(), from[i]) == to.end()) dimensions.push_back(i);
      }
      if (dimensions.empty() && shape == operands[0].shape()) return operands[0];
      attrs.Set(Attr::dimensions, dimensions);
    }
    Node* copy = region.Append(node->op(), operands, attrs, {shape});
    copy->set_name(node->name());
    return copy->result();
  }

  Graph& graph_;
  Node* fusion_;
  Graph& region_;
  Node* root_ = nullptr;
  Dims space_, merged_;
  std::vector<int> groups_;  // of each dimension of space_: its dimension in merged_
  std::vector<bool> merge_with_next_;
  absl::flat_hash_map<const Node*, Axes> axes_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> CollapseDims(Graph& graph, PassContext&) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    if (node->op() != Op::kFusion || node->IsFusion(ir::FusionKind::kAttention)) continue;
    changed |= Collapser(graph, node).Run();
  }
  return changed;
}

}  // namespace tektite::passes
