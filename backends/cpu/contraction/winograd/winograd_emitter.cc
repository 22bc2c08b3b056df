// 3x3 convolutions by Winograd's algorithm; winograd_tiling.h says how and when.

#include <array>
#include <functional>
#include <utility>

#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/operands.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "backends/cpu/contraction/winograd/winograd_tiling.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

constexpr DType kF32 = DType::kF32;
// Weights above this come from beyond L2 in every call.
constexpr int64_t kStreamedBytes = 1 << 20;
// Steps of k in one trip of the innermost loop.
constexpr int64_t kUnroll = 4;

template <size_t N>
using Line = std::array<Value, N>;

class WinogradEmitter {
 public:
  WinogradEmitter(const Node& fusion, const WinogradTiling& plan, const std::string& name)
      : fusion_(fusion), plan_(plan), direct_(plan.direct), name_(name) {}

  absl::StatusOr<EmittedKernel> Run() {
    TEKTITE_ASSIGN_OR_RETURN(const OperandParameters parameters, ParametersOf(*direct_.root));
    EmittedKernel result;
    result.in_place = EpilogueInPlace(fusion_.region(), *direct_.root);
    result.kernel = MakeKernel(fusion_, name_, result.in_place);
    result.cost = plan_.cost;
    result.num_chunks = plan_.blocks() * Dim(plan_.panel_blocks());
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(fusion_.region(), direct_));

    loop::Builder b(result.kernel.get());
    b_ = &b;
    image_ = b.Buffer(parameters.lhs);
    packed_ = b.Buffer(parameters.rhs);
    inputs_ = b.AllocateScratch(kF32, input_step() * WinogradTiling::kProducts);
    kernels_ = b.AllocateScratch(kF32, kernel_step() * WinogradTiling::kProducts);
    products_ = b.AllocateScratch(kF32, product_step() * WinogradTiling::kProducts);
    outside_ = b.AllocateScratch(kF32, plan_.channels());
    exact_ = b.AllocateScratch(kF32, 4 * direct_.panel());
    b.Zero(outside_, b.Index(plan_.channels() * 4));
    // Chunks of one block follow each other: its inputs are transformed for the first of them.
    b.For(b.ChunkBegin(), b.ChunkEnd(), 1, {b.Index(-1)},
          [&](Value chunk, absl::Span<const Value> last) {
            Value block = b.Div(chunk, b.Index(plan_.panel_blocks()));
            EmitChunk(block, b.Sub(chunk, b.Mul(block, b.Index(plan_.panel_blocks()))),
                      b.Compare("ne", block, last[0]));
            return std::vector<Value>{block};
          });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  // Elements from one of the 4 x 4 positions to the next.
  int64_t input_step() const { return plan_.most_squares * plan_.input_stride(); }
  int64_t kernel_step() const { return kernel_size() + direct_.lanes; }  // as for inputs
  int64_t kernel_size() const { return plan_.block_channels * direct_.panel(); }
  int64_t product_step() const { return plan_.most_squares * direct_.panel(); }
  // From one of the nine weights to the next.
  int64_t tap_step() const { return plan_.channels() * direct_.panel(); }
  Value Vector(int v) { return b_->Index(static_cast<int64_t>(v) * direct_.lanes); }

  void EmitChunk(Value block, Value panel_block, Value is_new) {
    loop::Builder& b = *b_;
    Value first = b.Mul(block, b.Index(plan_.block_squares));
    Value count = b.Min(b.Sub(b.Index(plan_.squares()), first), b.Index(plan_.block_squares));
    b.If(is_new, [&] {
      b.For(b.Index(0), count, 1, [&](Value s) { TransformInputs(s, SquareAt(b.Add(first, s))); });
    });
    Value panel = b.Mul(panel_block, b.Index(plan_.block_panels));
    Value last = b.Min(b.Add(panel, b.Index(plan_.block_panels)), b.Index(plan_.panels()));
    b.For(panel, last, 1, [&](Value p) {
      b.For(b.Index(0), b.Index(plan_.channels()), plan_.block_channels, [&](Value channel) {
        TransformKernels(p, channel);
        Value ahead = NextWeights(p, channel);
        b.For(b.Index(0), b.Index(WinogradTiling::kProducts), 1, [&](Value position) {
          ForEachTile(b, {count, plan_.rows, plan_.squares(), plan_.block_squares},
                      [&](const RowTile& tile) {
                        Multiply(position, tile.first, tile.rows, channel, ahead);
                      });
        });
      });
      b.For(b.Index(0), count, 1, [&](Value s) { Finish(s, SquareAt(b.Add(first, s)), p); });
    });
  }

