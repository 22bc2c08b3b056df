// A test double of the compiler: the C interface with an interpreter of a few float ops behind it.
//
// Why: the hook must work against tektite.h alone; here every answer of the compiler can be
// provoked. Marks connected Relu, AddV2, Mul, Identity and ReadVariableOp nodes of float, with
// their constants; runs them where one shape ends in the other.  The environment says how it
// misbehaves:
//   FAKE_TEKTITE_CODE=12   every run answers with this status code
//   FAKE_TEKTITE_ABI=99    the ABI version it claims
//   FAKE_TEKTITE_ONE=1     all candidates are one cluster, cycles or not
//   FAKE_TEKTITE_COMPARE=1 the sides of a call are compared
//   FAKE_TEKTITE_KEEP=1    functional loops are candidates when the hook asks which to keep, but
//                          not when they have been kept; with 2 they still are
//                          (FAKE_TEKTITE_CODE=12, since nothing here can run them)
//   FAKE_TEKTITE_SLEEP_MS=20  how long every run takes
//   FAKE_TEKTITE_STOP=1    says on stderr when it is told to stop work in the background
// Limits: it explains no graph. Never compiled into anything that is installed.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "absl/status/status.h"
#include "jit/serving/fallback.h"
#include "jit/serving/faster_side.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

constexpr int kFloat = 1;

struct Value {
  std::vector<int64_t> dims;
  std::vector<float> data;
  int arg = -1;  // >= 0: an argument that nothing has changed
};

struct FakeNode {
  std::string name, op, device, scope;
  std::vector<std::string> inputs;
  bool compile = false, forbidden = false, kept = false;
  int type = kFloat;
  int index = 0;
  Value constant;
};

int Environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

Value ReadTensor(protozero::pbf_reader tensor) {
  Value value;
  std::string content;
  while (tensor.next()) {
    if (tensor.tag() == 2) {
      auto shape = tensor.get_message();
      while (shape.next(2)) {
        auto dim = shape.get_message();
        int64_t size = 0;
        while (dim.next(1)) size = dim.get_int64();
        value.dims.push_back(size);
      }
    } else if (tensor.tag() == 4) {
      content = tensor.get_string();
    } else if (tensor.tag() == 5) {
      for (const float f : tensor.get_packed_float()) value.data.push_back(f);
    } else {
      tensor.skip();
    }
  }
  if (!content.empty()) {
    value.data.resize(content.size() / sizeof(float));
    std::memcpy(value.data.data(), content.data(), value.data.size() * sizeof(float));
  }
  size_t count = 1;
  for (const int64_t dim : value.dims) count *= static_cast<size_t>(dim);
  const float last = value.data.empty() ? 0.0f : value.data.back();
  value.data.resize(count, last);
  return value;
}

void ReadAttr(protozero::pbf_reader entry, FakeNode* node) {
  std::string key;
  while (entry.next()) {
    if (entry.tag() == 1) {
      key = entry.get_string();
    } else if (entry.tag() == 2) {
      auto attr = entry.get_message();
      while (attr.next()) {
        if (attr.tag() == 6 && (key == "T" || key == "dtype")) {
          node->type = attr.get_enum();
        } else if (attr.tag() == 3 && key == "index") {
          node->index = static_cast<int>(attr.get_int64());
        } else if (attr.tag() == 5 && key == "_XlaCompile") {
          const bool value = attr.get_bool();
          node->compile = value;
          node->forbidden = !value;
        } else if (attr.tag() == 5 && key == "_tektite_kept") {
          node->kept = attr.get_bool();
        } else if (attr.tag() == 2 && key == "_XlaScope") {
          node->scope = attr.get_string();
        } else if (attr.tag() == 8 && key == "value") {
          auto tensor = attr.get_message();
          if (node->type == kFloat) node->constant = ReadTensor(tensor);
        } else {
          attr.skip();
        }
      }
    } else {
      entry.skip();
    }
  }
}

