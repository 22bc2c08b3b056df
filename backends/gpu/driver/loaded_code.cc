#include "backends/gpu/driver/loaded_code.h"

#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/card.h"
#include "jit/base/status.h"

namespace tektite::gpu {

absl::StatusOr<std::shared_ptr<const LoadedCode>> LoadedCode::Load(Card* card,
                                                                   const std::string& name,
                                                                   const std::string& cubin,
                                                                   const std::string& ptx,
                                                                   const Block& block) {
  TEKTITE_RETURN_IF_ERROR(card->status());
  const Card::Scope scope(*card);
  std::shared_ptr<LoadedCode> code(new LoadedCode(card));
  TEKTITE_RETURN_IF_ERROR(code->LoadModule(name, cubin, ptx));
  const Driver& driver = card->driver();
  const std::string what = absl::StrCat("loading '", name, "'");
  TEKTITE_RETURN_IF_ERROR(
      card->Check(driver.ModuleGetFunction(&code->function_, code->module_, name.c_str()), what));
  TEKTITE_RETURN_IF_ERROR(
      card->Check(driver.FuncGetAttribute(&code->registers_, kCuRegisters, code->function_), what));
  if (block.dynamic_shared_bytes > 0) {
    TEKTITE_RETURN_IF_ERROR(card->Check(
        driver.FuncSetAttribute(code->function_, kCuMostDynamicShared, block.dynamic_shared_bytes),
        what));
  }
  TEKTITE_RETURN_IF_ERROR(card->Check(driver.OccupancyMaxActiveBlocksPerMultiprocessor(
                                          &code->resident_blocks_, code->function_, block.threads,
                                          static_cast<size_t>(block.dynamic_shared_bytes)),
                                      what));
  return code;
}

absl::Status LoadedCode::LoadModule(const std::string& name, const std::string& cubin,
                                    const std::string& ptx) {
  const Driver& driver = card_.driver();
  if (!cubin.empty()) {
    const CuResult result = driver.ModuleLoadDataEx(&module_, cubin.data(), 0, nullptr, nullptr);
    const absl::Status loaded = card_.Check(result, absl::StrCat("loading '", name, "'"));
    if (!absl::IsInternal(loaded)) return loaded;
  }
  char log[1024] = {};
  CuJitOption options[] = {kCuErrorLog, kCuErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  const CuResult result = driver.ModuleLoadDataEx(
      &module_, ptx.c_str(), static_cast<unsigned>(std::size(options)), options, values);
  const char* const end = std::strchr(log, '\n');
  const absl::string_view line(log,
                               end == nullptr ? std::strlen(log) : static_cast<size_t>(end - log));
  return card_.Check(result,
                     absl::StrCat("assembling '", name, "'", line.empty() ? "" : ": ", line));
}

LoadedCode::~LoadedCode() {
  if (module_ == nullptr || !card_.takes_back()) return;
  const Card::Scope scope(card_);
  card_.driver().ModuleUnload(module_);
}

}  // namespace tektite::gpu
