// Reads a GraphDef in protobuf's text format (.pbtxt).
//
//   node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
//   node { name: "y" op: "Neg" input: "x" }
//
//   ASSIGN_OR_RETURN(GraphDef graph, ReadTextGraphDef(text));
//
// The text is turned into the wire form by a table of the messages (text_schema_list.inc) and read
// from there, so both forms have one meaning. An error names the line:
//   line 3: NodeDef has no field 'nmae'
// Limits: extensions, Any and groups are not understood; fields that no part of Tektite reads are
// checked for syntax only.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_TEXT_READER_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_TEXT_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

absl::StatusOr<GraphDef> ReadTextGraphDef(absl::string_view text);

// Whether the bytes can only be meant as text (printable, and no serialized GraphDef starts so).
bool LooksLikeText(absl::string_view bytes);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_TEXT_READER_H_
