// Property test: convolutions over spread-out inputs mean the same when they are done by phases.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "jit/ops/builder.h"
#include "jit/ops/ops.h"
#include "jit/passes/pipeline.h"
#include "jit/reference/interpreter.h"

namespace tektite {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Shape;
using ops::FuncBuilder;

// Small whole numbers, so that the order of additions does not matter.
Literal Numbers(const std::vector<int64_t>& sizes, uint32_t seed) {
  std::minstd_rand random(seed);
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 19) - 9);
  return Literal::FromVector(sizes, values);
}

struct Case {
  FuncBuilder::ConvOptions options;
  std::vector<int64_t> input, kernel;  // sizes
  std::vector<int> unknown;            // dimensions of the input
  // How many of the convolutions that come out may read a spread-out input.
  int spread = 0;
};

absl::StatusOr<std::vector<Literal>> Evaluate(const ir::Graph& graph,
                                              absl::Span<const Literal> arguments) {
  return reference::Evaluate(graph, arguments);
}

void Check(const Case& c, const Literal& x, const Literal& w) {
  FuncBuilder b;
  Dims dims(c.input.begin(), c.input.end());
  for (const int d : c.unknown) dims[d] = Dim::Symbol(absl::StrCat("n", d));
  const ir::Value input = b.Parameter(Shape(DType::kF32, dims));
  const ir::Value kernel = b.Parameter(Shape(DType::kF32, Dims(c.kernel.begin(), c.kernel.end())));
  b.Return({b.Convolution(input, kernel, c.options)});
  auto graph = b.Build();
  if (!graph.ok()) return;  // the window does not fit
  const auto expected = Evaluate(**graph, {x, w});
  ASSERT_TRUE(expected.ok()) << expected.status();
  Flags flags;
  flags.verify = true;
  passes::PassContext context(flags);
  context.evaluate = &Evaluate;
  ASSERT_TRUE(passes::RunPasses(**graph, {"simplify"}, context).ok());
  SCOPED_TRACE(ir::Print(**graph));
  int spread = 0;
  for (const auto& node : (*graph)->nodes()) {
    if (node->op() != ir::Op::kConvolution) continue;
    for (const int64_t s : node->Ints(ir::Attr::lhs_dilation)) spread += s > 1 ? 1 : 0;
  }
  EXPECT_EQ(spread, c.spread);
  const auto actual = Evaluate(**graph, {x, w});
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_EQ(expected->at(0).sizes(), actual->at(0).sizes());
  for (int64_t i = 0; i < expected->at(0).num_elements(); ++i) {
    ASSERT_EQ(expected->at(0).data<float>()[i], actual->at(0).data<float>()[i]) << i;
  }
}

void Check(const Case& c) { Check(c, Numbers(c.input, 1), Numbers(c.kernel, 2)); }

TEST(TransposedConvolution, OneDimension) {
  for (int64_t taps = 2; taps <= 6; ++taps) {
    for (int64_t dilation = 2; dilation <= 4; ++dilation) {
      for (int64_t low = -1; low <= taps; ++low) {
        for (int64_t high = -1; high <= taps; ++high) {
          for (int64_t size = 1; size <= 4; ++size) {
            for (const bool is_unknown : {false, true}) {
              Case c;
              c.options.input_layout = c.options.output_layout = "b0f";
              c.options.kernel_layout = "0io";
              c.options.lhs_dilation = {dilation};
              c.options.low = {low};
              c.options.high = {high};
              c.input = {2, size, 3};
              c.kernel = {taps, 3, 2};
              if (is_unknown) c.unknown = {0, 1};
              // Of few places, which may be none, other rules make something else.
              const int64_t places = (size - 1) * dilation + 1 + low + high - taps + 1;
              if (places < 1) continue;
              SCOPED_TRACE(absl::StrCat(taps, " taps, dilation ", dilation, ", padding ", low,
                                        " and ", high, ", size ", size, is_unknown ? "?" : ""));
              Check(c);
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(TransposedConvolution, TwoDimensionsOfAllLayouts) {
  for (const char* const input : {"b01f", "bf01", "f1b0"}) {
    for (const char* const kernel : {"01io", "01oi", "o1i0"}) {
      for (const char* const output : {"b01f", "bf01", "1f0b"}) {
        for (const auto& [height, width] :
             {std::pair<int64_t, int64_t>{3, 3}, {2, 4}, {4, 3}, {1, 2}, {5, 1}}) {
          for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{2, 2}, {1, 2}, {3, 1}}) {
            Case c;
            c.options.input_layout = input;
            c.options.kernel_layout = kernel;
            c.options.output_layout = output;
            c.options.lhs_dilation = {rows, columns};
            c.options.low = {height - 1, 0};
            c.options.high = {1, width - 1};
            const auto sizes = [](const std::string& layout, int64_t zero, int64_t one,
                                  int64_t channels, int64_t others) {
              std::vector<int64_t> result;
              for (const char place : layout) {
                result.push_back(place == '0'                   ? zero
                                 : place == '1'                 ? one
                                 : place == 'f' || place == 'i' ? channels
                                                                : others);
              }
              return result;
            };
            c.input = sizes(input, 3, 4, 3, 2);
            c.kernel = sizes(kernel, height, width, 3, 5);
            SCOPED_TRACE(absl::StrCat(input, " ", kernel, " ", output, " ", height, "x", width,
                                      " by ", rows, "x", columns));
            Check(c);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(TransposedConvolution, AnEmptyImageOfUnknownSizeIsPadding) {
  for (const int64_t taps : {2, 3}) {
    Case c;
    c.options.input_layout = c.options.output_layout = "b0f";
    c.options.kernel_layout = "0io";
    c.options.lhs_dilation = {2};
    c.options.low = c.options.high = {taps};
    c.input = {2, 0, 3};
    c.kernel = {taps, 3, 2};
    c.unknown = {1};
    Check(c);
  }
}

TEST(TransposedConvolution, WhatIsNoNumberReachesItsOwnPlacesOnly) {
  for (const int64_t taps : {2, 3, 4, 5}) {
    Case c;
    c.options.lhs_dilation = {2, 2};
    c.options.low = c.options.high = {taps - 1, taps - 1};
    c.input = {1, 3, 3, 1};
    c.kernel = {taps, taps, 1, 1};
    Literal x = Numbers(c.input, 1);
    const_cast<float*>(x.data<float>())[4] = std::numeric_limits<float>::infinity();
    Literal w = Literal::FromVector(c.kernel, std::vector<float>(taps * taps, 1));
    Check(c, x, w);
  }
}

TEST(TransposedConvolution, TooManyPhasesStay) {
  Case c;
  c.options.lhs_dilation = {5, 4};
  c.options.low = c.options.high = {2, 2};
  c.input = {1, 3, 3, 2};
  c.kernel = {3, 3, 2, 2};
  c.spread = 2;
  Check(c);
}

TEST(TransposedConvolution, Groups) {
  for (const int64_t taps : {2, 3, 4}) {
    for (const bool is_unknown : {false, true}) {
      Case c;
      c.options.lhs_dilation = {2, 2};
      c.options.low = {taps - 1, 0};
      c.options.high = {taps - 1, taps};
      c.options.feature_groups = 3;
      c.input = {1, 4, 3, 6};
      c.kernel = {taps, taps, 2, 9};
      if (is_unknown) c.unknown = {0, 1, 2};
      SCOPED_TRACE(absl::StrCat(taps, " taps", is_unknown ? "?" : ""));
      Check(c);
    }
  }
}

}  // namespace
}  // namespace tektite
