// The libraries' part of tektite.h: models compiled ahead of time.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/aot/code_writer.h"
#include "jit/aot/header.h"
#include "jit/aot/package.h"
#include "jit/aot/programs.h"
#include "jit/aot/python_module.h"
#include "jit/base/flags.h"
#include "jit/base/log.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"
#include "jit/compiler/compiler.h"
#include "runtime_hooks/c_api/aot.h"
#include "runtime_hooks/c_api/aot_goldens.h"
#include "runtime_hooks/c_api/aot_report.h"
#include "runtime_hooks/c_api/aot_source.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/known_fields.h"

namespace {

using tektite::aot::Library;
using tektite::aot::WeightsPlace;
using tektite::c_api::AotInputs;
using tektite::c_api::AotSource;
using Written = tektite::aot::CodeWriter::Written;

absl::StatusOr<WeightsPlace> PlaceOf(const std::string& word) {
  if (word.empty() || word == "inside") return WeightsPlace::kInside;
  if (word == "file") return WeightsPlace::kFile;
  if (word == "caller") return WeightsPlace::kCaller;
  return tektite::InvalidArgument("weights are inside, file or caller, not '", word, "'");
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

// What decides which code is made is the model, the CPU and the flags: nothing is measured, kept or
// found on disk.
tektite::Flags FlagsOf(const char* text) {
  std::vector<std::string> errors;
  tektite::Flags flags = tektite::Flags::Parse(TextOf(text), &errors);
  for (const std::string& error : errors) tektite::WarnOnce(error);
  flags.tuning = "off";
  flags.device = "cpu";
  return flags;
}

absl::StatusOr<Library> Compile(const AotSource& source, const tektite::Flags& flags,
                                size_t variant, tektite::aot::CodeWriter& writer, Library* before) {
  tektite::aot::Names names = source.names;
  names.variant = "." + tektite::aot::Identifier(writer.variants()[variant]);
  TEKTITE_ASSIGN_OR_RETURN(auto backend,
                           writer.NewBackend(variant, names.library + names.variant + "."));
  tektite::compiler::CompilerOptions options;
  options.flags = flags;
  options.backends = tektite::c_api::AllBackends();
  options.own_backend = [&] { return std::move(backend); };
  TEKTITE_ASSIGN_OR_RETURN(const auto compiler,
                           tektite::compiler::Compiler::Create(std::move(options)));
  tektite::compiler::CompileJob job;
  job.cluster = source.names.library;
  job.variant = "library";
  job.typical_sizes = source.typical_sizes;
  job.roles = source.roles;
  job.measures = false;
  TEKTITE_ASSIGN_OR_RETURN(const auto executable, compiler->Compile(source.graph->Clone(), job));
  return tektite::aot::MakeLibrary(executable->graph(), source.roles, names, before);
}

// Of the open sizes, in order.
std::vector<int64_t> TypicalSizes(const Library& library, const AotSource& source) {
  std::vector<int64_t> sizes;
  for (const std::string& symbol : library.graph.program.symbols()) {
    const auto found = source.typical_sizes.find(symbol);
    sizes.push_back(found == source.typical_sizes.end()
                        ? tektite::compiler::CompileJob::kAssumedSize
                        : found->second);
  }
  return sizes;
}

absl::StatusOr<std::string> MakeLibraryFiles(absl::string_view model, const std::string& directory,
                                             const tektite_aot_options& options) {
  const std::string name = TextOf(options.name);
  if (!tektite::aot::IsIdentifier(name)) {
    return tektite::InvalidArgument("'", name,
                                    "' is no name of a library: it must be an "
                                    "identifier of C");
  }
  const std::string cpu = options.cpu == nullptr ? "native" : options.cpu;
  TEKTITE_ASSIGN_OR_RETURN(const auto writer, tektite::c_api::LibraryWriter(cpu));
  TEKTITE_ASSIGN_OR_RETURN(const WeightsPlace place, PlaceOf(TextOf(options.weights)));
  AotInputs inputs;
  inputs.form = options.form;
  inputs.inputs = TextOf(options.inputs);
  inputs.outputs = TextOf(options.outputs);
  inputs.typical = TextOf(options.typical);
  TEKTITE_ASSIGN_OR_RETURN(AotSource source, tektite::c_api::LoadAotSource(model, inputs));
  source.names.library = name;
  const tektite::Flags flags = FlagsOf(options.flags);
  std::vector<Library> libraries;
  libraries.reserve(writer->variants().size());
  for (size_t v = 0; v < writer->variants().size(); ++v) {
    Library* const before = libraries.empty() ? nullptr : &libraries.back();
    TEKTITE_ASSIGN_OR_RETURN(Library made, Compile(source, flags, v, *writer, before));
    made.weights = place;
    libraries.push_back(std::move(made));
  }
  TEKTITE_ASSIGN_OR_RETURN(const Written written, writer->Write(&libraries));
  const Library& library = libraries.back();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return tektite::InvalidArgument("cannot make directory '", directory, "': ", error.message());
  }
  const std::string version(tektite_version());
  const tektite::aot::Origin origin{absl::StrCat("tektite ", version),
                                    absl::StrJoin(written.variants, ", ")};
  std::vector<std::pair<std::string, std::string>> files = {
      {name + ".h", tektite::aot::WriteHeader(library, origin)},
      {name + "Config.cmake", tektite::aot::WriteCmakePackage(library)},
      {name + ".pc", tektite::aot::WritePkgConfig(library, version.substr(0, version.find(' ')))}};
  if (options.with_python != 0) {
    files.emplace_back(name + ".py", tektite::aot::WritePythonModule(library));
  }
  const std::vector<int64_t> sizes = TypicalSizes(library, source);
  if (options.with_test != 0) {
    TEKTITE_ASSIGN_OR_RETURN(const auto goldens,
                             tektite::c_api::RunGoldens(source, flags, library, sizes));
    files.emplace_back(name + "_test.c", tektite::aot::WriteTestProgram(library, sizes, goldens));
  }
  if (options.with_bench != 0) {
    files.emplace_back(name + "_bench.c", tektite::aot::WriteBenchProgram(library, sizes));
  }
  for (const auto& [file, text] : files) {
    TEKTITE_RETURN_IF_ERROR(tektite::ReplaceFile(absl::StrCat(directory, "/", file), text));
  }
  std::vector<std::pair<std::string, absl::string_view>> archives = {
      {absl::StrCat("lib", name, ".a"), written.archive}};
  if (place != WeightsPlace::kInside) archives.emplace_back(name + ".weights", library.data.bytes);
  if (library.needs_kernels) archives.emplace_back("libtektite_kernels.a", written.kernels);
  tektite::c_api::AotReport report{libraries, written, directory, {}};
  for (const auto& [file, text] : files) report.files.push_back(file);
  for (const auto& [file, bytes] : archives) {
    TEKTITE_RETURN_IF_ERROR(tektite::ReplaceFile(absl::StrCat(directory, "/", file), bytes));
    report.files.push_back(file);
  }
  return options.report == TEKTITE_AOT_REPORT_JSON
             ? report.Json()
             : report.Text(options.report == TEKTITE_AOT_REPORT_LAYERS);
}

}  // namespace

extern "C" {

char* tektite_aot(const void* model, size_t size, const char* directory,
                  const tektite_aot_options* options, tektite_status* status) {
  return tektite::c_api::GuardedText(status, [&]() -> absl::StatusOr<std::string> {
    if (options == nullptr || options->struct_size < sizeof(size_t)) {
      return tektite::InvalidArgument("tektite_aot_options: struct_size is not set");
    }
    return MakeLibraryFiles({static_cast<const char*>(model), size}, directory,
                            tektite::c_api::KnownFields(*options));
  });
}

}  // extern "C"
