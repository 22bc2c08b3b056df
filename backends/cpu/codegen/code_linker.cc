#include "backends/cpu/codegen/code_linker.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/codegen/code_memory.h"
#include "backends/cpu/codegen/image_capture.h"
#include "backends/cpu/codegen/llvm_error.h"
#include "jit/base/log.h"
#include "jit/base/status.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#include "llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace tektite::cpu {
namespace {

using llvm::orc::ExecutorAddr;
using llvm::orc::ObjectLinkingLayer;
constexpr auto kExported = llvm::JITSymbolFlags::Exported;
constexpr auto kFunction = kExported | llvm::JITSymbolFlags::Callable;

// Hands each link's passes to JITLink.
class CapturePlugin : public ObjectLinkingLayer::Plugin {
 public:
  explicit CapturePlugin(llvm::orc::SymbolStringPool& names) : names_(names) {}

  // JITLink calls a graph what its object's buffer is called.
  void Add(const std::string& graph, ImageCapture* capture) {
    std::lock_guard<std::mutex> lock(mutex_);
    captures_[graph] = capture;
  }
  void Remove(const std::string& graph) {
    std::lock_guard<std::mutex> lock(mutex_);
    captures_.erase(graph);
  }

  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph& graph,
                        llvm::jitlink::PassConfiguration& config) override {
    std::lock_guard<std::mutex> lock(mutex_);
    captures_.at(graph.getName())->AddPasses(names_, config);
  }
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}

 private:
  llvm::orc::SymbolStringPool& names_;
  std::mutex mutex_;
  std::map<std::string, ImageCapture*> captures_;
};

// Where ORC's plugin writes: without that place every link would fail.
bool CanWriteJitDump() {
  llvm::SmallString<128> path;
  if (const char* directory = std::getenv("JITDUMPDIR")) {
    path = directory;
  } else if (!llvm::sys::path::home_directory(path)) {
    path = ".";
  }
  llvm::sys::path::append(path, ".debug", "jit");
  if (!llvm::sys::fs::create_directories(path) &&
      !llvm::sys::fs::access(path, llvm::sys::fs::AccessMode::Write)) {
    return true;
  }
  Warn("--jit_names=perf: ", path.str().str(),
       " cannot be written to; profilers see no kernels' names");
  return false;
}

// Until the process ends.
void Keep(const std::shared_ptr<CodeLinker>& linker) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<CodeLinker>>;
  std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(linker);
}

}  // namespace

struct CodeLinker::Session {
  explicit Session(std::unique_ptr<llvm::orc::ExecutorProcessControl> process)
      : orc(std::move(process)), layer(orc), dylib(orc.createBareJITDylib("kernels")) {}

  // Why a link fails is reported on its way, and its caller learns that it has failed.  Of links
  // that fail at once on several threads, one gets both reasons.
  void Report(llvm::Error error) {
    std::lock_guard<std::mutex> lock(mutex);
    absl::StrAppend(&reports, reports.empty() ? "" : "; ", llvm::toString(std::move(error)));
  }
  std::string TakeReports() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(reports, "");
  }

  const pid_t process = getpid();
  bool stays = false;
  llvm::orc::ExecutionSession orc;
  ObjectLinkingLayer layer;
  llvm::orc::JITDylib& dylib;
  std::shared_ptr<CapturePlugin> captures;
  std::atomic<uint64_t> links{0};
  std::mutex mutex;
  std::string reports;
};

// Owns a kernel's code.
class CodeLinker::Code {
 public:
  Code(std::shared_ptr<CodeLinker> linker, llvm::orc::ResourceTrackerSP tracker)
      : linker_(std::move(linker)), tracker_(std::move(tracker)) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() {
    if (!linker_->is_of_this_process()) {
      // A thread that is not here may have held the session's lock when the process was forked.
      tracker_.resetWithoutRelease();
    } else if (!linker_->session_->stays) {
      const absl::Status status = FromLlvm(tracker_->remove());
      if (!status.ok()) Warn("code is not removed: ", status.message());
    }
  }

