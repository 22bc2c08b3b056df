#include "backends/gpu/emit/contraction/tile_loader.h"

#include <vector>

#include "backends/gpu/emit/names.h"
#include "jit/base/rounding.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

namespace {

// Single elements that are under way at once.
constexpr int64_t kAtOnce = 4;

}  // namespace

int64_t TileLoader::columns() const { return RoundUp(width, 2 * tile.chunk()); }

ContractionView::Element TileLoader::ElementAt(Builder& b, Value row, Value column, const Dim& end,
                                               int64_t lanes) const {
  ContractionView::Element element = place(row, column, lanes);
  element.inside = b.Compare("lt", row, b.Index(end));
  if (width < columns()) {
    element.inside = b.And(element.inside, b.Compare("lt", column, b.Index(width)));
  }
  return element;
}

void TileLoader::Load(Builder& b, OperandReader& reader, Value shared, Value at, Value first,
                      const Dim& end) const {
  return vectors ? LoadChunks(b, reader, shared, at, first, end)
                 : LoadElements(b, reader, shared, at, first, end);
}

void TileLoader::LoadChunks(Builder& b, OperandReader& reader, Value shared, Value at, Value first,
                            const Dim& end) const {
  const int64_t threads = b.kernel()->launch.threads;
  const int64_t chunks = columns() / tile.chunk(), count = tile.rows() * chunks;
  // Where rounds are whole rows a thread keeps its column.
  const bool whole = threads % chunks == 0;
  for (int64_t begin = 0; begin < count; begin += threads) {
    const auto load = [&] {
      const Value number = b.Add(b.ThreadIndex(), b.Index(whole ? 0 : begin));
      const Value row = b.Add(b.DivNarrow(number, chunks), b.Index(whole ? begin / chunks : 0));
      const Value chunk = b.RemNarrow(number, chunks);
      const auto element =
          ElementAt(b, b.Add(first, row), b.Mul(chunk, b.Index(tile.chunk())), end, tile.chunk());
      reader.Copy(operand, element, shared, b.Add(at, tile.ChunkAt(row, chunk)));
    };
    if (begin + threads <= count) {
      load();
    } else {
      b.If(b.Compare("lt", b.ThreadIndex(), b.Index(count - begin)), load);
    }
  }
}

void TileLoader::LoadElements(Builder& b, OperandReader& reader, Value shared, Value at,
                              Value first, const Dim& end) const {
  const int64_t threads = b.kernel()->launch.threads;
  const int64_t rounds = tile.rows() * columns() / threads;
  const int64_t at_once = rounds % kAtOnce == 0 ? kAtOnce : 1;
  b.For(b.Index(0), b.Index(rounds), at_once, [&](Value round) {
    Values places, elements;
    for (int64_t i = 0; i < at_once; ++i) {
      const Value number =
          b.Add(b.Mul(b.Add(round, b.Index(i)), b.Index(threads)), b.ThreadIndex());
      const Value row = b.DivNarrow(number, columns()), column = b.RemNarrow(number, columns());
      places.push_back(b.Add(at, tile.Element(row, column)));
      elements.push_back(reader.Read(operand, ElementAt(b, b.Add(first, row), column, end, 1), 1));
    }
    for (size_t i = 0; i < places.size(); ++i) b.Store(shared, places[i], elements[i]);
  });
}

}  // namespace tektite::gpu