  struct Square {
    Value image, y, x;  // its first result
  };
  Square SquareAt(Value number) {
    loop::Builder& b = *b_;
    const std::vector<Value> at =
        Delinearize(b, number, {plan_.images, plan_.squares_high, plan_.squares_wide});
    return {at[0], b.Mul(at[1], b.Index(2)), b.Mul(at[2], b.Index(2))};
  }

  // Where the channels of a pixel are, zeros outside of the image.
  Value Pixel(Value image, Value y, Value x) {
    loop::Builder& b = *b_;
    return b.Select(Inside(y, x), b.Offset(image_, kF32, PixelAt(image, y, x)), outside_);
  }
  Value PixelAt(Value image, Value y, Value x) {
    loop::Builder& b = *b_;
    Value row = b.Add(b.Mul(image, b.Index(direct_.conv.height)), y);
    return b.Mul(b.Add(b.Mul(row, b.Index(direct_.conv.width)), x), b.Index(plan_.channels()));
  }
  Value Inside(Value y, Value x) {
    loop::Builder& b = *b_;
    auto within = [&](Value i, const Dim& size) {
      return b.And(b.Compare("ge", i, b.Index(0)), b.Compare("lt", i, b.Index(size)));
    };
    return b.And(within(y, direct_.conv.height), within(x, direct_.conv.width));
  }

  // B^T d B.  Squares that lie inside with all their inputs are read from where one pointer says.
  void TransformInputs(Value s, const Square& square) {
    loop::Builder& b = *b_;
    const Dim &height = direct_.conv.height, &width = direct_.conv.width;
    Value y = b.Sub(square.y, b.Index(direct_.conv.pad_top));
    Value x = b.Sub(square.x, b.Index(direct_.conv.pad_left));
    Value to = b.Offset(inputs_, kF32, b.Mul(s, b.Index(plan_.input_stride())));
    auto pixel = [&](int i) {
      return Pixel(square.image, b.Add(y, b.Index(i / 4)), b.Add(x, b.Index(i % 4)));
    };
    auto within = [&](Value at, const Dim& size) {
      return b.And(b.Compare("ge", at, b.Index(0)), b.Compare("le", at, b.Index(size - Dim(4))));
    };
    b.If(
        b.And(within(y, height), within(x, width)),
        [&] {
          Value first = b.Offset(image_, kF32, PixelAt(square.image, y, x));
          const Dim row = width * Dim(plan_.channels());
          Line<4> rows;
          for (int i = 0; i < 4; ++i) rows[i] = b.Offset(first, kF32, b.Index(Dim(i) * row));
          TransformSquare(to, [&](int i, Value c) {
            Value at = b.Add(c, b.Index((i % 4) * plan_.channels()));
            return b.Load(rows[i / 4], kF32, at, direct_.lanes);
          });
        },
        [&] {
          Line<16> pixels;
          for (int i = 0; i < 16; ++i) pixels[i] = pixel(i);
          TransformSquare(
              to, [&](int i, Value c) { return b.Load(pixels[i], kF32, c, direct_.lanes); });
        });
  }

  // `load`: a vector of channels of one of the 4 x 4 inputs.
  void TransformSquare(Value to, const std::function<Value(int, Value)>& load) {
    loop::Builder& b = *b_;
    auto transform = [&](const Line<4>& d) {
      return Line<4>{b.Sub(d[0], d[2]), b.Add(d[1], d[2]), b.Sub(d[2], d[1]), b.Sub(d[1], d[3])};
    };
    b.For(b.Index(0), b.Index(plan_.channels()), direct_.lanes, [&](Value c) {
      std::array<Line<4>, 4> by_column;
      for (int j = 0; j < 4; ++j) {
        Line<4> column;
        for (int i = 0; i < 4; ++i) column[i] = load(i * 4 + j, c);
        by_column[j] = transform(column);
      }
      for (int i = 0; i < 4; ++i) {
        const Line<4> row =
            transform({by_column[0][i], by_column[1][i], by_column[2][i], by_column[3][i]});
        for (int j = 0; j < 4; ++j) {
          b.Store(to, b.Add(c, b.Index((i * 4 + j) * input_step())), row[j]);
        }
      }
    });
  }

