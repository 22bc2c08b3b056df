// Roles, signals, copies of tensors and products of warpgroups: what a block of sm_90a does.
#include <algorithm>
#include <cstring>
#include <thread>

#include "jit/base/status.h"
#include "jit/llvm/warpgroup.h"
#include "tests/gpu/interpreter/block_execution.h"

namespace tektite::gpu {

using loop::Code;
using loop::Instr;
using loop::kGroupThreads;
using loop::kProductDepth;
using loop::kProductRows;
using loop::kSharedRowBytes;
using loop::kWarpThreads;

namespace {

int WarpOf(int thread) { return thread / kWarpThreads; }

float FloatOf(ir::DType dtype, const std::byte* at) {
  if (dtype == ir::DType::kF16) {
    ir::Half v;
    std::memcpy(&v.bits, at, sizeof(v.bits));
    return static_cast<float>(v);
  }
  ir::BFloat16 v;
  std::memcpy(&v.bits, at, sizeof(v.bits));
  return static_cast<float>(v);
}

}  // namespace

// The first role runs on a thread of its own.
absl::Status BlockExecution::RunRoles(const Instr& instr, const Mask& mask) {
  if (mask.count < threads_ || turns_ != nullptr) {
    return Fault(instr, 0, InvalidArgument("not all threads of the block reach it"));
  }
  const auto first_threads = static_cast<int>(instr.immediate);
  Mask roles[2] = {mask, mask};
  for (int t = 0; t < threads_; ++t) roles[t < first_threads ? 1 : 0].on[t] = 0;
  roles[0].count = first_threads;
  roles[1].count = threads_ - first_threads;
  Turns turns;
  turns_ = &turns;
  first_threads_ = first_threads;
  absl::Status status[2];
  const auto run = [&](int role) {
    turns.Begin(role);
    status[role] = RunBlock(role == 0 ? *instr.body : *instr.otherwise, roles[role]);
    turns.End(role, status[role].ok());
  };
  std::thread first(run, 0);
  run(1);
  first.join();
  turns_ = nullptr;
  first_threads_ = 0;
  return turns.failed() < 0 ? absl::OkStatus() : status[turns.failed()];
}

absl::Status BlockExecution::CheckRole(const Instr& instr, const Mask& mask) const {
  const auto begin = std::find(mask.on.begin(), mask.on.end(), 1) - mask.on.begin();
  const int role = begin < first_threads_ ? first_threads_ : threads_ - first_threads_;
  if (mask.count == role && begin % kGroupThreads == 0 && role % kGroupThreads == 0) {
    return absl::OkStatus();
  }
  return Fault(instr, static_cast<int>(begin),
               InvalidArgument("divergent product: ", mask.count, " of ", role,
                               " threads of the role reach it"));
}

// Runs it in each thread of the mask.
absl::Status BlockExecution::RunBackground(const Instr& instr, const Mask& mask) {
  switch (instr.code) {
    case Code::kWarpBarrier:
      return RunWarpBarrier(instr, mask);
    case Code::kBeginProduct:
      return RunBeginProduct(instr, mask);
    case Code::kWaitForProducts:
      return RunWaitForProducts(instr, mask);
    case Code::kWaitForSignal:
      return RunWaitForSignal(instr, mask);
    default:
      break;
  }
  for (int t = 0; t < threads_; ++t) {
    if (mask.on[t] == 0) continue;
    absl::Status done;
    switch (instr.code) {
      case Code::kInitSignal:
        done = background_.Init(SignalOf(instr, 0, t), instr.immediate);
        break;
      case Code::kArrive:
        done = background_.Arrive(WarpOf(t), SignalOf(instr, 0, t),
                                  instr.operands.size() > 2 ? Operand(instr, 2).Get<int64_t>(t) : 0,
                                  memory_.StepOfWarp(WarpOf(t)));
        break;
      case Code::kAcquireTensor:
        acquired_.insert({t, instr.immediate});
        break;
      default:
        done = RunCopyTensor(instr, t);
    }
    if (!done.ok()) return Fault(instr, t, done);
  }
  return absl::OkStatus();
}

absl::Status BlockExecution::RunWarpBarrier(const Instr& instr, const Mask& mask) {
  for (int warp = 0; warp < threads_; warp += kWarpThreads) {
    const auto begin = mask.on.begin() + warp;
    const auto there = std::count(begin, begin + kWarpThreads, 1);
    if (there == 0) continue;
    TEKTITE_RETURN_IF_ERROR(CheckWarp(instr, mask, warp, static_cast<int>(there)));
    memory_.WarpBarrier(WarpOf(warp));
  }
  return absl::OkStatus();
}

int64_t BlockExecution::SignalOf(const Instr& instr, int pointer, int thread) {
  return Operand(instr, pointer).Get<Place>(thread).offset +
         Operand(instr, pointer + 1).Get<int64_t>(thread) * loop::kSignalBytes;
}

absl::Status BlockExecution::EndTensorCopies(int64_t signal) {
  for (const Asynchronous::Copy& copy : background_.EndCopies(signal)) {
    for (int64_t at = 0; at < copy.to.end - copy.to.begin; at += kSharedRowBytes) {
      TEKTITE_RETURN_IF_ERROR(memory_.EndCopy(copy.thread, {shared_, copy.to.begin + at},
                                              kSharedRowBytes, copy.bytes.data() + at));
    }
  }
  return absl::OkStatus();
}

absl::Status BlockExecution::RunWaitForSignal(const Instr& instr, const Mask& mask) {
  for (int t = 0; t < threads_; ++t) {
    if (mask.on[t] == 0) continue;
    const int64_t signal = SignalOf(instr, 0, t), parity = Operand(instr, 2).Get<int64_t>(t);
    while (true) {
      absl::StatusOr<bool> ended = background_.HasEnded(WarpOf(t), signal, parity);
      if (ended.ok() && !*ended) {
        if (absl::Status copied = EndTensorCopies(signal); !copied.ok()) {
          return Fault(instr, t, copied);
        }
        ended = background_.HasEnded(WarpOf(t), signal, parity);
      }
      if (!ended.ok()) return Fault(instr, t, ended.status());
      if (*ended) break;
      const int role = t < first_threads_ ? 0 : 1;
      if (turns_ == nullptr || !turns_->Pass(role, [this] { return background_.events(); })) {
        return Fault(
            instr, t,
            InvalidArgument("waits for ever for the signal at byte ", signal, " of shared memory"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status BlockExecution::RunCopyTensor(const Instr& instr, int thread) {
  constexpr int kFirstPlace = 4;
  if (acquired_.count({thread, instr.immediate}) == 0) {
    return InvalidArgument("copies from tensor ", instr.immediate,
                           ", which this thread has not acquired");
  }
  const TensorShape& tensor = tensors_[static_cast<size_t>(instr.immediate)];
  const int bytes = ir::DTypeBytes(instr.access);
  const auto place = [&](int d) { return Operand(instr, kFirstPlace + d).Get<int64_t>(thread); };
  const int64_t to =
      Operand(instr, 0).Get<Place>(thread).offset + Operand(instr, 1).Get<int64_t>(thread) * bytes;
  if (to % loop::kSwizzledBytes != 0) {
    return InvalidArgument("byte ", to, " of shared memory is no multiple of ",
                           loop::kSwizzledBytes);
  }
  const int64_t rows = int64_t{tensor.box[1]} * tensor.box[2];
  Asynchronous::Copy copy;
  copy.thread = thread;
  copy.signal = SignalOf(instr, 2, thread);
  copy.to = {to, to + rows * kSharedRowBytes};
  copy.bytes.resize(static_cast<size_t>(rows * kSharedRowBytes));
  // What lies outside stays zero.
  const int64_t begin = std::clamp<int64_t>(place(0), 0, tensor.sizes[0]);
  const int64_t end = std::clamp<int64_t>(place(0) + tensor.box[0], begin, tensor.sizes[0]);
  std::byte row_bytes[kSharedRowBytes];
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t middle = place(1) + row % tensor.box[1], outer = place(2) + row / tensor.box[1];
    const bool inside =
        middle >= 0 && middle < tensor.sizes[1] && outer >= 0 && outer < tensor.sizes[2];
    if (!inside || begin == end) continue;
    const int64_t from = (begin + middle * tensor.strides[0] + outer * tensor.strides[1]) * bytes;
    const int64_t alignment = from % loop::kChunkBytes == 0 ? loop::kChunkBytes : bytes;
    TEKTITE_RETURN_IF_ERROR(
        memory_.Read(thread, {tensor.buffer, from}, (end - begin) * bytes, alignment, row_bytes));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = row * kSharedRowBytes + (i - place(0)) * bytes;
      std::memcpy(copy.bytes.data() + loop::SwizzledByte(at), row_bytes + (i - begin) * bytes,
                  static_cast<size_t>(bytes));
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    TEKTITE_RETURN_IF_ERROR(
        memory_.BeginCopy(thread, {shared_, to + row * kSharedRowBytes}, kSharedRowBytes));
  }
  return background_.BeginCopy(WarpOf(thread), std::move(copy));
}

// An operand's elements, [across][kProductDepth]; the warps of the group read all of it.
absl::Status BlockExecution::ReadOperand(const Instr& instr, int group, int operand, int64_t across,
                                         bool transposed, std::vector<float>* elements) {
  const int bytes = ir::DTypeBytes(instr.access);
  const int64_t at = Operand(instr, 0).Get<Place>(group).offset +
                     Operand(instr, operand).Get<int64_t>(group) * bytes;
  if (at % loop::kSwizzledBytes != 0) {
    return InvalidArgument("byte ", at, " of shared memory is no multiple of ",
                           loop::kSwizzledBytes);
  }
  const int64_t size = across * kSharedRowBytes;
  std::vector<std::byte> read(static_cast<size_t>(size));
  TEKTITE_RETURN_IF_ERROR(memory_.ReadInBackground({shared_, at}, size, read.data()));
  for (int warp = 0; warp < loop::kGroupWarps; ++warp) {
    TEKTITE_RETURN_IF_ERROR(background_.BeginRead(WarpOf(group) + warp, {at, at + size}));
  }
  elements->resize(static_cast<size_t>(across) * kProductDepth);
  for (int64_t i = 0; i < across; ++i) {
    for (int64_t k = 0; k < kProductDepth; ++k) {
      (*elements)[static_cast<size_t>(i * kProductDepth + k)] =
          FloatOf(instr.access, read.data() + loop::SharedPlace(transposed, i, k, bytes));
    }
  }
  return absl::OkStatus();
}

// Rows of a, [kProductRows][kProductDepth], of which the threads of the group hold the parts.
void BlockExecution::TakeParts(const Instr& instr, int group, std::vector<float>* elements) {
  constexpr int kDepth = loop::kInstructionDepth;
  const int lanes = loop::PartLanes(ir::DTypeBytes(instr.access));
  elements->resize(size_t{kProductRows} * kProductDepth);
  for (int t = 0; t < kGroupThreads; ++t) {
    for (int i = 0; i < loop::kProductParts; ++i) {
      for (int lane = 0; lane < lanes; ++lane) {
        const loop::MatrixPlace in_warp =
            loop::LeftPlace(t % kWarpThreads, i % loop::kLeftParts, lane, lanes);
        const int row = t / kWarpThreads * loop::kMatrixRows + in_warp.row;
        const int k = i / loop::kLeftParts * kDepth + in_warp.column;
        (*elements)[static_cast<size_t>(row * kProductDepth + k)] =
            FloatOf(instr.access, Operand(instr, loop::kAOperand + i).at(group + t, lane));
      }
    }
  }
}

absl::Status BlockExecution::ReadFactors(const Instr& instr, int group, int64_t columns,
                                         std::vector<float>* a, std::vector<float>* b) {
  if ((instr.immediate & loop::kAInRegisters) != 0) {
    TakeParts(instr, group, a);
  } else {
    TEKTITE_RETURN_IF_ERROR(ReadOperand(instr, group, loop::kAOperand, kProductRows,
                                        (instr.immediate & loop::kATransposed) != 0, a));
  }
  return ReadOperand(instr, group, loop::kBOperand, columns,
                     (instr.immediate & loop::kBTransposed) != 0, b);
}

absl::Status BlockExecution::RunBeginProduct(const Instr& instr, const Mask& mask) {
  TEKTITE_RETURN_IF_ERROR(CheckRole(instr, mask));
  const int64_t number = background_.BeginProduct();
  const int64_t parts = static_cast<int64_t>(instr.results.size());
  const int64_t columns = parts * loop::kProductColumnsStep;
  std::vector<float> a, b, sums(static_cast<size_t>(kProductRows * columns));
  std::vector<float> row_of_b(static_cast<size_t>(kProductDepth * columns));
  for (int group = 0; group < threads_; group += kGroupThreads) {
    if (mask.on[group] == 0) continue;
    const absl::Status read = ReadFactors(instr, group, columns, &a, &b);
    if (!read.ok()) return Fault(instr, group, read);
    const auto each_sum = [&](const auto& visit) {
      for (int t = 0; t < kGroupThreads; ++t) {
        for (int64_t part = 0; part < parts; ++part) {
          for (int lane = 0; lane < loop::kSumLanes; ++lane) {
            const loop::MatrixPlace in_part = loop::SumPlace(t % kWarpThreads, lane);
            const int64_t row = t / kWarpThreads * loop::kMatrixRows + in_part.row;
            const int64_t column = part * loop::kProductColumnsStep + in_part.column;
            visit(group + t, static_cast<int>(part), lane,
                  sums[static_cast<size_t>(row * columns + column)]);
          }
        }
      }
    };
    each_sum([&](int t, int part, int lane, float& sum) {
      sum = Operand(instr, loop::FirstSum(instr.immediate) + part).Get<float>(t, lane);
    });
    for (int64_t k = 0; k < kProductDepth; ++k) {
      for (int64_t i = 0; i < columns; ++i) {
        row_of_b[static_cast<size_t>(k * columns + i)] =
            b[static_cast<size_t>(i * kProductDepth + k)];
      }
    }
    for (int64_t row = 0; row < kProductRows; ++row) {
      float* const to = sums.data() + row * columns;
      for (int64_t k = 0; k < kProductDepth; ++k) {
        const float factor = a[static_cast<size_t>(row * kProductDepth + k)];
        const float* const from = row_of_b.data() + k * columns;
        for (int64_t i = 0; i < columns; ++i) to[i] += factor * from[i];
      }
    }
    each_sum([&](int t, int part, int lane, float& sum) {
      values_[instr.number][static_cast<size_t>(part)].Set(t, sum, lane);
    });
  }
  for (ThreadValues& result : values_[instr.number]) result.set_product(number);
  return absl::OkStatus();
}

absl::Status BlockExecution::RunWaitForProducts(const Instr& instr, const Mask& mask) {
  TEKTITE_RETURN_IF_ERROR(CheckRole(instr, mask));
  background_.EndProducts(instr.immediate);
  for (size_t i = 0; i < instr.results.size(); ++i) {
    CopyWhere(mask, values_[instr.number][i], Operand(instr, static_cast<int>(i)));
  }
  return absl::OkStatus();
}

// Sums of a product that is under way may be passed on, and nothing else.
absl::Status BlockExecution::CheckSums(const Instr& instr, const Mask& mask) {
  switch (instr.code) {
    case Code::kBeginProduct:
    case Code::kFor:
    case Code::kIf:
    case Code::kRoles:
    case Code::kWaitForProducts:
      return absl::OkStatus();
    default:
      break;
  }
  for (const loop::Value& v : instr.operands) {
    if (Of(v).product() <= background_.ended()) continue;
    const auto thread = std::find(mask.on.begin(), mask.on.end(), 1) - mask.on.begin();
    return Fault(instr, static_cast<int>(thread),
                 InvalidArgument("reads sums of a product that is under way"));
  }
  return absl::OkStatus();
}

}  // namespace tektite::gpu
