// SPDX-License-Identifier: Apache-2.0
#include "form/frame_writer.hpp"

#include <stdexcept>

namespace natxy {

template <Layout L>
FrameWriter<L>::FrameWriter(Form form, const FrameSettings& settings) : length_{settings.size - kFcsBytes} {
  if (settings.size < L.smallest_frame()) throw std::invalid_argument("frame too small for the signature");
  std::array<std::uint8_t, kEnd> start{};
  fill(form, L.family, settings, start);
  if constexpr (L.header_family() == Family::ipv4) {
    constant_.header_sum = __builtin_bswap16(fold(checksum_of(start.data() + L.ip(), kIpv4Bytes)));
  }
  const std::size_t transport_bytes = length_ - L.transport();
  std::uint64_t prefixes = 0;
  if constexpr (L.mapped != Mapped::none) {
    constant_.mapping = settings.mapping;
    prefixes = settings.mapping.subscribers.base_sum() + settings.mapping.prefix.base_sum();
  }
  constant_.transport_rest =
      ~(prefixes + number_of(L.protocol) + std::uint64_t{transport_bytes} +
        __builtin_bswap16(fold(checksum_of(start.data() + L.transport(), kEnd - L.transport()))));
  if constexpr (L.outer != Outer::none) {
    const auto& inner = settings.softwire.inner_address;
    constant_.ends = {settings.softwire.subscribers, inner ? 0 : ~std::uint64_t{0}, inner.value_or(0)};
  }
  for (std::size_t word = 0; word < kWords; ++word) constant_.words[word] = load_be64(start.data() + place(word));
}

#define NATXY_INSTANTIATE(layout) template class FrameWriter<layout>;
NATXY_FOR_EACH_LAYOUT(NATXY_INSTANTIATE)

}  // namespace natxy
