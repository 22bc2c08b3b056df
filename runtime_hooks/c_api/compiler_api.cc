// The compiler's part of tektite.h: creating one, and its counters.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "jit/base/flags.h"
#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/cache/disk_store.h"
#include "jit/compiler/background.h"
#include "jit/compiler/compiler.h"
#include "runtime_hooks/c_api/arguments.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/handles.h"
#include "runtime_hooks/c_api/tektite.h"

using tektite::c_api::CopyString;
using tektite::c_api::Guarded;
using tektite::c_api::KnownFields;
using tektite::c_api::TextOf;
using tektite::serving::CompilerState;

namespace {

// Puts the default back, and says so, where a flag's value is none of `words`.
void KeepKnown(absl::string_view name, const std::vector<std::string>& words,
               std::string tektite::Flags::*flag, tektite::Flags* flags) {
  std::string& value = flags->*flag;
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  tektite::Warn("flag '--", name, "=", value, "' ignored: expected ", absl::StrJoin(words, ", "));
  value = tektite::Flags().*flag;
}

// TensorFlow's permission to round operands is ours, where the flag does not say otherwise.
void TakePermission(absl::string_view text, tektite::Flags* flags) {
  const char* const mode = std::getenv("TF_SET_ONEDNN_FPMATH_MODE");
  if (mode != nullptr && absl::EqualsIgnoreCase(mode, "bf16") &&
      !absl::StrContains(text, "--f32_products")) {
    flags->f32_products = "bf16";
  }
}

absl::StatusOr<tektite_compiler*> CreateCompiler(const tektite_options* options) {
  tektite_options given = {};
  if (options != nullptr) {
    if (options->struct_size < sizeof(size_t)) {
      return tektite::InvalidArgument("tektite_options: struct_size is not set");
    }
    given = KnownFields(*options);
  }
  tektite::compiler::CompilerOptions compiler_options;
  compiler_options.backends = tektite::c_api::AllBackends();
  compiler_options.flags = tektite::c_api::ParseFlags(given.flags);
  KeepKnown("compile", {"sync", "async", "off"}, &tektite::Flags::compile, &compiler_options.flags);
  if (std::string& device = compiler_options.flags.device; device == "gpu") {
    device = "gpu:0";
  } else if (!absl::StartsWith(device, "gpu:")) {
    KeepKnown("device", {"auto", "cpu", "gpu:N"}, &tektite::Flags::device, &compiler_options.flags);
  }
  TakePermission(TextOf(given.flags), &compiler_options.flags);
  KeepKnown("f32_products", {"exact", "bf16", "bf16_stored", "bf16x3", "tf32"}, &tektite::Flags::f32_products,
            &compiler_options.flags);
  KeepKnown("tier", {"auto", "generic", "specialized"}, &tektite::Flags::tier,
            &compiler_options.flags);
  KeepKnown("tuning", {"auto", "off"}, &tektite::Flags::tuning, &compiler_options.flags);
  compiler_options.backend = TextOf(given.backend);
  compiler_options.host = TextOf(given.host);
  if (given.memory_allocate != nullptr && given.memory_release != nullptr) {
    compiler_options.allocator = {given.memory_context, given.memory_allocate,
                                  given.memory_release};
  }
  if (given.card_memory_allocate != nullptr && given.card_memory_release != nullptr) {
    compiler_options.card_memory = {given.card_memory_context, given.card_memory_allocate,
                                    given.card_memory_release};
  }
  compiler_options.disk = tektite::cache::DiskStore::Open(compiler_options.flags);
  TEKTITE_ASSIGN_OR_RETURN(auto compiler,
                           tektite::compiler::Compiler::Create(std::move(compiler_options)));
  return new tektite_compiler{std::make_shared<CompilerState>(
      std::move(compiler), TextOf(given.host_kernels, "the host's kernels"))};
}

}  // namespace

extern "C" {

int32_t tektite_abi_version(void) { return TEKTITE_ABI_VERSION; }

const char* tektite_version(void) { return TEKTITE_VERSION_TEXT; }

void tektite_string_free(char* text) { std::free(text); }

tektite_compiler* tektite_compiler_create(const tektite_options* options, tektite_status* status) {
  return Guarded<tektite_compiler*>(status, nullptr, [&] { return CreateCompiler(options); });
}

void tektite_compiler_destroy(tektite_compiler* compiler) { delete compiler; }

int64_t tektite_flag(const tektite_compiler* compiler, const char* name, int64_t otherwise) {
  return compiler->state->flags().Number(name).value_or(otherwise);
}

char* tektite_stats_json(tektite_compiler* compiler) {
  return Guarded<char*>(nullptr, nullptr, [&]() -> absl::StatusOr<char*> {
    return CopyString(compiler->state->StatsJson());
  });
}

}  // extern "C"
