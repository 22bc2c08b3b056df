// Everything that clustering knows of a TensorFlow op beside how to import it.
//
//   FactsOf("Reshape").NeedsValue(1, 2)            // true: input 1 of 2 is a shape
//   FactsOf("Where").Is(OpFacts::kGainsAlone)      // true
//   FactsOf("Switch").kind                         // OpFacts::Kind::kControlFlow
//   index.facts(node)                              // those of a graph's node (graph_index.h)
//
// The facts are columns of two lists: importer/import_list.inc has the ops that can be compiled,
// host_op_list.inc those that cannot but that clustering has to tell apart. A new op is a new row,
// and no other list of op names changes. Only an op that takes part in shape arithmetic has a
// second row (importer/contents/contents_list.inc), which names the function that folds it, and one
// of real numbers that may be of complex ones, too (importer/complex_list.inc).
//
// Limits: some facts depend on an attribute or an input as well (a batch norm in training, a stitch
// at constant places). The code that reads the trait looks at these.
#ifndef TEKTITE_CLUSTERING_OP_TABLE_H_
#define TEKTITE_CLUSTERING_OP_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace tektite::clustering {

struct OpFacts {
  enum class Kind {
    kUnlisted,       // nothing is known of it
    kCompiled,       // in import_list.inc
    kOrdering,       // ties control edges together; nothing of it is left in a cluster
    kBoundary,       // values enter or leave the graph, or go to another device
    kControlFlow,    // steers a loop or a branch, or calls a function
    kUnboundedRows,  // values decide on its rows, and nothing says how many there can be
    kOther,
  };

  // The work per element that cost.h counts.
  enum class Work {
    kNone,         // not even a launch
    kBookkeeping,  // only moves a pointer or a few integers
    kMove,         // moves data; the host's kernels do as well, whatever the size
    kArithmetic,   // an operation
    kRows,         // an operation on rows of variables, one row after the other
    kTranscendental,
    kSuppression,  // a box is compared with other boxes
    kContraction,  // a product of matrices
    kConvolution,
  };

  enum Trait : uint64_t {
    kPlain = 0,

    // Read by cost.h: results that have the shape of the broadcast inputs, and results that are
    // small where an operand has a dimension that the graph leaves open.
    kLikeInputs = uint64_t{1} << 0,
    kShrinks = uint64_t{1} << 1,
    // Compiled by itself on [512,1024], one thread, the op ran at least 1.4 times as fast as
    // TensorFlow's kernel (softmax 2.1, cumsum 7, sparse cross entropy 7.8; reductions 1.0 to 2.1
    // by their axes; where 1.8 to 8; suppression of 10,000 boxes 2.5; on [1,256,256,3] contrast 3,
    // hue and saturation 25, bicubic 1.7, nearest 5). Without it: plain arithmetic, products,
    // transposes, tanh, ops that only move data (0.2 to 1.1), unique values (0.9 to 4) and top k
    // (0.5 to 7, by rows and k).
    kGainsAlone = uint64_t{1} << 2,
    // The same, but for a batch norm that computes statistics of the batch: that is 0.9.
    kGainsInInference = uint64_t{1} << 3,

    // Read by mark_clusters.h. Passing such a result on or measuring it costs the host no more than
    // one more output of a cluster.
    kCheapOutput = uint64_t{1} << 4,
    // No work, and not counted among a graph's ops.
    kUncounted = uint64_t{1} << 5,

    // Input 0 is a variable, and the result is its value. Input 0 and maybe others are variables,
    // to which the op assigns.
    kReadsVariable = uint64_t{1} << 6,
    kWritesVariable = uint64_t{1} << 7,
    // Only some rows of them change.
    kWritesRows = uint64_t{1} << 42,
    // The host's kernel changes variables among the inputs.
    kUpdatesVariable = uint64_t{1} << 31,

    // It runs for the error it may raise, whether or not its results are read.
    kChecks = uint64_t{1} << 37,
    kNoResults = uint64_t{1} << 38,

    // Numbers that a seed decides on, but not in the same way in XLA's functions.
    kRandom = uint64_t{1} << 36,

