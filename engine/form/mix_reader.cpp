// SPDX-License-Identifier: Apache-2.0
#include "form/mix_reader.hpp"

namespace natxy {

namespace {

constexpr std::uint8_t kUnread = 0xFF;
static_assert(SizeCycle::kMostDistinct < kUnread);

}  // namespace

MixReader::MixReader(Form form, Family family, const SizeCycle& payloads, std::uint16_t run_id, std::uint8_t stream,
                     const Softwire& softwire)
    : first_{form, family, payloads.smallest(), run_id, stream, softwire}, payloads_{payloads} {
  for (const std::size_t bytes : std::span(payloads.distinct()).subspan(1)) {
    others_.emplace_back(form, family, bytes, run_id, stream, softwire);
  }
}

std::size_t MixReader::read_mixed(std::span<const Frame> all, SignatureLanes& signatures) const {
  // Where streams alternate, frames behind those of another one would be read in vain.
  const auto frames = all.first(first_.of_stream(all));
  Lanes<std::uint8_t> ranks;
  ranks.fill(kUnread);
  read_of_length(first_, 0, frames, signatures, ranks);
  for (std::size_t i = 0; i < others_.size(); ++i) {
    read_of_length(others_[i], static_cast<std::uint8_t>(i + 1), frames, signatures, ranks);
  }
  const auto count = static_cast<std::size_t>(std::ranges::find(ranks, kUnread) - ranks.begin());
  // An intact frame may have the length of another.
  Lanes<std::uint8_t> due;
  payloads_.rank(std::span(signatures.sequence).first(count), due);
  return static_cast<std::size_t>(std::mismatch(ranks.begin(), ranks.begin() + count, due.begin()).first -
                                  ranks.begin());
}

void MixReader::read_of_length(const FrameReader& reader, std::uint8_t rank, std::span<const Frame> frames,
                               SignatureLanes& signatures, Lanes<std::uint8_t>& ranks) {
  Lanes<Frame> alike;
  Lanes<std::uint8_t> places;
  std::size_t found = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    // Without a branch, which nobody could predict.
    places[found] = static_cast<std::uint8_t>(i);
    alike[found] = frames[i];
    found += static_cast<std::size_t>(frames[i].size() == reader.length());
  }
  if (found == 0) return;
  SignatureLanes read;
  const std::size_t intact = reader.read(std::span(alike).first(found), read);
  for (std::size_t i = 0; i < intact; ++i) {
    signatures.sequence[places[i]] = read.sequence[i];
    signatures.time[places[i]] = read.time[i];
    ranks[places[i]] = rank;
  }
}

}  // namespace natxy
