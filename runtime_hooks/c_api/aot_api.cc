// The libraries' part of tektite.h: models compiled ahead of time.
#include <string>
#include <utility>
#include <vector>

#include "clustering/source/library_source.h"
#include "jit/aot/bind_values.h"
#include "jit/aot/code_writer.h"
#include "jit/aot/goldens.h"
#include "jit/aot/package.h"
#include "jit/aot/programs.h"
#include "jit/aot/report.h"
#include "jit/base/status.h"
#include "jit/compiler/compiler.h"
#include "runtime_hooks/c_api/aot.h"
#include "runtime_hooks/c_api/arguments.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "runtime_hooks/c_api/guard.h"

namespace {

using tektite::aot::CodeWriter;
using tektite::aot::Library;
using tektite::c_api::TextOf;
using tektite::clustering::LibrarySource;

using tektite::compiler::CompileJob;
using tektite::compiler::Compiler;
using tektite::compiler::CompilerOptions;

CompilerOptions OptionsOf(const tektite::Flags& flags) {
  CompilerOptions options;
  options.flags = flags;
  options.backends = tektite::c_api::AllBackends();
  return options;
}

CompileJob JobOf(const LibrarySource& source) {
  CompileJob job;
  job.cluster = source.names.library;
  job.variant = "library";
  job.typical_sizes = source.typical_sizes;
  job.roles = source.roles;
  job.may_check = false;
  job.measures = false;
  return job;
}

absl::StatusOr<Library> Compile(const LibrarySource& source, const tektite::Flags& flags,
                                size_t variant, CodeWriter& writer, Library* before) {
  tektite::aot::Names names = source.names;
  names.variant = "." + tektite::aot::Identifier(writer.variants()[variant]);
  TEKTITE_ASSIGN_OR_RETURN(auto backend,
                           writer.NewBackend(variant, names.library + names.variant + "."));
  CompilerOptions options = OptionsOf(flags);
  options.own_backend = [&] { return std::move(backend); };
  TEKTITE_ASSIGN_OR_RETURN(const auto compiler, Compiler::Create(std::move(options)));
  const auto graph = source.graph->Clone();
  TEKTITE_ASSIGN_OR_RETURN(auto module, compiler->MakeModule(*graph, JobOf(source)));
  tektite::runtime::OutputRoles roles = source.roles;
  tektite::aot::BindValues(source.values, &module.steps, &roles, &names);
  return tektite::aot::MakeLibrary(module.steps, roles, names, before);
}

absl::StatusOr<tektite::aot::Goldens> Goldens(const LibrarySource& source,
                                              const tektite::Flags& flags, const Library& library) {
  TEKTITE_ASSIGN_OR_RETURN(const auto compiler, Compiler::Create(OptionsOf(flags)));
  TEKTITE_ASSIGN_OR_RETURN(const auto executable,
                           compiler->Compile(source.graph->Clone(), JobOf(source)));
  return tektite::aot::RunGoldens(*executable, source.roles, source.values, library);
}

absl::StatusOr<std::string> MakeLibraryFiles(absl::string_view model, const std::string& directory,
                                             const tektite_aot_options& options) {
  const std::string name = TextOf(options.name);
  if (!tektite::aot::IsIdentifier(name)) {
    return tektite::InvalidArgument("'", name,
                                    "' is no name of a library: it must be an identifier of C");
  }
  // What decides which code is made is the model, the CPU and the flags: nothing is measured, kept
  // or found on disk.
  tektite::Flags flags = tektite::c_api::ParseFlags(options.flags);
  flags.tuning = "off";
  flags.device = "cpu";
  TEKTITE_ASSIGN_OR_RETURN(const auto writer,
                           tektite::c_api::LibraryWriter(TextOf(options.cpu, "native"), flags));
  TEKTITE_ASSIGN_OR_RETURN(const auto place, tektite::aot::PlaceOf(TextOf(options.weights)));
  TEKTITE_ASSIGN_OR_RETURN(
      LibrarySource source,
      tektite::clustering::LoadLibrarySource(
          model, {static_cast<tektite::clustering::ModelForm>(options.form), TextOf(options.inputs),
                  TextOf(options.outputs), TextOf(options.typical)}));
  source.names.library = name;
  std::vector<Library> libraries;
  libraries.reserve(writer->variants().size());
  for (size_t v = 0; v < writer->variants().size(); ++v) {
    Library* const before = libraries.empty() ? nullptr : &libraries.back();
    TEKTITE_ASSIGN_OR_RETURN(Library made, Compile(source, flags, v, *writer, before));
    made.weights = place;
    libraries.push_back(std::move(made));
  }
  TEKTITE_ASSIGN_OR_RETURN(const CodeWriter::Written written, writer->Write(&libraries));
  const Library& library = libraries.back();
  tektite::aot::FileOptions files = {directory, tektite_version(), options.with_python != 0, {}};
  if (options.with_test != 0) {
    TEKTITE_ASSIGN_OR_RETURN(const auto goldens, Goldens(source, flags, library));
    files.programs.emplace_back(name + "_test.c", tektite::aot::WriteTestProgram(library, goldens));
  }
  if (options.with_bench != 0) {
    files.programs.emplace_back(name + "_bench.c", tektite::aot::WriteBenchProgram(library));
  }
  TEKTITE_ASSIGN_OR_RETURN(std::vector<std::string> names,
                           tektite::aot::WriteLibraryFiles(library, written, files));
  const tektite::aot::Report report{libraries, written, directory, std::move(names)};
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
