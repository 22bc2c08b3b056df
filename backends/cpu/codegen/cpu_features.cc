#include "backends/cpu/codegen/cpu_features.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/base/status.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/TargetParser/Host.h"

namespace tektite::cpu {

namespace {

// Channels and features of a group from which on a product of its own is faster: it knows
// Winograd's algorithm, or products of pairs of bf16.
constexpr int64_t kWideGroup = 128, kWideGroupOfPairs = 16;
// The same for kernels of so many taps in a row, all of which are in the code of a part.
constexpr int64_t kManyTaps = 13, kWideGroupOfManyTaps = 8;

constexpr const char* kAvx2Needs[] = {"avx2", "bmi",   "bmi2",  "f16c",
                                      "fma",  "lzcnt", "movbe", "popcnt"};
constexpr const char* kAvx512Needs[] = {"avx512bw", "avx512dq", "avx512f", "avx512vl"};
// Of Sapphire Rapids, the first with AMX, and all after it.
constexpr const char* kAmxNeeds[] = {"amx-bf16", "amx-int8", "amx-tile", "avx512bf16",
                                     "avx512vnni"};

std::string ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "32K", "1M" as bytes; 0 when unreadable.
int64_t ParseSize(std::string text) {
  if (text.empty()) return 0;
  int64_t unit = 1;
  if (text.back() == 'K') unit = int64_t{1} << 10;
  if (text.back() == 'M') unit = int64_t{1} << 20;
  if (unit > 1) text.pop_back();
  int64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? value * unit : 0;
}

// Data and unified caches of the first CPU; what sysfs does not say keeps its default.
void ReadCaches(target::TargetInfo* target) {
  for (int i = 0; i < 8; ++i) {
    const std::string dir = absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    if (ReadLine(dir + "type") == "Instruction") continue;
    const int64_t bytes = ParseSize(ReadLine(dir + "size"));
    const std::string level = ReadLine(dir + "level");
    if (bytes <= 0) continue;
    if (level == "1") target->l1_bytes = bytes;
    if (level == "2") target->l2_bytes = bytes;
    if (level == "3") target->l3_bytes = bytes;
  }
}

// Linux saves the tiles of processes alone that have asked for it (Documentation/arch/x86/xstate).
// It refuses where a thread's signal stack has no room for them.
bool MayUseTiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

}  // namespace

absl::StatusOr<target::TargetInfo> DetectTarget(absl::string_view flag) {
  if (flag != "native" && flag != "avx2" && flag != "avx512") {
    return InvalidArgument("--cpu=", flag, ": expected native, avx512 or avx2");
  }
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const char* name : kAvx2Needs) {
    if (!host.lookup(name))
      return Unimplemented("this CPU has no ", name, ", which generated code needs");
  }
  bool avx512 = flag != "avx2";
  for (const char* name : kAvx512Needs) {
    if (host.lookup(name)) continue;
    if (flag == "avx512") return InvalidArgument("--cpu=avx512: this CPU has no ", name);
    avx512 = false;
  }

  target::TargetInfo target;
  target.code_generator = absl::StrCat("llvm ", LLVM_VERSION_STRING);
  ReadCaches(&target);
  if (flag == "avx2") {
    target.cpu = "x86-64-v3";
  } else {
    target.cpu = llvm::sys::getHostCPUName().str();
    std::vector<std::string> features;
    for (const auto& feature : host) {
      features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
    }
    std::sort(features.begin(), features.end());
    target.features = absl::StrJoin(features, ",");
    target.has_int8_dot = avx512 && host.lookup("avx512vnni");
    const bool may_use_tiles =
        avx512 && flag == "native" && host.lookup("amx-tile") && MayUseTiles();
    const bool has_dot = avx512 && host.lookup("avx512bf16");
    target.has_bf16_tiles = has_dot && host.lookup("amx-bf16") && may_use_tiles;
    // Intel's CPUs take three times as long for it as for f32 (docs/kernels/pairs.md).
    const bool is_dot_fast = absl::StartsWith(target.cpu, "znver");
    target.has_bf16_dot = has_dot && (is_dot_fast || target.has_bf16_tiles);
    target.has_int8_tiles = target.has_int8_dot && host.lookup("amx-int8") && may_use_tiles;
  }
  target.multiplies_f32_faster = true;  // by one instruction for a product and a sum
  target.widens_int8 = !avx512;
  target.vector_bytes = avx512 ? 64 : 32;
  target.vector_registers = avx512 ? 32 : 16;
  target.groups = {kWideGroup, target.has_bf16_dot ? kWideGroupOfPairs : kWideGroup, kManyTaps,
                   kWideGroupOfManyTaps};
  return target;
}

void TakePermissions(const Flags& flags, target::TargetInfo* target) {
  target->splits_f32 = flags.f32_products == "bf16x3" && target->has_bf16_tiles;
}

absl::StatusOr<NamedTarget> TargetNamed(absl::string_view name) {
  NamedTarget named;
  if (name == "native") {
    TEKTITE_ASSIGN_OR_RETURN(named.info, DetectTarget(name));
    named.runs_here = true;
    return named;
  }
  named.info.code_generator = absl::StrCat("llvm ", LLVM_VERSION_STRING);
  if (name == "armv8-a") {
    named.is_aarch64 = true;
    named.info.cpu = "generic";
    named.info.features = "+v8a,+neon";
    named.info.vector_bytes = 16;
    named.info.vector_registers = 32;
    named.info.groups = {kWideGroup, kWideGroup, kManyTaps, kWideGroupOfManyTaps};
    return named;
  }
  const bool amx = name == "amx", avx512 = amx || name == "x86-64-v4";
  if (!avx512 && name != "x86-64-v3") {
    return InvalidArgument("no CPU is called '", name,
                           "'; there are: native, x86-64-v3, x86-64-v4, amx, armv8-a");
  }
  named.info.cpu = avx512 ? "x86-64-v4" : "x86-64-v3";
  named.info.widens_int8 = !avx512;
  named.info.vector_bytes = avx512 ? 64 : 32;
  named.info.vector_registers = avx512 ? 32 : 16;
  named.info.groups = {kWideGroup, amx ? kWideGroupOfPairs : kWideGroup, kManyTaps,
                       kWideGroupOfManyTaps};
  if (amx) {
    named.info.features = "+" + absl::StrJoin(kAmxNeeds, ",+");
    named.info.has_bf16_dot = named.info.has_bf16_tiles = true;
    named.info.has_int8_dot = named.info.has_int8_tiles = true;
  }
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  const auto has = [&](const char* feature) { return host.lookup(feature); };
  named.runs_here =
      std::all_of(std::begin(kAvx2Needs), std::end(kAvx2Needs), has) &&
      (!avx512 || std::all_of(std::begin(kAvx512Needs), std::end(kAvx512Needs), has)) &&
      (!amx || (std::all_of(std::begin(kAmxNeeds), std::end(kAmxNeeds), has) && MayUseTiles()));
  return named;
}

}  // namespace tektite::cpu