  // G g G^T, for a panel and a block of channels.
  void TransformKernels(Value panel, Value channel) {
    loop::Builder& b = *b_;
    Value from = b.Offset(packed_, kF32, WeightsAt(panel, channel));
    Value half = b.Splat(b.Float(kF32, 0.5), direct_.lanes);
    auto transform = [&](const Line<3>& g) {
      Value outer = b.Add(g[0], g[2]);
      return Line<4>{g[0], b.Mul(half, b.Add(outer, g[1])), b.Mul(half, b.Sub(outer, g[1])), g[2]};
    };
    b.For(b.Index(0), b.Index(kernel_size()), direct_.lanes, [&](Value at) {
      std::array<Line<4>, 3> by_column;
      for (int x = 0; x < 3; ++x) {
        Line<3> column;
        for (int y = 0; y < 3; ++y) {
          column[y] =
              b.Load(from, kF32, b.Add(at, b.Index((y * 3 + x) * tap_step())), direct_.lanes);
        }
        by_column[x] = transform(column);
      }
      for (int i = 0; i < 4; ++i) {
        const Line<4> row = transform({by_column[0][i], by_column[1][i], by_column[2][i]});
        for (int j = 0; j < 4; ++j) {
          b.Store(kernels_, b.Add(at, b.Index((i * 4 + j) * kernel_step())), row[j]);
        }
      }
    });
  }
  Value WeightsAt(Value panel, Value channel) {
    loop::Builder& b = *b_;
    return b.Add(b.Mul(panel, b.Index(9 * tap_step())), b.Mul(channel, b.Index(direct_.panel())));
  }

  // A register tile of one of the 16 products, over a block of channels.
  void Multiply(Value position, Value s, int squares, Value channel, Value ahead) {
    loop::Builder& b = *b_;
    Value square = b.Add(b.Mul(s, b.Index(plan_.input_stride())), channel);
    Value lhs = b.Offset(inputs_, kF32, b.Add(b.Mul(position, b.Index(input_step())), square));
    Value rhs = b.Offset(kernels_, kF32, b.Mul(position, b.Index(kernel_step())));
    Value sums_at = b.Offset(
        products_, kF32,
        b.Add(b.Mul(position, b.Index(product_step())), b.Mul(s, b.Index(direct_.panel()))));
    const size_t size = static_cast<size_t>(squares) * direct_.vectors;
    auto zeros = [&] { return std::vector<Value>(size, b.Splat(b.Float(kF32, 0), direct_.lanes)); };
    auto loaded = [&] {
      std::vector<Value> sums;
      for (size_t i = 0; i < size; ++i) {
        sums.push_back(b.Load(sums_at, kF32, Vector(static_cast<int>(i)), direct_.lanes));
      }
      return sums;
    };
    std::vector<Value> sums = plan_.block_channels == plan_.channels()
                                  ? zeros()
                                  : b.IfElse(b.Compare("eq", channel, b.Index(0)), zeros, loaded);
    Value mine = ShareOfWeights(ahead, position, s);
    sums = b.For(b.Index(0), b.Index(plan_.block_channels), kUnroll, std::move(sums),
                 [&](Value k, absl::Span<const Value> carried) {
                   std::vector<Value> next(carried.begin(), carried.end());
                   for (int64_t u = 0; u < kUnroll; ++u) {
                     MultiplyStep(lhs, rhs, b.Add(k, b.Index(u)), next);
                   }
                   if (mine) Prefetch(mine, k);
                   return next;
                 });
    for (size_t i = 0; i < size; ++i) b.Store(sums_at, Vector(static_cast<int>(i)), sums[i]);
  }

