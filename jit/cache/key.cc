#include "jit/cache/key.h"

#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "jit/base/build_id.h"
#include "jit/ir/symbols.h"

namespace tektite::cache {
namespace {

using ir::Graph;
using ir::Node;

struct AttrText {
  std::string* out;
  void operator()(bool v) const { absl::StrAppend(out, v ? "true" : "false"); }
  void operator()(int64_t v) const { absl::StrAppend(out, v); }
  void operator()(const std::string& v) const { absl::StrAppend(out, v.size(), ":", v); }
  void operator()(const std::vector<int64_t>& v) const {
    absl::StrAppend(out, "[", absl::StrJoin(v, ","), "]");
  }
  void operator()(const ir::Dims& v) const {
    for (const ir::Dim& dim : v) absl::StrAppend(out, dim.ToString(), ",");
  }
  void operator()(ir::DType v) const { absl::StrAppend(out, ir::DTypeName(v)); }
  void operator()(ir::FusionKind v) const { absl::StrAppend(out, ir::FusionKindName(v)); }
  void operator()(const ir::Literal& v) const { absl::StrAppend(out, v.ToShortString()); }
};

std::string& At(PartTexts* parts, KeyPart part) { return (*parts)[static_cast<size_t>(part)]; }

// "+a,-b,+c" without the features that are off, which would be most of an entry.
std::string FeaturesThere(absl::string_view features) {
  std::vector<absl::string_view> there;
  for (absl::string_view feature : absl::StrSplit(features, ',', absl::SkipEmpty())) {
    if (!absl::StartsWith(feature, "-")) there.push_back(feature);
  }
  return absl::StrJoin(there, ",");
}

// Ops and what feeds what; and apart from those, types; and guards.
void AppendViews(const Graph& graph, std::string* ops, std::string* types, std::string* facts) {
  absl::flat_hash_map<const Node*, size_t> number;
  auto append_value = [&](ir::Value v) { absl::StrAppend(ops, " ", number[v.node], "#", v.index); };
  for (const auto& node : graph.nodes()) {
    const size_t at = number.size();
    number[node.get()] = at;
    absl::StrAppend(ops, ir::OpName(node->op()));
    for (ir::Value operand : node->operands()) append_value(operand);
    absl::StrAppend(types, at, ":");
    for (const ir::Shape& shape : node->shapes()) absl::StrAppend(types, " ", shape.ToString());
    absl::StrAppend(ops, "\n");
    absl::StrAppend(types, "\n");
    for (int r = 0; r < node->num_regions(); ++r) {
      AppendViews(node->region(r), ops, types, facts);
    }
  }
  absl::StrAppend(ops, "return");
  for (ir::Value output : graph.outputs()) append_value(output);
  absl::StrAppend(ops, "\n");
  for (const ir::Guard& guard : graph.guards()) {
    absl::StrAppend(facts, guard.lhs.ToString(), " == ", guard.rhs.ToString(), "\n");
  }
}

}  // namespace

absl::string_view EntryKindName(EntryKind kind) {
  switch (kind) {
    case EntryKind::kTuning:
      return "tuning";
    case EntryKind::kDecision:
      return "decision";
    case EntryKind::kKernel:
      break;
    case EntryKind::kModule:
      return "module";
  }
  return "kernel";
}

absl::string_view KeyPartName(size_t part) {
  static constexpr absl::string_view kNames[] = {
#define TEKTITE_KEY_PART(id, name, sentence) name,
#include "jit/cache/key_part_list.inc"
#undef TEKTITE_KEY_PART
  };
  return kNames[part];
}

absl::string_view KeyPartSentence(size_t part) {
  static constexpr absl::string_view kSentences[] = {
#define TEKTITE_KEY_PART(id, name, sentence) sentence,
#include "jit/cache/key_part_list.inc"
#undef TEKTITE_KEY_PART
  };
  return kSentences[part];
}

PartPrints PrintsOf(const PartTexts& parts) {
  PartPrints prints;
  for (size_t i = 0; i < kNumKeyParts; ++i) {
    const Fingerprint fingerprint = FingerprintOf(parts[i]);
    std::memcpy(&prints[i], fingerprint.bytes.data(), sizeof(prints[i]));
  }
  return prints;
}

std::shared_ptr<const KeyEnvironment> KeyEnvironment::Create(const backend::Backend& backend,
                                                             const Flags& flags,
                                                             absl::string_view host) {
  const target::TargetInfo& target = backend.target();
  auto environment = std::make_shared<KeyEnvironment>();
  PartTexts& parts = environment->parts_;
  const std::string sizes = absl::StrCat(
      target.vector_registers, " vectors of ", target.vector_bytes, " bytes; caches ",
      target.l1_bytes, ", ", target.l2_bytes, ", ", target.l3_bytes,
      target.has_bf16_dot ? "; bf16 products" : "", target.has_bf16_tiles ? "; bf16 tiles" : "",
      target.has_int8_dot ? "; int8 products" : "", target.has_int8_tiles ? "; int8 tiles" : "",
      target.widens_int8 ? "; int8 products as s16" : "", "; ", target.clock_ghz, " GHz of ",
      target.vector_fmas_per_cycle, " products, ", target.memory_bytes_per_ns, " and ",
      target.l2_bytes_per_ns, " GB/s");
  At(&parts, KeyPart::kCpu) = absl::StrCat(backend.name(), ": ", target.cpu, "; ", sizes, "; ",
                                           FeaturesThere(target.features));
  At(&parts, KeyPart::kBuild) = BuildId();
  At(&parts, KeyPart::kLlvm) = target.code_generator;
  At(&parts, KeyPart::kFlags) = flags.CodeKey();
  At(&parts, KeyPart::kHost) = std::string(host);
  std::string& all = environment->fingerprint_;
  for (const std::string& part : parts) absl::StrAppend(&all, part.size(), ":", part, ";");
  const Fingerprint whole = FingerprintOf(absl::StrCat(all, target.features));
  all.assign(reinterpret_cast<const char*>(whole.bytes.data()), whole.bytes.size());
  return environment;
}

Fingerprint KeyEnvironment::Finish(EntryKind kind, absl::string_view text) const {
  return FingerprintOf(absl::StrCat(fingerprint_, EntryKindName(kind), ";", text));
}

void KeyEnvironment::AddTo(PartTexts* parts) const {
  for (size_t i = 0; i < kNumKeyParts; ++i) {
    if (!parts_[i].empty()) (*parts)[i] = parts_[i];
  }
}

std::string OpsOf(const Graph& graph) {
  std::string ops, types, facts;
  AppendViews(graph, &ops, &types, &facts);
  return ops;
}

std::string KernelText(const Node& fusion) {
  std::string text;
  for (const auto& [attr, value] : fusion.attrs().values()) {
    absl::StrAppend(&text, ir::AttrName(attr), "=");
    std::visit(AttrText{&text}, value);
    text += ';';
  }
  text += '\n';
  const std::unique_ptr<Graph> renamed = ir::WithCanonicalSymbols(fusion.region());
  text += ir::PrintCanonical(renamed != nullptr ? *renamed : fusion.region());
  return text;
}

CacheKey DescribeMeasurement(EntryKind kind, absl::string_view text, absl::string_view name,
                             const KeyEnvironment& environment) {
  CacheKey key;
  key.kind = kind;
  key.name = std::string(name);
  At(&key.parts, KeyPart::kIr) = std::string(text);
  environment.AddTo(&key.parts);
  key.fingerprint = environment.Finish(key.kind, text);
  return key;
}

CacheKey DescribeKernel(const Node& fusion, absl::string_view name,
                        const KeyEnvironment& environment) {
  CacheKey key;
  key.kind = EntryKind::kKernel;
  key.name = std::string(name);
  std::string& text = At(&key.parts, KeyPart::kIr);
  text = KernelText(fusion);
  const std::unique_ptr<Graph> renamed = ir::WithCanonicalSymbols(fusion.region());
  AppendViews(renamed != nullptr ? *renamed : fusion.region(), &At(&key.parts, KeyPart::kOps),
              &At(&key.parts, KeyPart::kTypes), &At(&key.parts, KeyPart::kFacts));
  environment.AddTo(&key.parts);
  key.fingerprint = environment.Finish(key.kind, text);
  return key;
}

Fingerprint ModuleFingerprint(const Fingerprint& graph, absl::string_view types,
                              absl::string_view facts, const KeyEnvironment& environment) {
  return environment.Finish(EntryKind::kModule,
                            absl::StrCat(graph.Hex(), types.size(), ";", types, facts));
}

CacheKey DescribeModule(absl::string_view name, const Fingerprint& graph, ModuleText text,
                        const KeyEnvironment& environment) {
  CacheKey key;
  key.kind = EntryKind::kModule;
  key.name = std::string(name);
  key.fingerprint = ModuleFingerprint(graph, text.types, text.facts, environment);
  // As in a kernel's key the types are part of the text, to be seen there by people.
  At(&key.parts, KeyPart::kIr) = absl::StrCat(text.types, text.graph);
  At(&key.parts, KeyPart::kOps) = std::move(text.ops);
  At(&key.parts, KeyPart::kTypes) = std::move(text.types);
  At(&key.parts, KeyPart::kFacts) = std::move(text.facts);
  environment.AddTo(&key.parts);
  return key;
}

}  // namespace tektite::cache
