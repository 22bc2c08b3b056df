#include "clustering/graph_def/saved_model.h"

#include <algorithm>

#include "clustering/graph_def/wire_messages.h"

namespace tektite::graph_def {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using wire::Length;
using wire::Varint;

SignatureTensor ReadTensorInfo(pbf_reader reader) {
  SignatureTensor info;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        info.tensor = wire::ToString(reader.get_view());
        break;
      case Varint(2):
        info.dtype = static_cast<DataType>(static_cast<int32_t>(reader.get_uint64()));
        break;
      case Length(3):
        info.shape = wire::ReadShape(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return info;
}

SignatureTensor ReadSignatureTensor(pbf_reader reader) {
  std::string key;
  SignatureTensor tensor;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        key = wire::ToString(reader.get_view());
        break;
      case Length(2):
        tensor = ReadTensorInfo(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  tensor.key = std::move(key);
  return tensor;
}

void ReadSignatureDef(pbf_reader reader, Signature* signature) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        signature->inputs.push_back(ReadSignatureTensor(reader.get_message()));
        break;
      case Length(2):
        signature->outputs.push_back(ReadSignatureTensor(reader.get_message()));
        break;
      default:
        reader.skip();
    }
  }
  const auto by_key = [](const SignatureTensor& a, const SignatureTensor& b) {
    return a.key < b.key;
  };
  std::sort(signature->inputs.begin(), signature->inputs.end(), by_key);
  std::sort(signature->outputs.begin(), signature->outputs.end(), by_key);
}

Signature ReadSignature(pbf_reader reader) {
  Signature signature;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        signature.name = wire::ToString(reader.get_view());
        break;
      case Length(2):
        ReadSignatureDef(reader.get_message(), &signature);
        break;
      default:
        reader.skip();
    }
  }
  return signature;
}

bool IsServed(pbf_reader meta_graph) {
  while (meta_graph.next()) {
    if (meta_graph.tag_and_type() != Length(1)) {
      meta_graph.skip();
      continue;
    }
    pbf_reader info = meta_graph.get_message();
    while (info.next()) {
      if (info.tag_and_type() != Length(4)) {
        info.skip();
      } else if (wire::ToString(info.get_view()) == "serve") {
        return true;
      }
    }
  }
  return false;
}

void ReadOps(pbf_reader meta_info, std::vector<OpDef>* ops) {
  while (meta_info.next()) {
    if (meta_info.tag_and_type() != Length(2)) {
      meta_info.skip();
      continue;
    }
    pbf_reader list = meta_info.get_message();
    while (list.next()) {
      if (list.tag_and_type() == Length(1)) {
        ops->push_back(wire::ReadOp(list.get_message()));
      } else {
        list.skip();
      }
    }
  }
}

SavedModel ReadMetaGraph(pbf_reader reader, const wire::Source& source) {
  SavedModel model;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        ReadOps(reader.get_message(), &model.ops);
        break;
      case Length(2):
        model.graph = wire::ReadGraph(reader.get_message(), source);
        break;
      case Length(5):
        model.signatures.push_back(ReadSignature(reader.get_message()));
        break;
      default:
        reader.skip();
    }
  }
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
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      if (reader.tag_and_type() != Length(2)) {
        reader.skip();
        continue;
      }
      const data_view meta_graph = reader.get_view();
      if (!found || (!served && IsServed(pbf_reader(meta_graph)))) {
        chosen = meta_graph;
        served = IsServed(pbf_reader(meta_graph));
      }
      found = true;
    }
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