  const llvm::orc::ResourceTrackerSP& tracker() const { return tracker_; }

 private:
  const std::shared_ptr<CodeLinker> linker_;
  llvm::orc::ResourceTrackerSP tracker_;
};

absl::StatusOr<std::shared_ptr<CodeLinker>> CodeLinker::Create(const Options& options) {
  auto process = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>(),
      std::make_unique<CodeMemory>());
  if (!process) return FromLlvm(process.takeError());
  auto session = std::make_unique<Session>(std::move(*process));
  llvm::orc::ExecutionSession& orc = session->orc;
  orc.setErrorReporter([s = session.get()](llvm::Error error) { s->Report(std::move(error)); });
  session->captures = std::make_shared<CapturePlugin>(*orc.getSymbolStringPool());
  session->layer.addPlugin(session->captures);
  if (options.gdb) {
    llvm::Error error = llvm::Error::success();
    session->layer.addPlugin(std::make_shared<llvm::orc::ELFDebugObjectPlugin>(
        orc, /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true, error));
    if (error) return FromLlvm(std::move(error));
    session->stays = true;
  }
  if (options.perf && CanWriteJitDump()) {
    session->layer.addPlugin(std::make_shared<llvm::orc::PerfSupportPlugin>(
        orc.getExecutorProcessControl(),
        ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfStart),
        ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfEnd),
        ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfImpl), /*EmitDebugInfo=*/false,
        /*EmitUnwindInfo=*/false));
    session->stays = true;
  }
  llvm::orc::SymbolMap functions;
  for (const CalledFunction& function : CalledFunctions()) {
    functions[orc.intern(llvm::StringRef(function.name.data(), function.name.size()))] = {
        ExecutorAddr::fromPtr(function.address), kFunction};
  }
  TEKTITE_RETURN_IF_ERROR(
      FromLlvm(session->dylib.define(llvm::orc::absoluteSymbols(std::move(functions)))));
  std::shared_ptr<CodeLinker> linker(new CodeLinker(std::move(session)));
  if (linker->session_->stays) Keep(linker);
  return linker;
}

CodeLinker::CodeLinker(std::unique_ptr<Session> session) : session_(std::move(session)) {}

CodeLinker::~CodeLinker() {
  if (session_ == nullptr) return;
  if (is_of_this_process()) {
    const absl::Status status = FromLlvm(session_->orc.endSession());
    if (!status.ok()) Warn("a linker does not end: ", status.message());
  } else {
    static_cast<void>(session_.release());  // as Code leaves its own
  }
}

bool CodeLinker::is_of_this_process() const { return session_->process == getpid(); }

absl::StatusOr<LoadedCode> CodeLinker::Link(absl::string_view name, absl::string_view object) {
  Session& session = *session_;
  const std::string symbol = absl::StrCat(name, ".", session.links.fetch_add(1));
  ImageCapture capture(name, symbol);
  session.captures->Add(symbol, &capture);
  const auto code =
      std::make_shared<const Code>(shared_from_this(), session.dylib.createResourceTracker());
  const llvm::orc::SymbolStringPtr interned = session.orc.intern(symbol);
  llvm::Error added = session.layer.add(
      code->tracker(),
      llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(object.data(), object.size()), symbol,
                                       /*RequiresNullTerminator=*/false),
      {{{interned, kFunction}}, nullptr});
  absl::Status status = FromLlvm(std::move(added));
  if (status.ok()) {
    auto found = session.orc.lookup({&session.dylib}, interned);
    if (!found) status = FromLlvm(found.takeError());
  }
  session.captures->Remove(symbol);
  if (!status.ok()) {
    const std::string reports = session.TakeReports();
    return Internal("kernel ", name, ": ", reports.empty() ? status.message() : reports);
  }
  if (session.stays) {  // a debugger's or profiler's plugin may fail, and the link does not
    const std::string reports = session.TakeReports();
    if (!reports.empty()) Warn("linking ", name, ": ", reports);
  }
  return LoadedCode(code, capture.bytes(), capture.entry(), capture.TakeFixups());
}

}  // namespace tektite::cpu
