// The key of a cached thing: one fingerprint to find it by, and readable parts that it depends on.
//
//   auto environment = KeyEnvironment::Create(backend, flags, "tensorflow 2.21.0");
//   Fingerprint key = environment->Finish(EntryKind::kKernel, KernelText(fusion));
//   CacheKey described = DescribeKernel(fusion, "k3_row_softmax", environment);   // the same key
//   Fingerprint module = ModuleFingerprint(graph, types, facts, *environment);   // as
//   DescribeModule
//
// A key is a fingerprint of the code's meaning (the region's canonical text, where symbols count by
// their order and not by their names) and of the environment: CPU, build, LLVM, flags with
// affects_code, host.  The other parts (ops, types, facts) are views of the same text, so that
// `tektite cache why` can say what differed.  A module's key is made from the graph as the host
// gave it, without its names, so that it is known before anything is imported.
#ifndef TEKTITE_JIT_CACHE_KEY_H_
#define TEKTITE_JIT_CACHE_KEY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "jit/backend/backend.h"
#include "jit/base/flags.h"
#include "jit/base/hash.h"
#include "jit/ir/graph.h"

namespace tektite::cache {

enum class EntryKind : uint32_t {
  kKernel = 0,    // one kernel's code
  kModule = 1,    // what a whole cluster was compiled to, by the names of its kernels
  kTuning = 2,    // measurements of the ways to make a kernel
  kDecision = 3,  // whose kernels ran a cluster's calls faster, the compiler's or the host's
};
inline constexpr uint32_t kNumEntryKinds = 4;
absl::string_view EntryKindName(EntryKind kind);

enum class KeyPart : uint32_t {
#define TEKTITE_KEY_PART(id, name, sentence) id,
#include "jit/cache/key_part_list.inc"
#undef TEKTITE_KEY_PART
};
inline constexpr size_t kNumKeyParts = static_cast<size_t>(KeyPart::kHost) + 1;
absl::string_view KeyPartName(size_t part);
absl::string_view KeyPartSentence(size_t part);

using PartTexts = std::array<std::string, kNumKeyParts>;
using PartPrints = std::array<uint64_t, kNumKeyParts>;  // the first bytes of their fingerprints
PartPrints PrintsOf(const PartTexts& parts);

// The parts that all keys of one back end have in common.
class KeyEnvironment {
 public:
  // `host` names the program that graphs come from; may be empty.
  static std::shared_ptr<const KeyEnvironment> Create(const backend::Backend& backend,
                                                      const Flags& flags, absl::string_view host);

  // The key of what `text` describes in this environment.
  Fingerprint Finish(EntryKind kind, absl::string_view text) const;
  // Fills the parts that the environment knows.
  void AddTo(PartTexts* parts) const;

 private:
  PartTexts parts_;          // for people: the CPU's features that are there
  std::string fingerprint_;  // of everything, raw
};

struct CacheKey {
  EntryKind kind = EntryKind::kKernel;
  std::string name;  // for people: "block1: softmax", "model/train_step"
  Fingerprint fingerprint;
  PartTexts parts;
};

// Which op feeds which in a graph: the part `ops` of a key.
std::string OpsOf(const ir::Graph& graph);
// The meaning of a fusion, symbols renamed.
std::string KernelText(const ir::Node& fusion);
// The key of a measurement of the thing that `text` describes: kTuning (jit/compiler/tuner.h) or
// kDecision (jit/serving/cluster_sides.cc).
CacheKey DescribeMeasurement(EntryKind kind, absl::string_view text, absl::string_view name,
                             const KeyEnvironment& environment);
CacheKey DescribeKernel(const ir::Node& fusion, absl::string_view name,
                        const KeyEnvironment& environment);

// `graph` stands for all that the other arguments do not hold.
Fingerprint ModuleFingerprint(const Fingerprint& graph, absl::string_view types,
                              absl::string_view facts, const KeyEnvironment& environment);
// The inputs of a module: the graph without names, the part of it that says which op feeds which,
// its arguments' types, and the known facts about their sizes.
struct ModuleText {
  std::string graph, ops, types, facts;
};
CacheKey DescribeModule(absl::string_view name, const Fingerprint& graph, ModuleText text,
                        const KeyEnvironment& environment);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_KEY_H_
