#include "clustering/graph_def/saved_model.h"

#include <algorithm>

#include "clustering/graph_def/wire_messages.h"

namespace tektite::graph_def {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using wire::Field;
using wire::Length;
using wire::Message;
using wire::Text;
using wire::Type;
using wire::Varint;

SignatureTensor ReadSignatureTensor(pbf_reader reader) {
  SignatureTensor tensor;
  const auto read_info = [&](pbf_reader info) {
    ReadFields(info, Text(1, &tensor.tensor), Type(2, &tensor.dtype),
               Message(3, [&](pbf_reader r) { tensor.shape = wire::ReadShape(r); }));
  };
  ReadFields(reader, Text(1, &tensor.key), Message(2, read_info));
  return tensor;
}

void ReadSignatureDef(pbf_reader reader, Signature* signature) {
  const auto to = [](std::vector<SignatureTensor>* tensors) {
    return [tensors](pbf_reader r) { tensors->push_back(ReadSignatureTensor(r)); };
  };
  ReadFields(reader, Message(1, to(&signature->inputs)), Message(2, to(&signature->outputs)));
  const auto by_key = [](const SignatureTensor& a, const SignatureTensor& b) {
    return a.key < b.key;
  };
  std::sort(signature->inputs.begin(), signature->inputs.end(), by_key);
  std::sort(signature->outputs.begin(), signature->outputs.end(), by_key);
}

Signature ReadSignature(pbf_reader reader) {
  Signature signature;
  ReadFields(reader, Text(1, &signature.name),
             Message(2, [&](pbf_reader r) { ReadSignatureDef(r, &signature); }));
  return signature;
}

bool IsServed(pbf_reader meta_graph) {
  bool is_served = false;
  const auto read_tag = [&](pbf_reader& r) {
    is_served |= wire::ToString(r.get_view()) == "serve";
  };
  ReadFields(meta_graph, Message(1, [&](pbf_reader info) {
               ReadFields(info, Field{Length(4), read_tag});
             }));
  return is_served;
}

SavedModel ReadMetaGraph(pbf_reader reader, const wire::Source& source) {
  SavedModel model;
  const auto op = Message(1, [&](pbf_reader r) { model.ops.push_back(wire::ReadOp(r)); });
  const auto ops = Message(2, [&](pbf_reader list) { ReadFields(list, op); });
  ReadFields(reader, Message(1, [&](pbf_reader meta_info) { ReadFields(meta_info, ops); }),
             Message(2, [&](pbf_reader r) { model.graph = wire::ReadGraph(r, source); }),
             Message(5, [&](pbf_reader r) { model.signatures.push_back(ReadSignature(r)); }));
  std::sort(model.signatures.begin(), model.signatures.end(),
            [](const Signature& a, const Signature& b) { return a.name < b.name; });
  return model;
}

}  // namespace

absl::StatusOr<SavedModel> ReadSavedModel(absl::string_view bytes, TensorStorage storage) {
  SavedModel model;
  bool found = false;
  const wire::Source source{/*borrow=*/storage == TensorStorage::kBorrow};
  absl::Status status = wire::Guard("not a SavedModel", [&] {
    data_view chosen;
    bool served = false;
    const auto choose = [&](pbf_reader& r) {
      const data_view meta_graph = r.get_view();
      if (!found || (!served && IsServed(pbf_reader(meta_graph)))) {
        chosen = meta_graph;
        served = IsServed(pbf_reader(meta_graph));
      }
      found = true;
    };
    ReadFields(pbf_reader(bytes.data(), bytes.size()), Field{Length(2), choose});
    if (found) model = ReadMetaGraph(pbf_reader(chosen), source);
  });
  if (!status.ok()) return status;
  if (!found) return absl::InvalidArgumentError("not a SavedModel: it holds no graph");
  return model;
}

bool LooksLikeSavedModel(absl::string_view bytes) {
  // Its schema version comes first, as the varint of field 1, which in a GraphDef is a message.
  return !bytes.empty() && static_cast<uint32_t>(bytes[0]) == Varint(1);
}

}  // namespace tektite::graph_def
