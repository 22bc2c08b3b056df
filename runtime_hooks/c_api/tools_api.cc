// The tools' part of tektite.h: explaining models, closing graphs, running passes over text, lists.
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clustering/explain.h"
#include "clustering/extract_cluster.h"
#include "clustering/graph_def/writer.h"
#include "clustering/load_model.h"
#include "clustering/source/call_memory.h"
#include "jit/base/flags.h"
#include "jit/base/status.h"
#include "jit/compiler/specialize.h"
#include "runtime_hooks/c_api/arguments.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/handles.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

using tektite::c_api::CopyString;
using tektite::c_api::Guarded;
using tektite::c_api::GuardedText;
using tektite::c_api::TextOf;
using tektite::c_api::View;
using tektite::clustering::Explanation;

// `sizes` null: without what memory calls need.
absl::StatusOr<std::string> Explain(tektite_compiler* compiler, absl::string_view model,
                                    const char* sizes, int32_t format) {
  tektite::clustering::MarkOptions options =
      tektite::c_api::MarkOptionsOf(compiler->state->flags());
  options.has_direct_calls = true;
  TEKTITE_ASSIGN_OR_RETURN(Explanation explanation, tektite::clustering::Explain(model, options));
  if (sizes != nullptr) {
    TEKTITE_RETURN_IF_ERROR(tektite::clustering::AddCallMemory(
        compiler->state->compiler(), sizes, format == TEKTITE_KERNELS, &explanation));
  }
  switch (format) {
    case TEKTITE_KERNELS:
    case TEKTITE_TEXT:
      return tektite::clustering::RenderText(explanation);
    case TEKTITE_JSON:
      return tektite::clustering::RenderJson(explanation);
    case TEKTITE_DOT:
      return tektite::clustering::RenderDot(explanation);
    default:
      return tektite::InvalidArgument("no format ", format);
  }
}

absl::StatusOr<char*> CloseGraph(absl::string_view bytes, absl::string_view outputs,
                                 size_t* closed_size, char** signature) {
  TEKTITE_ASSIGN_OR_RETURN(const auto graph, tektite::clustering::LoadModel(bytes));
  const std::vector<std::string> names = absl::StrSplit(outputs, ',', absl::SkipEmpty());
  TEKTITE_ASSIGN_OR_RETURN(const auto closed, tektite::clustering::CloseGraph(graph, names));
  const std::string written = tektite::graph_def::WriteGraphDef(closed.graph);
  char* copy = CopyString(written);
  char* names_copy = CopyString(tektite::clustering::SignatureText(closed));
  if (copy == nullptr || names_copy == nullptr) {
    std::free(copy);
    std::free(names_copy);
    return absl::ResourceExhaustedError("out of memory");
  }
  *closed_size = written.size();
  *signature = names_copy;
  return copy;
}

absl::StatusOr<std::string> Transform(tektite_compiler* compiler, absl::string_view text,
                                      absl::string_view passes) {
  TEKTITE_ASSIGN_OR_RETURN(const auto graphs, tektite::compiler::ParseGraphs(text));
  const std::vector<std::string> names = absl::StrSplit(passes, ',', absl::SkipEmpty());
  std::vector<std::string> printed;
  for (const auto& graph : graphs) {
    TEKTITE_RETURN_IF_ERROR(compiler->state->compiler().RunPasses(*graph, names));
    printed.push_back(tektite::ir::Print(*graph));
  }
  return absl::StrJoin(printed, "\n");
}

std::string Flags() {
  std::string text;
  for (const tektite::FlagInfo& flag : tektite::AllFlags()) {
    // The table holds C++ text: a string's default is in quotes.
    absl::string_view value = flag.default_value;
    while (absl::ConsumePrefix(&value, "\"") || absl::ConsumeSuffix(&value, "\"")) {
    }
    absl::StrAppend(&text, "--", flag.name, "=", value, "\t", flag.help, "\n");
  }
  return text;
}

constexpr char kReasons[] =
#define TEKTITE_REASON(code, sentence) #code "\t" sentence "\n"
#include "clustering/reason_list.inc"
#undef TEKTITE_REASON
#define TEKTITE_FALLBACK(code, status, sentence) #code "\t" sentence "\n"
#include "jit/serving/fallback_list.inc"
#undef TEKTITE_FALLBACK
    ;

}  // namespace

extern "C" {

char* tektite_explain(tektite_compiler* compiler, const void* model, size_t size, const char* sizes,
                      int32_t format, tektite_status* status) {
  return GuardedText(status, [&] { return Explain(compiler, View(model, size), sizes, format); });
}

char* tektite_close_graph(const void* graph_def, size_t size, const char* outputs,
                          size_t* closed_size, char** signature, tektite_status* status) {
  return Guarded<char*>(status, nullptr, [&] {
    return CloseGraph(View(graph_def, size), TextOf(outputs), closed_size, signature);
  });
}

char* tektite_transform_ir(tektite_compiler* compiler, const char* text, size_t size,
                           const char* passes, tektite_status* status) {
  return GuardedText(status, [&] { return Transform(compiler, View(text, size), TextOf(passes)); });
}

char* tektite_list(const char* what) {
  return GuardedText(nullptr, [what]() -> absl::StatusOr<std::string> {
    const absl::string_view list = what;
    if (list == "passes") return tektite::compiler::Compiler::ListPasses();
    if (list == "reasons") return kReasons;
    if (list == "flags") return Flags();
    return tektite::InvalidArgument("no list of ", list);
  });
}

}  // extern "C"
