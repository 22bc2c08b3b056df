// A stream of the host's on a card of the stand-in driver, which stands still until the test opens
// it, and calls on it.
//
//   TEST_F(HostStream, ...) {
//     Close();
//     executable->Run({OnCard(x, kDims)}, host);      // returns
//     auto seen = Read(host.results[0].data(), 12);   // what will be there behind it
//     Finish();
//   }
#ifndef TEKTITE_TESTS_GPU_HOST_STREAM_H_
#define TEKTITE_TESTS_GPU_HOST_STREAM_H_

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backends/gpu/card_backend.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {

// Two kernels, and so an arena and a run that is recorded.
inline constexpr char kTwo[] = R"(
graph @two(%x: f32[n,4]) -> (f32[n,4]) {
  %e: f32[n,4] = add(%x, %x)
  %s: f32[4] = reduce(%e) {dimensions = [0], reducer = "add"}
  %b: f32[n,4] = broadcast_in_dim(%s) {dimensions = [1], shape = (n, 4)}
  %r: f32[n,4] = add(%e, %b)
  return %r
}
)";
inline constexpr int64_t kRows = 3;

// The value of each element of kTwo where all of x are `x`.
inline float Two(float x) { return 2 * x + 2 * x * kRows; }

class HostStream : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_ = *gpu::Driver::Open(FakeDriver::path());
    card_ = *gpu::Card::Open(driver_, 0);
    const gpu::Card::Scope scope(*card_);
    ASSERT_EQ(driver_->StreamCreate(&stream_, gpu::kCuNonBlockingStream), gpu::kCuSuccess);
    ASSERT_EQ(driver_->MemHostAlloc(&pinned_, kPinned, 0), gpu::kCuSuccess);
    compiler_ = NewCompiler();
  }
  void TearDown() override {
    Open();
    if (card_->status().ok()) {
      const gpu::Card::Scope scope(*card_);
      driver_->StreamSynchronize(stream_);
      driver_->StreamDestroy(stream_);
      driver_->MemFreeHost(pinned_);
    }
    // The stream is gone.
    const int64_t told = fake_.calls("cuEventRecord");
    compiler_.reset();
    EXPECT_EQ(fake_.calls("cuEventRecord"), told);
    const bool is_lost = !card_->status().ok();
    card_.reset();
    if (!is_lost) {
      EXPECT_EQ(fake_.held_bytes(), held_);
      EXPECT_EQ(fake_.held_things(), things_);
    }
    fake_.reset();
  }

  std::unique_ptr<compiler::Compiler> NewCompiler() {
    compiler::CompilerOptions options;
    options.backends = tektite::c_api::AllBackends();
    options.own_backend = [&] {
      return *gpu::CreateCardBackend(card_, nullptr, {InterpretOnFakeDriver()});
    };
    return *compiler::Compiler::Create(std::move(options));
  }
  std::shared_ptr<runtime::Executable> Compile(const char* text, runtime::OutputRoles roles = {}) {
    compiler::CompileJob job;
    job.cluster = "c";
    job.roles = std::move(roles);
    auto executable = compiler_->Compile(*ir::Parse(text), job);
    EXPECT_TRUE(executable.ok()) << executable.status();
    return *executable;
  }

  // From here on the stream does nothing, until it is opened.
  void Close() {
    is_open_ = false;
    const gpu::Card::Scope scope(*card_);
    fake_.tell(
        stream_,
        [this] {
          while (!is_open_) std::this_thread::yield();
          return int{gpu::kCuSuccess};
        },
        0);
  }
  void Open() { is_open_ = true; }
  int64_t Waits() const {
    return fake_.calls("cuStreamSynchronize") + fake_.calls("cuEventSynchronize");
  }

  // Told to the stream, so that it is there in its order.
  void Write(const backend::Block& to, std::vector<float> values) {
    const gpu::Card::Scope scope(*card_);
    const size_t bytes = values.size() * sizeof(float);
    fake_.tell(
        stream_,
        [this, to = to.data(), bytes, values = std::move(values)] {
          std::memcpy(fake_.reach(reinterpret_cast<uint64_t>(to), bytes), values.data(), bytes);
          return int{gpu::kCuSuccess};
        },
        0);
  }
  // What the stream finds there when it gets so far.
  std::shared_ptr<std::vector<float>> Read(const void* from, size_t count) {
    const gpu::Card::Scope scope(*card_);
    auto values = std::make_shared<std::vector<float>>(count);
    fake_.tell(
        stream_,
        [this, from, values] {
          const size_t bytes = values->size() * sizeof(float);
          std::memcpy(values->data(), fake_.reach(reinterpret_cast<uint64_t>(from), bytes), bytes);
          return int{gpu::kCuSuccess};
        },
        0);
    return values;
  }
  void Finish() {
    Open();
    const gpu::Card::Scope scope(*card_);
    driver_->StreamSynchronize(stream_);
  }

  static constexpr size_t kPinned = 4096;
  const FakeDriver& fake_ = FakeDriver::Opened();
  const int64_t held_ = fake_.held_bytes(), things_ = fake_.held_things();
  const gpu::Driver* driver_ = nullptr;
  std::shared_ptr<gpu::Card> card_;
  gpu::CuStream stream_ = nullptr;
  void* pinned_ = nullptr;
  std::unique_ptr<compiler::Compiler> compiler_;
  std::atomic<bool> is_open_{true};
};

// Results in the card's memory, or in the host's.
class Host : public runtime::CallHost {
 public:
  Host(gpu::Card* card, gpu::CuStream stream) : card_(*card), stream_(stream) {}
  runtime::HostPool Pool() override { return {}; }
  void* DeviceStream() override { return stream_; }
  runtime::MemorySpace ResultSpace(int result) override {
    return on_host.count(result) > 0 ? runtime::MemorySpace::kHost : runtime::MemorySpace::kDevice;
  }
  void* Allocate(int result, const runtime::TensorType& type) override {
    if (allocates) allocates(result);
    const int64_t bytes = ir::Product(type.dims) * ir::DTypeBytes(type.dtype);
    if (on_host.count(result) > 0) {
      host_results[result].resize(static_cast<size_t>(bytes) / sizeof(float));
      return host_results[result].data();
    }
    if (results[result].data() != nullptr) earlier_.push_back(std::move(results[result]));
    results[result] = card_.memory().Allocate(bytes);
    return results[result].data();
  }
  bool BeginUpdates(absl::Span<Update> updates) override {
    for (Update& update : updates) {
      update.memory = in_place && update.in_place ? variables[update.argument] : nullptr;
      if (update.memory == nullptr) return false;
    }
    return true;
  }

  std::map<int, backend::Block> results;
  std::map<int, std::vector<float>> host_results;
  std::map<int, void*> variables;
  std::map<int, bool> on_host;
  bool in_place = true;
  std::function<void(int result)> allocates;

 private:
  gpu::Card& card_;
  const gpu::CuStream stream_;
  std::vector<backend::Block> earlier_;  // the stream may not have come to them
};

inline runtime::Argument OnCard(const backend::Block& block, const int64_t* dims,
                                uint64_t version = 0) {
  return {block.data(), version, dims, runtime::MemorySpace::kDevice};
}

inline constexpr int64_t kDims[] = {kRows, 4};
inline constexpr int64_t kBytes = kRows * 4 * sizeof(float);

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_HOST_STREAM_H_
