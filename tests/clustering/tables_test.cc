// The lists: sorted, without doubles, and all of it reachable.
#include <algorithm>
#include <string>
#include <vector>

#include "clustering/importer/import_table.h"
#include "clustering/op_table.h"
#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

using Kind = OpFacts::Kind;
using Work = OpFacts::Work;

const std::vector<std::string> kImported = {
#define TEKTITE_IMPORT(op, function, inputs, work, traits) #op,
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
};
const std::vector<std::string> kHostOps = {
#define TEKTITE_HOST_OP(op, kind, traits) #op,
#include "clustering/host_op_list.inc"
#undef TEKTITE_HOST_OP
};

// The ops for which `holds`, in the order of the lists, apart by spaces.
template <typename Holds>
std::string OpsWhere(Holds&& holds) {
  std::string ops;
  for (const auto* list : {&kImported, &kHostOps}) {
    for (const std::string& op : *list) {
      if (holds(FactsOf(op))) absl::StrAppend(&ops, ops.empty() ? "" : " ", op);
    }
  }
  return ops;
}
std::string OpsThat(OpFacts::Trait trait) {
  return OpsWhere([&](const OpFacts& facts) { return facts.Is(trait); });
}

TEST(Tables, OpListsAreSortedAndApart) {
  for (const auto* list : {&kImported, &kHostOps}) {
    EXPECT_TRUE(std::is_sorted(list->begin(), list->end()));
    EXPECT_EQ(std::adjacent_find(list->begin(), list->end()), list->end());
  }
  for (size_t row = 0; row < kImported.size(); ++row) {
    EXPECT_EQ(FactsOf(kImported[row]).kind, Kind::kCompiled) << kImported[row];
    EXPECT_EQ(FactsOf(kImported[row]).import_row, static_cast<int>(row));
  }
  for (const std::string& op : kHostOps) {
    EXPECT_FALSE(FactsOf(op).IsCompiled()) << op;
    EXPECT_NE(FactsOf(op).kind, Kind::kUnlisted) << op;
    EXPECT_EQ(importer::ImportFunctionOf(FactsOf(op)), nullptr) << op;
  }
  EXPECT_EQ(FactsOf("NoSuchOp").kind, Kind::kUnlisted);
  EXPECT_EQ(importer::ImportFunctionOf(FactsOf("NoSuchOp")), nullptr);
  EXPECT_EQ(importer::ImportFunctionOf(FactsOf("Where")), &importer::ImportWhere);
}

TEST(Tables, CompileTimeInputsCountFromTheEnd) {
  EXPECT_TRUE(FactsOf("ConcatV2").NeedsValue(2, 3));
  EXPECT_FALSE(FactsOf("ConcatV2").NeedsValue(1, 3));
  EXPECT_TRUE(FactsOf("StridedSlice").NeedsValue(3, 4));
  EXPECT_FALSE(FactsOf("StridedSlice").NeedsValue(0, 4));
  EXPECT_TRUE(FactsOf("ConcatOffset").NeedsValue(5, 6));
  EXPECT_FALSE(FactsOf("ConcatOffset").NeedsValue(6, 6));
  EXPECT_FALSE(FactsOf("NoSuchOp").NeedsValue(0, 1));
}