std::vector<FakeNode> ReadGraph(const void* bytes, size_t size) {
  std::vector<FakeNode> nodes;
  protozero::pbf_reader graph(static_cast<const char*>(bytes), size);
  while (graph.next(1)) {
    auto message = graph.get_message();
    FakeNode node;
    std::vector<protozero::pbf_reader> attrs;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          node.name = message.get_string();
          break;
        case 2:
          node.op = message.get_string();
          break;
        case 3:
          node.inputs.push_back(message.get_string());
          break;
        case 4:
          node.device = message.get_string();
          break;
        case 5:
          attrs.push_back(message.get_message());
          break;
        default:
          message.skip();
      }
    }
    // The type stands before the value only by luck: read everything twice.
    for (const auto& attr : attrs) ReadAttr(attr, &node);
    for (const auto& attr : attrs) ReadAttr(attr, &node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string Source(const std::string& input) { return input.substr(0, input.find(':')); }

bool IsCandidate(const FakeNode& node) {
  static const std::set<std::string> ops = {"Relu", "AddV2", "Mul", "Identity", "ReadVariableOp"};
  return ops.count(node.op) != 0 && node.type == kFloat && !node.forbidden;
}

}  // namespace

struct tektite_compiler {
  std::mutex mu;
  std::set<const tektite::serving::FasterSide*> sides;  // of the clusters that live
  int64_t runs = 0, refusals = 0, markings = 0, clusters = 0, clustered_ops = 0, versioned_args = 0,
          new_versions = 0;
  int host_memory = 0;  // blocks that the host had memory for, of a large and a small one
};

struct OwnedMarking : tektite_marking {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> nodes;
  std::vector<std::vector<tektite_marked_node>> node_views;
  std::vector<tektite_marked_cluster> views;
};

// The real comparison, with code that never changes.
struct tektite_cluster {
  explicit tektite_cluster(tektite_compiler* made_by) : compiler(made_by), faster(Options()) {}
  static tektite::serving::FasterSide::Options Options() {
    tektite::serving::FasterSide::Options options;
    options.compares = Environment("FAKE_TEKTITE_COMPARE", 0) != 0;
    return options;
  }

  tektite_compiler* const compiler;
  tektite::serving::FasterSide faster;
  std::map<std::string, FakeNode> nodes;
  std::vector<FakeNode> results;
  std::map<int, uint64_t> last_version;
};

namespace {

bool Evaluate(const tektite_cluster& cluster, const tektite_call& call, const std::string& name,
              std::map<std::string, Value>* done) {
  if (done->count(name) != 0) return true;
  const FakeNode& node = cluster.nodes.at(name);
  Value out;
  if (node.op == "_Arg") {
    const tektite_tensor& arg = call.args[node.index];
    if (arg.dtype != kFloat) return false;
    out.dims.assign(arg.dims, arg.dims + arg.rank);
    size_t count = 1;
    for (const int64_t dim : out.dims) count *= static_cast<size_t>(dim);
    const float* data = static_cast<const float*>(arg.data);
    out.data.assign(data, data + count);
    out.arg = node.index;
  } else if (node.op == "Const") {
    out = node.constant;
  } else {
    std::vector<Value> in;
    for (const std::string& input : node.inputs) {
      if (input[0] == '^') continue;
      if (!Evaluate(cluster, call, Source(input), done)) return false;
      in.push_back((*done)[Source(input)]);
    }
    out = in[0];
    if (node.op == "Relu") {
      out.arg = -1;
      for (float& f : out.data) f = f > 0 ? f : 0;
    } else if (node.op == "AddV2" || node.op == "Mul") {
      const Value& larger = in[0].data.size() >= in[1].data.size() ? in[0] : in[1];
      out = larger;
      out.arg = -1;
      for (const Value& operand : in) {
        const size_t rank = operand.dims.size();
        if (rank > larger.dims.size() ||
            !std::equal(operand.dims.rbegin(), operand.dims.rend(), larger.dims.rbegin())) {
          return false;
        }
      }
      for (size_t i = 0; i < out.data.size(); ++i) {
        const float a = in[0].data[i % in[0].data.size()];
        const float b = in[1].data[i % in[1].data.size()];
        out.data[i] = node.op == "Mul" ? a * b : a + b;
      }
    }
  }
  (*done)[name] = std::move(out);
  return true;
}

}  // namespace

