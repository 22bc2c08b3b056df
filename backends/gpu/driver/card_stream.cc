#include "backends/gpu/driver/card_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

class CardEvent final : public backend::Event {
 public:
  explicit CardEvent(const Card& card) : card_(card) {}
  ~CardEvent() override {
    if (handle == nullptr || !card_.takes_back()) return;
    const Card::Scope scope(card_);
    card_.driver().EventDestroy(handle);
  }
  CuEvent handle = nullptr;  // null after an error

 private:
  const Card& card_;
};

CuAddress AddressOf(const void* pointer) { return reinterpret_cast<CuAddress>(pointer); }

}  // namespace

CardStream::CardStream(Card* card, CuStream handle, const backend::StreamOptions& options)
    : card_(*card), handle_(handle), options_(options) {}

CardStream::~CardStream() {
  if (!is_hosts()) Synchronize().IgnoreError();
  UnfinishedWork::Needs needs;
  needs.graphs = std::move(graphs_);
  needs.rooms = std::move(rooms_);
  needs.kept = std::move(kept_);
  for (Piece& piece : pieces_) {
    if (piece.memory != nullptr) needs.pieces.push_back(std::move(piece.memory));
  }
  if (!is_hosts()) {
    needs.Return(card_);
  } else if (!needs.empty()) {
    card_.unfinished().Add(handle_, std::move(needs));
  }
}

void CardStream::Note(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

bool CardStream::GoesOn() {
  if (status_.ok()) status_ = card_.status();
  if (status_.ok() && options_.is_cancelled()) status_ = absl::CancelledError("cancelled");
  return status_.ok();
}

void CardStream::Launch(const backend::Kernel& kernel, const backend::LaunchConfig& config,
                        absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) {
  if (!status_.ok()) return;
  const auto& launched = static_cast<const CardKernel&>(kernel);
  if (!config.fits || static_cast<int>(buffers.size()) != launched.num_buffers() ||
      config.scratch_bytes > options_.scratch_bytes) {
    return Note(Internal("kernel ", launched.name(), ": a launch that was not planned"));
  }
  Tell(launched, buffers, sizes);
  for (const auto& next : launched.then()) Tell(*next, buffers, sizes);
}

void CardStream::Tell(const CardKernel& kernel, absl::Span<void* const> buffers,
                      absl::Span<const int64_t> sizes) {
  // A run of its own is too short to be recorded.
  const bool is_alone = kernel.call() != nullptr && !kernel.call()->is_recordable();
  if (is_alone) Flush();
  const int64_t bytes = kernel.frame_words() * static_cast<int64_t>(sizeof(uint64_t));
  if (!HasRoom(bytes)) return;
  std::byte* const frame = rooms_.back()->host + room_used_ + run_.frame_bytes();
  auto* const words = reinterpret_cast<uint64_t*>(frame);
  const absl::StatusOr<int64_t> blocks = kernel.FillFrame(buffers, options_.scratch, sizes, words);
  if (!blocks.ok()) return Note(blocks.status());
  if (*blocks > 0) run_.Add(kernel, *blocks, words);  // without elements there is nothing to run
  if (is_alone) Flush();
}

bool CardStream::HasRoom(int64_t frame_bytes) {
  if (frame_bytes > PinnedMemory::kFrameBytes) {
    Note(Internal("a frame of ", frame_bytes, " bytes"));
    return false;
  }
  if (!rooms_.empty() &&
      room_used_ + run_.frame_bytes() + frame_bytes <= PinnedMemory::kFrameBytes) {
    return true;
  }
  Flush();
  if (!status_.ok()) return false;
  auto room = card_.pinned().TakeRoom();
  Note(room.status());
  if (!room.ok()) return false;
  rooms_.push_back(*std::move(room));
  room_used_ = 0;
  return true;
}

void CardStream::Flush() {
  if (run_.empty()) return;
  if (GoesOn()) {
    const std::byte* const frames = rooms_.back()->host + room_used_;
    if (auto graph = TakeGraph()) {
      std::memcpy(graph->room->host, frames, static_cast<size_t>(run_.frame_bytes()));
      Note(card_.driver().GraphLaunch(graph->executable, handle_), "launching a graph");
      graphs_.push_back(std::move(graph));
    } else {
      FlushSingly();
    }
  }
  run_.Clear();
}

std::unique_ptr<LaunchGraphs::Graph> CardStream::TakeGraph() {
  if (!is_hosts()) return card_.graphs().Take(run_, handle_);
  const absl::StatusOr<CuStream> recording = card_.TakeStream();
  if (!recording.ok()) return nullptr;
  auto graph = card_.graphs().Take(run_, *recording);
  card_.ReturnStream(*recording);
  return graph;
}

void CardStream::FlushSingly() {
  const FrameRoom& room = *rooms_.back();
  const std::byte* const frames = room.device.data() + room_used_;
  Note(card_.driver().MemcpyHtoDAsync(AddressOf(frames), room.host + room_used_,
                                      static_cast<size_t>(run_.frame_bytes()), handle_),
       "copying frames");
  if (status_.ok()) Note(card_.graphs().Launch(run_, frames, handle_));
  room_used_ += run_.frame_bytes();
}

CardStream::Piece* CardStream::TakePiece() {
  if (pieces_[piece_].used == PinnedMemory::kPieceBytes) {
    Note(card_.driver().EventRecord(pieces_[piece_].memory->copied, handle_), "recording an event");
    piece_ = (piece_ + 1) % kPieces;
    if (pieces_[piece_].used > 0) Finish(pieces_[piece_]);
  }
  Piece& piece = pieces_[piece_];
  if (piece.memory == nullptr) {
    auto memory = card_.pinned().TakePiece();
    Note(memory.status());
    if (memory.ok()) piece.memory = *std::move(memory);
  }
  return status_.ok() ? &piece : nullptr;
}

void CardStream::Finish(Piece& piece) {
  Note(card_.driver().EventSynchronize(piece.memory->copied), "waiting for a copy");
  if (!status_.ok()) piece.deliveries.clear();
  Deliver(piece);
}

void CardStream::Deliver(Piece& piece) {
  for (const Delivery& delivery : piece.deliveries) {
    std::memcpy(delivery.to, piece.memory->host + delivery.offset,
                static_cast<size_t>(delivery.bytes));
  }
  piece.deliveries.clear();
  piece.used = 0;
}

void CardStream::CopyFromHost(void* to, const void* from, int64_t bytes) {
  Flush();
  for (int64_t done = 0; done < bytes && GoesOn();) {
    Piece* const piece = TakePiece();
    if (piece == nullptr) return;
    const int64_t part = std::min(bytes - done, PinnedMemory::kPieceBytes - piece->used);
    std::byte* const pinned = piece->memory->host + piece->used;
    std::memcpy(pinned, static_cast<const std::byte*>(from) + done, static_cast<size_t>(part));
    Note(card_.driver().MemcpyHtoDAsync(AddressOf(to) + static_cast<CuAddress>(done), pinned,
                                        static_cast<size_t>(part), handle_),
         "copying to it");
    piece->used += backend::AlignUp(part);
    done += part;
  }
}

void CardStream::CopyToHost(void* to, const void* from, int64_t bytes) {
  Flush();
  for (int64_t done = 0; done < bytes && GoesOn();) {
    Piece* const piece = TakePiece();
    if (piece == nullptr) return;
    const int64_t part = std::min(bytes - done, PinnedMemory::kPieceBytes - piece->used);
    Note(card_.driver().MemcpyDtoHAsync(piece->memory->host + piece->used,
                                        AddressOf(from) + static_cast<CuAddress>(done),
                                        static_cast<size_t>(part), handle_),
         "copying from it");
    piece->deliveries.push_back({static_cast<std::byte*>(to) + done, piece->used, part});
    piece->used += backend::AlignUp(part);
    done += part;
  }
}

void CardStream::CopyWithin(void* to, const void* from, int64_t bytes) {
  Flush();
  if (bytes == 0 || !GoesOn()) return;
  Note(card_.driver().MemcpyDtoDAsync(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes),
                                      handle_),
       "copying on it");
}

