#include "runtime_hooks/tensorflow/hook/graph_pass/compiler_marking.h"

#include <algorithm>
#include <set>
#include <string>

#include "runtime_hooks/tensorflow/hook/card_compilers.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tektite::tf_hook {

Marking Mark(const CompilerLibrary& library, tensorflow::GraphDef graph_def, Extent extent,
             const MarkingOf& of) {
  std::string bytes;
  if (!graph_def.SerializeToString(&bytes)) {
    CountNotPlaced(Reason::HOST_GRAPH_TOO_LARGE);
    return Marking(nullptr, MarkingDeleter{&library});
  }
  graph_def.Clear();
  tektite_mark_options options = {};
  options.struct_size = sizeof(options);
  options.mode = extent == Extent::kEverything ? TEKTITE_MARK_ALL : TEKTITE_MARK_SCOPED;
  options.inline_calls = of.inlines_calls ? 1 : 0;
  options.is_function = of.is_function ? 1 : 0;
  options.function = of.function.c_str();
  std::vector<const char*> card_names;
  for (const std::string& card : of.cards) card_names.push_back(card.c_str());
  options.card_devices = card_names.data();
  options.num_card_devices = static_cast<int32_t>(card_names.size());
  tektite_status status = {};
  Marking marking(library.mark(library.compiler, bytes.data(), bytes.size(), &options, &status),
                  MarkingDeleter{&library});
  if (marking == nullptr) CountNotPlaced(Reason::HOST_MARKING_FAILED);
  return marking;
}

Place PlaceOf(const CompilerLibrary& library, const std::string& name,
              const tensorflow::DeviceSet* devices) {
  tensorflow::DeviceNameUtils::ParsedName parsed;
  if (!tensorflow::DeviceNameUtils::ParseFullName(name, &parsed)) return Place::kElsewhere;
  tensorflow::Device* const device = devices == nullptr ? nullptr : devices->FindDeviceByName(name);
  // Other processes may not know the kernel.
  if (device == nullptr || !device->IsLocal()) return Place::kElsewhere;
  if (parsed.type == tensorflow::DEVICE_CPU) return Place::kCpu;
  const bool is_card = parsed.type == tensorflow::DEVICE_GPU &&
                       library.flag(library.compiler, "card_clusters", 0) != 0 &&
                       CompilerForCard(library, *device) != nullptr;
  return is_card ? Place::kCard : Place::kElsewhere;
}

bool HasCards(const tensorflow::GraphOptimizationPassOptions& options) {
  if (options.device_set == nullptr) return false;
  const auto& devices = options.device_set->devices();
  return std::any_of(devices.begin(), devices.end(), [](const tensorflow::Device* device) {
    return device->device_type() == tensorflow::DEVICE_GPU;
  });
}

std::vector<std::string> CardsOf(const CompilerLibrary& library,
                                 const tensorflow::GraphOptimizationPassOptions& options) {
  if (!HasCards(options)) return {};
  std::set<std::string> names;
  for (const tensorflow::Node* node : (*options.graph)->op_nodes()) {
    names.insert(node->assigned_device_name());
  }
  std::vector<std::string> cards;
  for (const std::string& name : names) {
    if (PlaceOf(library, name, options.device_set) == Place::kCard) cards.push_back(name);
  }
  return cards;
}

}  // namespace tektite::tf_hook