// A wrong trait moves nodes between clusters and the host, or lets an assignment be lost, without
// failing a build. Small classes are pinned in full, large ones by samples.
TEST(Tables, ClassesOfOpsAreWhatTheyWere) {
  EXPECT_EQ(
      OpsThat(OpFacts::kCheapOutput),
      "Identity PreventGradient Rank Shape ShapeN Size Snapshot StopGradient XlaSharding NoOp");
  EXPECT_EQ(OpsThat(OpFacts::kUncounted), "Const Identity NoOp Placeholder _Arg _Retval");
  EXPECT_EQ(OpsThat(OpFacts::kReadsVariable), "ReadVariableOp");
  EXPECT_EQ(OpsThat(OpFacts::kRandom),
            "RngReadAndSkip RngSkip StatefulStandardNormalV2 StatefulTruncatedNormal "
            "StatefulUniform StatefulUniformFullInt StatefulUniformInt StatelessMultinomial "
            "StatelessRandomGetAlg "
            "StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormal "
            "StatelessRandomNormalV2 StatelessRandomUniform StatelessRandomUniformFullInt "
            "StatelessRandomUniformFullIntV2 StatelessRandomUniformInt "
            "StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormal "
            "StatelessTruncatedNormalV2");
  EXPECT_EQ(
      OpsThat(OpFacts::kWritesVariable),
      "AssignAddVariableOp AssignSubVariableOp AssignVariableOp ResourceApplyAdaMax "
      "ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA "
      "ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAddSign "
      "ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 "
      "ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum "
      "ResourceApplyPowerSign ResourceApplyProximalAdagrad "
      "ResourceApplyProximalGradientDescent ResourceApplyRMSProp ResourceScatterAdd "
      "ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
      "ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub "
      "ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate "
      "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA "
      "ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp "
      "ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum "
      "ResourceSparseApplyMomentum ResourceSparseApplyProximalAdagrad "
      "ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp "
      "ResourceStridedSliceAssign RngReadAndSkip RngSkip "
      "StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt "
      "StatefulUniformInt");
  EXPECT_EQ(OpsThat(OpFacts::kNoResults),
            "Assert AssignAddVariableOp AssignSubVariableOp AssignVariableOp ResourceApplyAdaMax "
            "ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA "
            "ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAddSign "
            "ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 "
            "ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum "
            "ResourceApplyPowerSign ResourceApplyProximalAdagrad "
            "ResourceApplyProximalGradientDescent ResourceApplyRMSProp ResourceScatterAdd "
            "ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
            "ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub "
            "ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate "
            "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA "
            "ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp "
            "ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum "
            "ResourceSparseApplyMomentum ResourceSparseApplyProximalAdagrad "
            "ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp "
            "ResourceStridedSliceAssign RngSkip TensorArrayCloseV3");
  EXPECT_EQ(OpsThat(OpFacts::kChecks),
            "Assert Case CheckNumerics CheckNumericsV2 If StatefulPartitionedCall While XlaWhile");
  EXPECT_EQ(OpsThat(OpFacts::kNotDouble),
            "BesselI0e BesselI1e Betainc Digamma Erfinv Igamma IgammaGradA Igammac Lgamma Ndtri "
            "Polygamma RandomGammaGrad Zeta");
  EXPECT_EQ(OpsThat(OpFacts::kRunsFunctions),
            "Case If PartitionedCall StatefulPartitionedCall StatelessCase StatelessIf "
            "StatelessWhile While XlaWhile");
  EXPECT_EQ(OpsThat(OpFacts::kReturnsList),
            "EmptyTensorList TensorListFromTensor TensorListPopBack TensorListPushBack "
            "TensorListReserve TensorListResize TensorListSetItem TensorListSplit");
  EXPECT_EQ(OpsThat(OpFacts::kTakesList),
            "TensorListConcatV2 TensorListElementShape TensorListGather TensorListGetItem "
            "TensorListLength TensorListPopBack TensorListPushBack TensorListResize "
            "TensorListSetItem TensorListStack");
  EXPECT_EQ(OpsThat(OpFacts::kReturnsArray), "TensorArrayV3");
  EXPECT_EQ(OpsThat(OpFacts::kTakesArray),
            "TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 "
            "TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayWriteV3");
  EXPECT_EQ(OpsThat(OpFacts::kWritesArray),
            "TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3");
  EXPECT_EQ(OpsThat(OpFacts::kMeasures),
            "Rank Shape ShapeN Size StatelessRandomGetAlg TensorArraySizeV3 TensorListElementShape "
            "TensorListLength VariableShape");
  EXPECT_EQ(OpsThat(OpFacts::kOfListsToo), "AddN ZerosLike");
  EXPECT_EQ(
      OpsThat(OpFacts::kComputesContents),
      "BroadcastArgs BroadcastGradientArgs ConcatOffset DataFormatDimMap DataFormatVecPermute "
      "EnsureShape InvertPermutation XlaOptimizationBarrier XlaSharding");
  EXPECT_EQ(OpsThat(OpFacts::kSelectsRows),
            "DynamicPartition ListDiff SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum "
            "SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum Where");
  EXPECT_EQ(OpsThat(OpFacts::kStitchesRows), "DynamicStitch ParallelDynamicStitch");
  EXPECT_EQ(OpsThat(OpFacts::kSelectsBoxes),
            "NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 "
            "NonMaxSuppressionV5");
  EXPECT_EQ(OpsThat(OpFacts::kFindsUnique), "Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2");
  EXPECT_EQ(OpsThat(OpFacts::kAlongAxis), "UniqueV2 UniqueWithCountsV2");
  EXPECT_EQ(OpsThat(OpFacts::kKeepsRows),
            "Identity PreventGradient Snapshot StopGradient XlaSharding _Retval");
  EXPECT_EQ(OpsThat(OpFacts::kSqueezesRows), "Squeeze");
  EXPECT_EQ(OpsThat(OpFacts::kGathersRows), "GatherV2");
  EXPECT_EQ(OpsThat(OpFacts::kNotHalf),
            "NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 "
            "NonMaxSuppressionV5 Where");
  EXPECT_EQ(OpsThat(OpFacts::kNot16Bit),
            "Cholesky ListDiff MatrixInverse MatrixSolve MatrixTriangularSolve Qr SelfAdjointEigV2 "
            "Svd TridiagonalMatMul TridiagonalSolve Unique UniqueV2 UniqueWithCounts "
            "UniqueWithCountsV2");
  EXPECT_EQ(OpsThat(OpFacts::kOfComplex),
            "Angle Complex ComplexAbs Conj FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D "
            "IRFFT3D Imag RFFT RFFT2D RFFT3D Real");
  for (const char* op : {"Conj", "FFT", "Mul", "Identity", "Const"}) {
    EXPECT_TRUE(FactsOf(op).TakesComplex()) << op;
  }
  for (const char* op : {"Relu", "Tan", "Cholesky", "Conv2D", "While"}) {
    EXPECT_FALSE(FactsOf(op).TakesComplex()) << op;
  }
  EXPECT_EQ(OpsThat(OpFacts::kReturnsResource),
            "HashTableV2 Iterator MutableHashTableV2 VarHandleOp");
  EXPECT_EQ(OpsThat(OpFacts::kEnter), "Enter RefEnter");
  EXPECT_EQ(OpsThat(OpFacts::kExit), "Exit RefExit");
  EXPECT_EQ(OpsThat(OpFacts::kMerge), "Merge RefMerge _XlaMerge");
  EXPECT_EQ(OpsThat(OpFacts::kNextIteration), "NextIteration RefNextIteration");
  EXPECT_EQ(OpsThat(OpFacts::kSwitch), "RefSwitch Switch");
  EXPECT_EQ(OpsThat(OpFacts::kSwitchN), "_SwitchN");
  EXPECT_EQ(OpsThat(OpFacts::kReceives), "_HostRecv _Recv");
  EXPECT_EQ(OpsThat(OpFacts::kPlaceholder), "Placeholder PlaceholderV2 PlaceholderWithDefault");
  EXPECT_EQ(OpsThat(OpFacts::kGainsInInference),
            "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3");
  for (const char* op : {"Softmax", "Cumsum", "Where", "ArgMax", "ResizeBicubic", "Sum"}) {
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kGainsAlone)) << op;
  }
  for (const char* op : {"AddV2", "MatMul", "Transpose", "Tanh", "Unique", "TopKV2"}) {
    EXPECT_FALSE(FactsOf(op).Is(OpFacts::kGainsAlone)) << op;
  }
  for (const char* op : {"Sum", "Shape", "L2Loss", "Any", "BroadcastArgs"}) {
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kShrinks)) << op;
  }
  for (const char* op : {"AddV2", "Cast", "Identity", "ReluGrad", "SelectV2", "_MklSwish"}) {
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kLikeInputs)) << op;
  }
  for (const char* op : {"Equal", "All", "IsNan", "LogicalNot", "LoopCond"}) {
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kReturnsBool)) << op;
  }
  for (const char* op : {"Assign", "RefSwitch", "VariableV2", "ScatterAdd", "TemporaryVariable"}) {
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kReturnsReference)) << op;
  }
  EXPECT_EQ(OpsWhere([](const OpFacts& facts) {
              return facts.Is(OpFacts::kLikeInputs) && facts.Is(OpFacts::kShrinks);
            }),
            "");
}