  void MultiplyStep(Value lhs, Value rhs, Value k, std::vector<Value>& sums) {
    loop::Builder& b = *b_;
    const int vectors = direct_.vectors;
    std::vector<Value> columns(vectors);
    Value at = b.Mul(k, b.Index(direct_.panel()));
    for (int v = 0; v < vectors; ++v) {
      columns[v] = b.Load(rhs, kF32, b.Add(at, Vector(v)), direct_.lanes);
    }
    for (size_t r = 0; r < sums.size() / vectors; ++r) {
      Value x =
          b.Load(lhs, kF32, b.Add(k, b.Index(static_cast<int64_t>(r) * plan_.input_stride())));
      Value spread = b.Splat(x, direct_.lanes);
      for (int v = 0; v < vectors; ++v) {
        Value& sum = sums[r * vectors + v];
        sum = b.Fma(spread, columns[v], sum);
      }
    }
  }

  // Transforming kernels would wait for memory; instead, the register tiles fetch the weights that
  // are transformed next, each a share of the block's channels of one of the nine.
  Value NextWeights(Value panel, Value channel) {
    loop::Builder& b = *b_;
    if (plan_.panels() * 9 * tap_step() * 4 <= kStreamedBytes) return {};
    Value next = b.Add(channel, b.Index(plan_.block_channels));
    return b.Offset(
        packed_, kF32,
        b.Select(b.Compare("lt", next, b.Index(plan_.channels())), WeightsAt(panel, next),
                 WeightsAt(b.Add(panel, b.Index(1)), b.Index(0))));
  }
  int64_t tiles_per_tap() const {
    return std::max<int64_t>(WinogradTiling::kProducts * plan_.usual_tiles / 9, 1);
  }
  // Vectors that a trip of the innermost loop fetches.
  int64_t lines() const {
    const int64_t trips = tiles_per_tap() * (plan_.block_channels / kUnroll);
    return CeilDiv(kernel_size() / direct_.lanes, trips);
  }
  Value ShareOfWeights(Value ahead, Value position, Value s) {
    loop::Builder& b = *b_;
    if (!ahead) return {};
    Value of_block = b.Div(s, b.Index(plan_.rows));
    // More tiles than expected fetch the same bytes again.
    if (!plan_.squares().is_constant()) of_block = b.Rem(of_block, b.Index(plan_.usual_tiles));
    Value tile = b.Add(b.Mul(position, b.Index(plan_.usual_tiles)), of_block);
    Value tap = b.Div(tile, b.Index(tiles_per_tap()));
    Value share = b.Sub(tile, b.Mul(tap, b.Index(tiles_per_tap())));
    const int64_t size = plan_.block_channels / kUnroll * lines() * direct_.lanes;
    return b.Offset(ahead, kF32,
                    b.Add(b.Mul(tap, b.Index(tap_step())), b.Mul(share, b.Index(size))));
  }
  void Prefetch(Value ahead, Value k) {
    loop::Builder& b = *b_;
    Value at = b.Mul(k, b.Index(lines() * direct_.lanes / kUnroll));
    for (int64_t line = 0; line < lines(); ++line) {
      b.Prefetch(ahead, kF32, b.Add(at, b.Index(line * direct_.lanes)));
    }
  }

  // A^T M A, and the convolution's epilogue.
  void Finish(Value s, const Square& square, Value panel) {
    loop::Builder& b = *b_;
    const int vectors = direct_.vectors;
    Value from = b.Offset(products_, kF32, b.Mul(s, b.Index(direct_.panel())));
    auto transform = [&](const Line<4>& m) {
      return std::pair(b.Add(b.Add(m[0], m[1]), m[2]), b.Sub(b.Sub(m[1], m[2]), m[3]));
    };
    std::vector<Value> results(static_cast<size_t>(4) * vectors);  // [y, x, vector]
    for (int v = 0; v < vectors; ++v) {
      Line<4> low, high;
      for (int j = 0; j < 4; ++j) {
        Line<4> m;
        for (int i = 0; i < 4; ++i) {
          m[i] = b.Load(from, kF32, b.Add(b.Index((i * 4 + j) * product_step()), Vector(v)),
                        direct_.lanes);
        }
        std::tie(low[j], high[j]) = transform(m);
      }
      std::tie(results[v], results[vectors + v]) = transform(low);
      std::tie(results[2 * vectors + v], results[3 * vectors + v]) = transform(high);
    }
    // Zero times anything finite is zero.
    Value zero = b.Splat(b.Float(kF32, 0), direct_.lanes), sum = zero;
    for (Value result : results) sum = b.Fma(result, zero, sum);
    Value total = b.ReduceLanes(Op::kAdd, sum);
    results = b.IfElse(
        b.Compare("eq", total, b.Float(kF32, 0)), [&] { return results; },
        [&] { return Directly(square, panel); });
    Store(square, b.Mul(panel, b.Index(direct_.panel())), results);
  }

