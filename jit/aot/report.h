// What `tektite aot` says of a library that it has made: for people, or as JSON.
//
//   Report report{libraries, written, "lib", files};
//   report.Text(/*with_layers=*/true)
#ifndef TEKTITE_JIT_AOT_REPORT_H_
#define TEKTITE_JIT_AOT_REPORT_H_

#include <string>
#include <vector>

#include "jit/aot/code_writer.h"
#include "jit/aot/library.h"

namespace tektite::aot {

struct Report {
  const std::vector<Library>& libraries;  // by variant
  const CodeWriter::Written& written;
  std::string directory;
  std::vector<std::string> files;  // in it

  std::string Text(bool with_layers) const;
  std::string Json() const;
};

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_REPORT_H_