TEST(Tables, WorkAndKindsOfOpsAreWhatTheyWere) {
  const auto ops = [](Work work) {
    return OpsWhere([&](const OpFacts& f) { return f.IsCompiled() && f.work == work; });
  };
  EXPECT_EQ(ops(Work::kNone),
            "Case Const Identity If PartitionedCall ReadVariableOp StatefulPartitionedCall "
            "StatelessCase StatelessIf StatelessWhile While XlaWhile");
  EXPECT_EQ(
      ops(Work::kBookkeeping),
      "Assert BroadcastArgs BroadcastGradientArgs DataFormatDimMap DataFormatVecPermute "
      "EmptyTensorList EnsureShape ExpandDims PreventGradient QuantizedReshape Rank Reshape "
      "Shape ShapeN Size Snapshot Squeeze StatelessRandomGetAlg StopGradient TensorArrayCloseV3 "
      "TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorListElementShape "
      "TensorListFromTensor TensorListLength TensorListResize TensorListSplit ToBool "
      "VariableShape XlaBroadcastHelper XlaOptimizationBarrier XlaSharding");
  EXPECT_EQ(
      ops(Work::kContraction),
      "BatchMatMul BatchMatMulV2 BatchMatMulV3 Cholesky Einsum MatMul MatrixInverse "
      "MatrixSolve MatrixTriangularSolve Qr QuantizedMatMul SelfAdjointEigV2 SparseMatMul Svd "
      "XlaDot XlaDotV2 XlaEinsum _FusedMatMul");
  EXPECT_EQ(ops(Work::kSuppression), OpsThat(OpFacts::kSelectsBoxes));
  for (const char* op :
       {"Conv2D", "Conv3DBackpropInputV2", "DepthwiseConv2dNative", "_FusedConv3D"}) {
    EXPECT_EQ(FactsOf(op).work, Work::kConvolution) << op;
  }
  for (const char* op : {"Exp", "Pow", "Softmax", "AdjustHue", "Xlog1py"}) {
    EXPECT_EQ(FactsOf(op).work, Work::kTranscendental) << op;
  }
  for (const char* op :
       {"Cast", "ConcatV2", "Fill", "Transpose", "ResourceGather", "ResourceScatterUpdate"}) {
    EXPECT_EQ(FactsOf(op).work, Work::kMove) << op;
  }
  for (const char* op : {"ResourceScatterAdd", "ResourceScatterNdMax", "ResourceSparseApplyFtrl"}) {
    EXPECT_EQ(FactsOf(op).work, Work::kRows) << op;
  }
  for (const char* op : {"AddV2", "Sum", "Where", "Relu", "AssignVariableOp"}) {
    EXPECT_EQ(FactsOf(op).work, Work::kArithmetic) << op;
  }
  EXPECT_EQ(FactsOf("NoOp").kind, Kind::kOrdering);
  EXPECT_EQ(FactsOf("NoOp").work, Work::kNone);
  for (const char* op : {"Enter", "Merge", "_SwitchN", "ControlTrigger", "SymbolicGradient"}) {
    EXPECT_EQ(FactsOf(op).kind, Kind::kControlFlow) << op;
  }
  for (const char* op : {"Placeholder", "_Arg", "_Retval", "_Recv", "_HostSend", "_Feed"}) {
    EXPECT_EQ(FactsOf(op).kind, Kind::kBoundary) << op;
  }
  for (const char* op :
       {"StringSplit", "RaggedGather", "RaggedRange", "NonMaxSuppressionWithOverlaps"}) {
    EXPECT_EQ(FactsOf(op).kind, Kind::kUnboundedRows) << op;
  }
  for (const char* op : {"ResourceApplyAdamWithAmsgrad", "ResourceCountUpTo"}) {
    EXPECT_EQ(FactsOf(op).kind, Kind::kOther) << op;
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kUpdatesVariable)) << op;
  }
  for (const char* op :
       {"ResourceScatterNdUpdate", "ResourceSparseApplyAdagradV2", "ResourceStridedSliceAssign"}) {
    EXPECT_TRUE(FactsOf(op).IsCompiled()) << op;
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kWritesVariable)) << op;
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kWritesRows)) << op;
  }
  for (const char* op : {"AssignVariableOp", "ResourceApplyAdam", "RngReadAndSkip"}) {
    EXPECT_TRUE(FactsOf(op).IsCompiled()) << op;
    EXPECT_TRUE(FactsOf(op).Is(OpFacts::kWritesVariable)) << op;
    EXPECT_FALSE(FactsOf(op).Is(OpFacts::kWritesRows)) << op;
  }
  for (const char* op : {"VarHandleOp", "AssignAdd", "VarIsInitializedOp"}) {
    EXPECT_EQ(FactsOf(op).kind, Kind::kOther) << op;
  }
}

TEST(Tables, EveryReasonHasASentence) {
  const std::vector<std::string> codes = {
#define TEKTITE_REASON(code, sentence) #code,
#include "clustering/reason_list.inc"
#undef TEKTITE_REASON
  };
  EXPECT_TRUE(std::is_sorted(codes.begin(), codes.end()));
  for (size_t i = 0; i < codes.size(); ++i) {
    const Reason reason = static_cast<Reason>(i + 1);
    EXPECT_EQ(ReasonCode(reason), codes[i]);
    EXPECT_EQ(ReasonSentence(reason).back(), '.');
  }
}

}  // namespace
}  // namespace tektite::clustering
