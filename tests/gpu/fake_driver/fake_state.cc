#include "tests/gpu/fake_driver/fake_state.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace tektite::gpu::fake {
namespace {

constexpr size_t kMostImage = 64 << 20;

[[noreturn]] void Die(const char* message) {
  std::fprintf(stderr, "fake driver: %s\n", message);
  std::abort();
}

}  // namespace

namespace {
thread_local double* clock_of_this_thread = nullptr;
}  // namespace

double Stream::Now() { return *clock_of_this_thread; }
void Stream::Pass(double microseconds) { *clock_of_this_thread += microseconds; }

Stream::Stream() : thread_([this] { Serve(); }) {}

Stream::~Stream() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.emplace_back(nullptr);
  }
  more_.notify_one();
  thread_.join();
}

void Stream::Tell(Work work) {
  if (recorded_ != nullptr) return recorded_->push_back(std::move(work));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  more_.notify_one();
}

void Stream::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [this] { return waiting_.empty() && !runs_; });
}

void Stream::BeginCapture() { recorded_ = std::make_unique<std::vector<Work>>(); }

bool Stream::EndCapture(std::vector<Work>* recorded) {
  if (recorded_ == nullptr) return false;
  *recorded = std::move(*recorded_);
  recorded_.reset();
  return true;
}

void Stream::Serve() {
  clock_of_this_thread = &clock_;
  int64_t number = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    more_.wait(lock, [this] { return !waiting_.empty(); });
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    if (work == nullptr) return;
    runs_ = true;
    lock.unlock();
    // Late now and then, so that who does not wait finds nothing.
    if (number++ % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    State& state = State::Get();
    if (state.lost.load() == 0) {
      if (const int result = work(); result != 0) state.Lose(result);
    }
    work = nullptr;  // what it held may tell the stream something when it goes
    lock.lock();
    runs_ = false;
    if (waiting_.empty()) idle_.notify_all();
  }
}

size_t ImageBytes(const void* image) {
  const auto* const bytes = static_cast<const char*>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return strnlen(bytes, kMostImage);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof(header));
  size_t end = std::max(header.e_shoff + size_t{header.e_shnum} * header.e_shentsize,
                        header.e_phoff + size_t{header.e_phnum} * header.e_phentsize);
  for (int s = 0; s < header.e_shnum; ++s) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + static_cast<size_t>(s) * header.e_shentsize,
                sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

uint64_t ImageKey(const void* image) {
  uint64_t key = 1469598103934665603u;
  const auto* const bytes = static_cast<const unsigned char*>(image);
  for (size_t i = 0, end = ImageBytes(image); i < end; ++i) key = (key ^ bytes[i]) * 1099511628211u;
  return key;
}

State& State::Get() {
  static auto& state = *new State;
  return state;
}

State::State() {
  Reset();
  const char* const settings = std::getenv("TEKTITE_FAKE_DRIVER");
  std::istringstream words(settings == nullptr ? "" : settings);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) Die("TEKTITE_FAKE_DRIVER: a word without a value");
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "version") {
      version = std::stoi(value);
    } else if (name == "cards") {
      cards = std::stoi(value);
    } else if (name == "capability") {
      major = std::stoi(value) / 10, minor = std::stoi(value) % 10;
    } else if (name == "memory") {
      card_bytes = std::stoull(value);
    } else if (name == "fail") {
      const size_t colon = value.find(':');
      if (colon == std::string::npos) Die("TEKTITE_FAKE_DRIVER: fail=FUNCTION:RESULT");
      failures[value.substr(0, colon)] = {std::stoi(value.substr(colon + 1)), 0, -1};
    } else {
      Die("TEKTITE_FAKE_DRIVER: an unknown word");
    }
  }
}

void State::Reset() {
  version = 13000;
  cards = 1;
  major = 9;
  minor = 0;
  card_bytes = size_t{4} << 30;
  launch_microseconds = 10;
  runner = nullptr;
  failures.clear();
  calls.clear();
  lost = 0;
  launches = 0;
}

void State::Lose(int result) {
  int expected = 0;
  lost.compare_exchange_strong(expected, result);
}

int State::Enter(const char* symbol, bool wants_context) {
  std::lock_guard<std::mutex> lock(mutex);
  if (process != 0 && process != getpid()) Die("a call in a child of the process");
  ++calls[symbol];
  const auto failure = failures.find(symbol);
  if (failure != failures.end() && failure->second.times != 0) {
    if (failure->second.after-- <= 0) {
      if (failure->second.times > 0) --failure->second.times;
      return failure->second.result;
    }
  }
  return wants_context ? lost.load() : 0;
}

}  // namespace tektite::gpu::fake
