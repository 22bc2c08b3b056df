// What `tektite aot` says of a library that it has made: for people, or as JSON.
//
//   AotReport report{library, variants, written, "lib"};
//   report.Text(/*with_layers=*/true)
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_AOT_REPORT_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_AOT_REPORT_H_

#include <string>
#include <vector>

#include "jit/aot/code_writer.h"
#include "jit/aot/library.h"

namespace tektite::c_api {

struct AotReport {
  const std::vector<aot::Library>& libraries;  // by variant
  const aot::CodeWriter::Written& written;
  std::string directory;
  std::vector<std::string> files;  // in it

  std::string Text(bool with_layers) const;
  std::string Json() const;
};

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_AOT_REPORT_H_