std::unique_ptr<backend::Event> CardStream::Record(unsigned flags) {
  Flush();
  auto event = std::make_unique<CardEvent>(card_);
  if (!GoesOn()) return event;
  Note(card_.driver().EventCreate(&event->handle, flags), "making an event");
  if (status_.ok()) Note(card_.driver().EventRecord(event->handle, handle_), "recording an event");
  return event;
}

absl::StatusOr<double> CardStream::MicrosecondsBetween(const backend::Event& begin,
                                                       const backend::Event& end) {
  TEKTITE_RETURN_IF_ERROR(status_);
  float milliseconds = 0;
  TEKTITE_RETURN_IF_ERROR(card_.Check(
      card_.driver().EventElapsedTime(&milliseconds, static_cast<const CardEvent&>(begin).handle,
                                      static_cast<const CardEvent&>(end).handle),
      "measuring time"));
  return static_cast<double>(milliseconds) * 1000;
}

void CardStream::Wait(const backend::Event& event) {
  Flush();
  const CuEvent handle = static_cast<const CardEvent&>(event).handle;
  if (handle == nullptr) return Note(Internal("an event of a stream that failed"));
  if (!GoesOn()) return;
  Note(card_.driver().StreamWaitEvent(handle_, handle, /*flags=*/0), "waiting for an event");
}

absl::Status CardStream::Synchronize() {
  Flush();
  // What was told before an error may still run, unless the card is lost.
  if (card_.status().ok()) {
    Note(card_.driver().StreamSynchronize(handle_), "waiting for it");
  } else {
    Note(card_.status());
  }
  for (auto& graph : graphs_) card_.graphs().Return(std::move(graph));
  graphs_.clear();
  for (Piece& piece : pieces_) {
    if (!status_.ok()) piece.deliveries.clear();
    Deliver(piece);
  }
  if (rooms_.size() > 1) {
    for (size_t i = 0; i + 1 < rooms_.size(); ++i) card_.pinned().Return(std::move(rooms_[i]));
    rooms_.erase(rooms_.begin(), rooms_.end() - 1);
  }
  room_used_ = 0;
  return status_;
}

absl::Status CardStream::End() {
  const bool delivers = std::any_of(std::begin(pieces_), std::end(pieces_),
                                    [](const Piece& piece) { return !piece.deliveries.empty(); });
  if (!is_hosts() || delivers) return Synchronize();
  Flush();
  if (status_.ok()) status_ = card_.status();
  return status_;
}

void CardStream::Keep(std::shared_ptr<const void> thing) {
  if (is_hosts()) kept_.push_back(std::move(thing));
}

}  // namespace tektite::gpu