    // Read by compile_time.h: results that depend on the operand's shape alone, and import
    // functions that compute known values from known values, beside what the importer folds.
    kMeasures = uint64_t{1} << 8,
    kComputesContents = uint64_t{1} << 9,

    // How values decide on rows (importer/row_counts.h). The first group makes a number of rows:
    kSelectsRows = uint64_t{1} << 10,
    kStitchesRows = uint64_t{1} << 11,  // unless its places are constants
    kSelectsBoxes = uint64_t{1} << 12,  // unless it pads
    kFindsUnique = uint64_t{1} << 13,   // in all results but the second
    kAlongAxis = uint64_t{1} << 14,     // input 1 is the dimension that has them
    // The second group takes one and leaves rows where they are:
    kKeepsRows = uint64_t{1} << 15,
    kSqueezesRows = uint64_t{1} << 16,  // unless it drops the first dimension
    kGathersRows = uint64_t{1} << 17,   // by its indices, along the first dimension

    // Element types for which TensorFlow's answer is an error or an accident: it has no Where of
    // f16, and whether its Unique and ListDiff find -0 and 0 of 16 bits to be one depends on where
    // their hashes fall. Boxes of f16 and matrices of 16 bits have a meaning, but no kernel here.
    kNotHalf = uint64_t{1} << 18,
    kNot16Bit = uint64_t{1} << 19,
    kNotDouble = uint64_t{1} << 40,  // TensorFlow's own is the accurate one

    // Types of results that no attribute tells (graph_def/output_type.h).
    kReturnsBool = uint64_t{1} << 20,
    kReturnsFloat = uint64_t{1} << 39,
    kReturnsResource = uint64_t{1} << 21,
    kReturnsReference = uint64_t{1} << 22,  // a DT_*_REF, which code cannot read

    // Parts of loops and branches, and where values come in (graph_index.h, deadness.h).
    kEnter = uint64_t{1} << 23,
    kExit = uint64_t{1} << 24,
    kMerge = uint64_t{1} << 25,
    kNextIteration = uint64_t{1} << 26,
    kSwitch = uint64_t{1} << 27,
    kSwitchN = uint64_t{1} << 28,
    kReceives = uint64_t{1} << 29,  // possibly a dead tensor of another device
    kPlaceholder = uint64_t{1} << 30,

    // Its attributes name functions that it runs (function_bodies.h). Result 0 is a list of
    // tensors.
    kRunsFunctions = uint64_t{1} << 32,
    kReturnsList = uint64_t{1} << 33,
    kTakesList = uint64_t{1} << 34,   // input 0 is one
    kOfListsToo = uint64_t{1} << 35,  // T may be a list

    // Arrays of TensorFlow 1 (importer/tensor_arrays.h). Result 0 is a handle and result 1 a flow;
    // input 0 is the handle; the result is the flow behind a write.
    kReturnsArray = uint64_t{1} << 43,
    kTakesArray = uint64_t{1} << 44,
    kWritesArray = uint64_t{1} << 45,

    // Some of its compile-time inputs are places, which may be data where sizes are known all the
    // same (graph_def/positions.h).
    kTakesPositions = uint64_t{1} << 46,

    // Its own import function knows complex numbers, so that complex_list.inc has no other.
    kOfComplex = uint64_t{1} << 41,
  };

  bool Is(Trait trait) const { return (traits & trait) != 0; }
  bool IsCompiled() const { return kind == Kind::kCompiled; }
  bool TakesComplex() const { return complex_row >= 0 || Is(kOfComplex); }
  // Whether making code needs the value of data input `input`, and not only its shape.
  bool NeedsValue(int input, int num_data_inputs) const;

  Kind kind = Kind::kUnlisted;
  Work work = Work::kArithmetic;
  uint64_t traits = kPlain;
  // Data inputs whose value is needed; negative ones count from the last.
  std::vector<int> compile_time_inputs = {};
  bool needs_all_values = false;
  int import_row = -1;   // in import_list.inc
  int complex_row = -1;  // in complex_list.inc
};

// Those of an op that no list has say only that. The reference is valid forever.
const OpFacts& FactsOf(absl::string_view op);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_OP_TABLE_H_