int32_t tektite_abi_version(void) { return Environment("FAKE_TEKTITE_ABI", TEKTITE_ABI_VERSION); }
const char* tektite_version(void) { return "fake"; }
void tektite_string_free(char* text) { std::free(text); }

tektite_compiler* tektite_compiler_create(const tektite_options* options, tektite_status* status) {
  if (options->flags != nullptr && std::strstr(options->flags, "nonsense") != nullptr) {
    std::fprintf(stderr, "tektite: unknown flag '--nonsense' in TEKTITE_FLAGS\n");
  }
  auto* const compiler = new tektite_compiler;
  if (options->struct_size >= sizeof(tektite_options) && options->memory_allocate != nullptr) {
    for (const size_t bytes : {1 << 20, 1 << 10}) {
      void* const given = options->memory_allocate(options->memory_context, bytes);
      if (given == nullptr) continue;
      ++compiler->host_memory;
      options->memory_release(options->memory_context, given);
    }
  }
  return compiler;
}
void tektite_compiler_destroy(tektite_compiler* compiler) { delete compiler; }

char* tektite_stats_json(tektite_compiler* compiler) {
  std::lock_guard<std::mutex> lock(compiler->mu);
  tektite::serving::Comparison::Report all;
  for (const tektite::serving::FasterSide* sides : compiler->sides) {
    const auto report = sides->Summary();
    all.compiled += report.compiled;
    all.host += report.host;
    all.open += report.open;
    all.worst_ratio = std::max(all.worst_ratio, report.worst_ratio);
  }
  char text[768];
  std::snprintf(
      text, sizeof(text),
      "{\"markings\": %ld, \"clusters\": %ld, \"clustered_ops\": %ld, \"runs\": %ld, "
      "\"refusals\": %ld, \"versioned_args\": %ld, \"new_versions\": %ld, \"host_memory\": %d, "
      "\"comparison\": {\"compiled\": %d, \"host\": %d, \"open\": %d, \"lost\": {\"worst\": %f}}}",
      compiler->markings, compiler->clusters, compiler->clustered_ops, compiler->runs,
      compiler->refusals, compiler->versioned_args, compiler->new_versions, compiler->host_memory,
      all.compiled, all.host, all.open, all.worst_ratio);
  return strdup(text);
}

char* tektite_explain(tektite_compiler*, const void*, size_t, const char*, int32_t,
                      tektite_status* status) {
  std::strcpy(status->message, "the double explains nothing");
  return nullptr;
}

