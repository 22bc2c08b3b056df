#include "jit/aot/report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "jit/base/json.h"

namespace tektite::aot {
namespace {

using runtime::Location;

// A step of a call; what an earlier one has, too, counts there.
struct Layer {
  std::string name;
  int64_t code = 0, weights = 0;  // bytes
};

std::vector<Layer> LayersOf(const Library& library, const CodeWriter::Written& written) {
  std::map<std::string, int64_t> code(written.sizes.begin(), written.sizes.end());
  const runtime::StepGraph& graph = library.graph;
  std::set<int> seen;
  std::vector<Layer> layers;
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const runtime::Step& step = graph.steps[s];
    if (!library.runs[s] || step.kernel == nullptr) continue;
    Layer& layer = layers.emplace_back();
    layer.name = graph.names.empty() ? absl::StrCat("step ", s) : graph.names[s];
    layer.code = std::exchange(code[library.KernelOf(static_cast<int>(s)).symbol()], 0);
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const int b = step.operands[o];
      const Location::Base base = library.plan.locations[b].base;
      const bool is_weight = base == Location::Base::kConstant || base == Location::Base::kWeights;
      if (!is_weight || library.IsReplaced(static_cast<int>(s), o) || !seen.insert(b).second) {
        continue;
      }
      layer.weights += graph.buffers[b].typical_bytes;
    }
  }
  return layers;
}

// What is linked in that is another project's, or Tektite's own.
std::vector<std::string> LicencesOf(const Library& library) {
  std::vector<std::string> licences = {
      absl::StrCat("lib", library.name, ".a: made of the model; nothing of another project's")};
  if (library.needs_kernels) {
    licences.push_back("libtektite_kernels.a: Tektite's kernels, and templates of Eigen (MPL-2.0)");
  }
  return licences;
}

std::string List(const std::vector<std::string>& items) {
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

}  // namespace

std::string Report::Text(bool with_layers) const {
  const Library& library = libraries.back();
  std::string text;
  for (const std::string& file : files) {
    absl::StrAppend(&text, "wrote ", directory, "/", file,
                    file == "libtektite_kernels.a"
                        ? ", which programs link, too, with the C++ library\n"
                        : "\n");
  }
  for (const auto& [left_out, instead] : written.left_out) {
    absl::StrAppend(&text, "left out ", left_out, ": its code is that for ", instead, "\n");
  }
  for (size_t v = 0; v < written.variants.size(); ++v) {
    absl::StrAppend(&text, "code for ", written.variants[v], ": ", written.code_bytes[v],
                    " bytes\n");
  }
  absl::StrAppend(&text, "weights: ", written.data_bytes, " bytes\n");
  for (const auto& tensor : library.arguments) {
    absl::StrAppend(&text, tensor.is_state ? "state " : "argument ", tensor.name, ": ",
                    tensor.shape.ToString(), "\n");
  }
  for (const auto& tensor : library.results) {
    absl::StrAppend(&text, "result ", tensor.name, ": ", tensor.shape.ToString(), "\n");
  }
  for (const auto& size : library.sizes) absl::StrAppend(&text, "size ", size, "\n");
  for (const std::string& licence : LicencesOf(library)) {
    absl::StrAppend(&text, "licence of ", licence, "\n");
  }
  if (!with_layers) return text;
  for (size_t v = 0; v < libraries.size(); ++v) {
    absl::StrAppendFormat(&text, "\n%-60s %10s %12s\n", "layer, " + written.variants[v],
                          "code bytes", "weights");
    for (const Layer& layer : LayersOf(libraries[v], written)) {
      absl::StrAppendFormat(&text, "%-60s %10d %12d\n", layer.name, layer.code, layer.weights);
    }
  }
  return text;
}

std::string Report::Json() const {
  const Library& library = libraries.back();
  std::vector<std::string> names, variants, left_out, licences;
  for (const std::string& file : files) names.push_back(JsonString(file));
  for (size_t v = 0; v < libraries.size(); ++v) {
    std::vector<std::string> layers;
    for (const Layer& layer : LayersOf(libraries[v], written)) {
      layers.push_back(absl::StrCat("\n      {\"name\": ", JsonString(layer.name),
                                    ", \"code_bytes\": ", layer.code,
                                    ", \"weight_bytes\": ", layer.weights, "}"));
    }
    variants.push_back(absl::StrCat("\n    {\"cpu\": ", JsonString(written.variants[v]),
                                    ", \"code_bytes\": ", written.code_bytes[v],
                                    ", \"layers\": ", List(layers), "}"));
  }
  for (const auto& [name, instead] : written.left_out) left_out.push_back(JsonString(name));
  for (const std::string& licence : LicencesOf(library)) licences.push_back(JsonString(licence));
  return absl::StrCat("{\"name\": ", JsonString(library.name),
                      ", \"directory\": ", JsonString(directory), ",\n  \"files\": ", List(names),
                      ",\n  \"weight_bytes\": ", written.data_bytes,
                      ",\n  \"left_out\": ", List(left_out), ",\n  \"licences\": ", List(licences),
                      ",\n  \"variants\": ", List(variants), "}\n");
}

}  // namespace tektite::aot