  // The same results as sums over the image itself; out of the way, so small rather than fast.
  std::vector<Value> Directly(const Square& square, Value panel) {
    loop::Builder& b = *b_;
    const int vectors = direct_.vectors;
    Value weights = b.Offset(packed_, kF32, b.Mul(panel, b.Index(9 * tap_step())));
    std::vector<Value> zeros(vectors, b.Splat(b.Float(kF32, 0), direct_.lanes));
    b.For(b.Index(0), b.Index(4), 1, [&](Value which) {
      std::vector<Value> sums =
          b.For(b.Index(0), b.Index(9), 1, zeros, [&](Value tap, absl::Span<const Value> outer) {
            Value ky = b.Div(tap, b.Index(3)), kx = b.Rem(tap, b.Index(3));
            Value y = b.Add(b.Add(square.y, b.Div(which, b.Index(2))),
                            b.Sub(ky, b.Index(direct_.conv.pad_top)));
            Value x = b.Add(b.Add(square.x, b.Rem(which, b.Index(2))),
                            b.Sub(kx, b.Index(direct_.conv.pad_left)));
            Value pixel = Pixel(square.image, y, x);
            Value rhs = b.Offset(weights, kF32, b.Mul(tap, b.Index(tap_step())));
            return b.For(b.Index(0), b.Index(plan_.channels()), 1,
                         std::vector<Value>(outer.begin(), outer.end()),
                         [&](Value c, absl::Span<const Value> carried) {
                           std::vector<Value> next(carried.begin(), carried.end());
                           MultiplyStep(pixel, rhs, c, next);
                           return next;
                         });
          });
      for (int v = 0; v < vectors; ++v) {
        b.Store(exact_, b.Add(b.Mul(which, b.Index(direct_.panel())), Vector(v)), sums[v]);
      }
    });
    std::vector<Value> results;
    for (int i = 0; i < 4 * vectors; ++i) {
      results.push_back(b.Load(exact_, kF32, Vector(i), direct_.lanes));
    }
    return results;
  }

  void Store(const Square& square, Value column, const std::vector<Value>& results) {
    loop::Builder& b = *b_;
    auto row = [&](int i) {
      Value y = b.Add(square.y, b.Index(i));
      RowTile tile;
      tile.first = b.Add(b.Mul(y, b.Index(plan_.width)), square.x);
      tile.rows = plan_.width == Dim(1) ? 1 : 2;
      tile.sure = Mod(plan_.width, 2) == Dim(0) ? 2 : 1;
      if (tile.sure < tile.rows) tile.left = b.Sub(b.Index(plan_.width), square.x);
      const auto begin = results.begin() + static_cast<int64_t>(i) * 2 * direct_.vectors;
      absl::Status status = epilogue_.Emit(b, square.image, tile, column,
                                           {begin, begin + int64_t{tile.rows} * direct_.vectors});
      if (status_.ok()) status_ = status;
    };
    row(0);
    if (plan_.height == Dim(1)) return;
    if (Mod(plan_.height, 2) == Dim(0)) return row(1);
    b.If(b.Compare("lt", b.Add(square.y, b.Index(1)), b.Index(plan_.height)), [&] { row(1); });
  }

  const Node& fusion_;
  const WinogradTiling& plan_;
  const ContractionTiling& direct_;
  const std::string& name_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  Value image_, packed_;
  // Scratch: [4 x 4 positions, squares, channels], [4 x 4, channels, panel], [4 x 4, squares,
  // panel], a pixel of padding, results that are summed directly.
  Value inputs_, kernels_, products_, outside_, exact_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitWinograd(const Node& fusion, const target::Schedule& schedule,
                                           const Target& target, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const WinogradTiling plan, TileWinograd(fusion, schedule, target));
  return WinogradEmitter(fusion, plan, name).Run();
}

}  // namespace tektite::cpu