tektite_marking* tektite_mark(tektite_compiler* compiler, const void* graph_def, size_t size,
                              const tektite_mark_options* options, tektite_status* status) {
  const std::vector<FakeNode> nodes = ReadGraph(graph_def, size);
  std::map<std::string, const FakeNode*> by_name;
  for (const FakeNode& node : nodes) by_name[node.name] = &node;
  std::map<std::string, std::string> group;  // union-find without ranks
  const auto find = [&](std::string name) {
    while (group[name] != name) name = group[name];
    return name;
  };
  const int keeps = Environment("FAKE_TEKTITE_KEEP", 0);
  const auto is_kept_loop = [&](const FakeNode& node) {
    const bool is_loop = node.op == "While" || node.op == "StatelessWhile";
    return is_loop && (options->inline_calls != 0 ? keeps > 0 : keeps > 1 && node.kept);
  };
  for (const FakeNode& node : nodes) {
    if ((IsCandidate(node) || is_kept_loop(node)) &&
        (options->mode == TEKTITE_MARK_ALL || node.compile)) {
      group[node.name] = node.name;
    }
  }
  std::string first;
  for (const FakeNode& node : nodes) {
    if (group.count(node.name) == 0) continue;
    if (first.empty()) first = node.name;
    if (Environment("FAKE_TEKTITE_ONE", 0) != 0) group[find(node.name)] = find(first);
    // A node that waits for another starts a group of its own, or cycles would be the rule.
    const bool waits = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [](const std::string& input) { return input[0] == '^'; });
    for (const std::string& input : node.inputs) {
      const std::string source = Source(input);
      if (waits || group.count(source) == 0 || by_name[source]->scope != node.scope) continue;
      group[find(node.name)] = find(source);
    }
  }
  std::map<std::string, std::vector<std::string>> members;
  for (const auto& [name, parent] : group) members[find(name)].push_back(name);
  std::lock_guard<std::mutex> lock(compiler->mu);
  ++compiler->markings;
  auto* marking = new OwnedMarking;
  for (auto& [root, names] : members) {
    bool work = false;
    for (const std::string& name : names) {
      work |= by_name[name]->op != "Identity" && by_name[name]->op != "ReadVariableOp";
    }
    if (!work) continue;
    compiler->clustered_ops += static_cast<int64_t>(names.size());
    marking->names.push_back("cluster_" + std::to_string(marking->names.size()));
    marking->nodes.push_back(names);
  }
  for (const auto& names : marking->nodes) {
    auto& views = marking->node_views.emplace_back();
    for (const std::string& name : names) views.push_back({name.c_str(), nullptr, 0});
  }
  for (size_t i = 0; i < marking->nodes.size(); ++i) {
    const auto& views = marking->node_views[i];
    marking->views.push_back(
        {marking->names[i].c_str(), views.data(), static_cast<int32_t>(views.size())});
  }
  marking->clusters = marking->views.data();
  marking->num_clusters = static_cast<int32_t>(marking->views.size());
  return marking;
}
void tektite_marking_destroy(tektite_marking* marking) {
  delete static_cast<OwnedMarking*>(marking);
}

int32_t tektite_op_assigns(const char* op) {
  return std::string(op).rfind("Assign", 0) == 0 ? 1 : 0;
}

int64_t tektite_flag(const tektite_compiler* compiler, const char* name, int64_t otherwise) {
  if (std::string(name) == "keep_loops") return Environment("FAKE_TEKTITE_KEEP", 0);
  return otherwise;
}

tektite_cluster* tektite_cluster_create(tektite_compiler* compiler, const char* name,
                                        const void* graph_def, size_t size,
                                        tektite_status* status) {
  auto* cluster = new tektite_cluster(compiler);
  for (FakeNode& node : ReadGraph(graph_def, size)) {
    if (node.op == "_Retval") cluster->results.push_back(node);
    cluster->nodes[node.name] = std::move(node);
  }
  std::lock_guard<std::mutex> lock(compiler->mu);
  ++compiler->clusters;
  compiler->sides.insert(&cluster->faster);
  return cluster;
}
void tektite_cluster_destroy(tektite_cluster* cluster) {
  {
    std::lock_guard<std::mutex> lock(cluster->compiler->mu);
    cluster->compiler->sides.erase(&cluster->faster);
  }
  delete cluster;
}

int32_t tektite_cluster_has_won(tektite_cluster* cluster) { return cluster->faster.Standing(); }

const char* tektite_fallback_code(int32_t fallback) {
  return tektite::serving::FallbackCode(static_cast<tektite::serving::Fallback>(fallback));
}
int32_t tektite_run_in_background(void (*fn)(void*), void* arg) {
  fn(arg);
  return 1;
}

void tektite_wait_until_compiled(void) {}
void tektite_stop_background(void) {
  if (Environment("FAKE_TEKTITE_STOP", 0) != 0) std::fputs("fake: stopped\n", stderr);
}

