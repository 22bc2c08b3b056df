// A graph of cuDNN's operations, and the plan that computes it.
//
//   OperationGraph graph(library);
//   TEKTITE_ASSIGN_OR_RETURN(DnnDescriptor x, graph.Tensor({.id = 1, .dtype = kDnnF32, ...}));
//   ...
//   TEKTITE_RETURN_IF_ERROR(graph.Plan(numbers, "f32 [1,56,56,64] * [64,3,3,64]"));
//   graph.Tell({{1, address}, {2, other}}, workspace, stream);
//
// For a graph the library proposes engines in the order of its heuristic.  The first one is taken
// that keeps our numbers and can be planned: sums of f32, no operand rounded to fewer bits, nothing
// that depends on the order in which blocks arrive, neither Fourier's nor Winograd's
// transformation.  Whether it is faster than our own kernel is for the tuner to measure.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_OPERATION_GRAPH_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_OPERATION_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/cudnn/cudnn_on_card.h"
#include "backends/gpu/cudnn/descriptor.h"
#include "jit/ir/dtype.h"

namespace tektite::gpu {

class OperationGraph {
 public:
  // An engine that wants more is passed over.
  static constexpr int64_t kMostWorkspace = int64_t{256} << 20;

  enum class Place : uint8_t {
    kMemory,   // of the card
    kVirtual,  // between two operations, never stored
    kValue,    // one element, which the host passes with each launch
  };
  struct TensorOf {
    int64_t id;
    DnnNumber dtype;
    std::vector<int64_t> sizes, strides;
    Place place = Place::kMemory;
  };
  // Operands of an elementwise operation that are there.
  struct PointwiseOf {
    DnnNumber mode;
    DnnDescriptor x = nullptr, b = nullptr, t = nullptr, y = nullptr;
    int64_t axis = -1;  // of kDnnIndexMode
  };
  // What engines may do with operands.
  struct Numbers {
    bool uses_matrix_instructions = true;
    bool rounds_operands = false;
  };

  explicit OperationGraph(std::shared_ptr<CudnnOnCard> library);
  ~OperationGraph();
  CudnnOnCard& library() const { return *library_; }
  static DnnNumber TypeOf(ir::DType dtype);

  absl::StatusOr<DnnDescriptor> Tensor(const TensorOf& tensor);
  absl::StatusOr<DnnDescriptor> Create(DnnNumber kind) { return descriptors_.Create(kind); }
  DescriptorSet& descriptors() { return descriptors_; }
  // Finalizes it, and adds it to the graph.
  absl::Status Add(DnnDescriptor operation);
  absl::Status AddPointwise(const PointwiseOf& operation);

  // Unimplemented where none of the proposals for the operations that were added will do.
  absl::Status Plan(const Numbers& numbers, const std::string& what);
  int64_t workspace_bytes() const { return workspace_bytes_; }
  // What tensors in memory, or passed by value, are; `workspace` is aligned.
  absl::Status Tell(const std::vector<std::pair<int64_t, void*>>& tensors, void* workspace,
                    CuStream stream) const;

 private:
  // OK where it has set plan_.
  absl::Status ChooseEngine(DnnDescriptor graph, DnnNumber mode, const Numbers& numbers,
                            const std::string& what);
  absl::StatusOr<bool> KeepsOurNumbers(DnnDescriptor configuration, const Numbers& numbers);
  absl::Status MakePlan(DnnDescriptor configuration);

  const std::shared_ptr<CudnnOnCard> library_;
  DescriptorSet descriptors_;
  std::vector<DnnDescriptor> operations_;
  DnnDescriptor plan_ = nullptr;
  int64_t workspace_bytes_ = 0;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_OPERATION_GRAPH_H_