namespace {

absl::Status RunCode(tektite_cluster* cluster, const tektite_call* call) {
  {
    std::lock_guard<std::mutex> lock(cluster->compiler->mu);
    ++cluster->compiler->runs;
    for (int i = 0; i < call->num_args; ++i) {
      const uint64_t version = call->args[i].version;
      if (version == 0) continue;
      ++cluster->compiler->versioned_args;
      if (cluster->last_version[i] != version) ++cluster->compiler->new_versions;
      cluster->last_version[i] = version;
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(Environment("FAKE_TEKTITE_SLEEP_MS", 0)));
  const int code = Environment("FAKE_TEKTITE_CODE", TEKTITE_OK);
  std::map<std::string, Value> done;
  bool possible = code == TEKTITE_OK;
  for (const FakeNode& result : cluster->results) {
    possible = possible && Evaluate(*cluster, *call, Source(result.inputs[0]), &done);
  }
  if (!possible) {
    std::lock_guard<std::mutex> lock(cluster->compiler->mu);
    ++cluster->compiler->refusals;
    const int refusal = code == TEKTITE_OK ? TEKTITE_UNIMPLEMENTED : code;
    return absl::Status(static_cast<absl::StatusCode>(refusal), "refused");
  }
  for (const FakeNode& result : cluster->results) {
    const Value& value = done[Source(result.inputs[0])];
    if (value.arg >= 0 && call->forward(call->context, result.index, value.arg) == 0) continue;
    void* out = call->allocate(call->context, result.index, kFloat,
                               static_cast<int32_t>(value.dims.size()), value.dims.data());
    if (out == nullptr) return absl::ResourceExhaustedError("no memory");
    std::memcpy(out, value.data.data(), value.data.size() * sizeof(float));
  }
  return absl::OkStatus();
}

int32_t Answer(const absl::Status& outcome, tektite::serving::Fallback why,
               tektite_status* status) {
  status->code = static_cast<int32_t>(outcome.code());
  status->fallback = static_cast<int32_t>(why);
  std::snprintf(status->message, sizeof(status->message), "%s",
                std::string(outcome.message()).c_str());
  return status->code;
}

class CallSides : public tektite::serving::Sides {
 public:
  CallSides(tektite_cluster* cluster, const tektite_call* call) : cluster_(cluster), call_(call) {}
  absl::Status RunCode(const int64_t*, tektite::serving::Comparison::Turn*) override {
    return ::RunCode(cluster_, call_);
  }
  absl::Status RunHost(tektite::serving::Fallback why, const absl::Status& refusal) override {
    tektite_status status;
    Answer(refusal, why, &status);
    const int32_t code = call_->run_host(call_->context, &status);
    return absl::Status(static_cast<absl::StatusCode>(code), "");
  }

 private:
  tektite_cluster* const cluster_;
  const tektite_call* const call_;
};

}  // namespace

int32_t tektite_cluster_run(tektite_cluster* cluster, const tektite_call* call,
                            tektite_status* status) {
  using Host = tektite::serving::CallFacts::Host;
  tektite::serving::CallFacts facts;
  for (int i = 0; i < call->num_args; ++i) {
    if (call->args[i].version != 0) continue;
    for (int32_t d = 0; d < call->args[i].rank; ++d) {
      facts.shape_class =
          tektite::serving::AddToShapeClass(facts.shape_class, call->args[i].dims[d]);
    }
  }
  facts.host = call->run_host != nullptr ? Host::kRuns : Host::kAbsent;
  facts.host_extra_ns = call->host_extra_ns;
  facts.reproducible = call->reproducible != 0;
  CallSides sides(cluster, call);
  auto why = tektite::serving::Fallback::NONE;
  const absl::Status outcome = cluster->faster.Run(facts, sides, &why);
  return Answer(outcome, why, status);
}
