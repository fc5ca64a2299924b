// SPDX-License-Identifier: Apache-2.0
#include "form/frame_reader.hpp"

#include <algorithm>

#include "form/frame_settings.hpp"

namespace natxy {

KnownFrame::KnownFrame(Form form, Family family, const SizeCycle& payloads, std::uint16_t run_id, std::uint8_t stream,
                       const Softwire& softwire, const Mapping& mapping, const Segment& segment)
    : bytes_{layout_of(form, family).signature() + payloads.smallest()},
      subscribers_{mapped_of(form) == Mapped::none ? softwire.subscribers : mapping.subscribers},
      inner_bits_{softwire.inner_address ? 0 : ~std::uint64_t{0}} {
  const Layout layout = layout_of(form, family);
  const std::size_t ip_at = layout.ip();
  pseudo_header_ = __builtin_bswap16(std::uint16_t{number_of(layout.protocol)});
  if (!payloads.mixed()) pseudo_header_ += __builtin_bswap16(static_cast<std::uint16_t>(bytes_ - layout.transport()));

  // Words of 16 bytes are loaded from the extension headers on.
  constexpr std::size_t kMost =
      std::max({Layout{Family::ipv6, kMostExtensionBytes}.end(), kFromEdge.end(), kTcpOptionIpv6.end()});
  std::array<std::uint8_t, kMost + sizeof(TwoWords)> value{};
  auto known = value;
  fill(form, family,
       {.size = bytes_ + kFcsBytes,
        .stream = stream,
        .run_id = run_id,
        .softwire = softwire,
        .mapping = mapping,
        .segment = segment},
       value);
  with_signature_ = pseudo_header_ + checksum_of(value.data() + layout.signature(), kSequenceOffset);
  const auto know = [&](std::size_t at, std::size_t bytes) { std::fill_n(known.begin() + at, bytes, 0xFF); };
  // Routers and translators may change all other fields of the IP header.
  know(kHeadersAt, 2);
  if (layout.outer != Outer::none) {
    known.at(kEthernetBytes) = 0xF0;
    know(kEthernetBytes + 4, 3);
    know(kEthernetBytes + (layout.outer == Outer::from_edge ? 24 : 8), sizeof(uint128));
    if (softwire.inner_address) {
      const std::size_t at = layout.addresses() + (layout.outer == Outer::from_edge ? 0 : 4);
      know(at, sizeof *softwire.inner_address);
      store_be32(value.data() + at, *softwire.inner_address);
    }
  }
  if (layout.mapped != Mapped::none) {
    const std::size_t at = layout.addresses() + (layout.mapped == Mapped::from_edge ? 16 : 0);
    store_be64(known.data() + at, mapping.prefix.high_bits());
    store_be64(known.data() + at + 8, mapping.prefix.low_bits());
    store_be64(value.data() + at, mapping.prefix.high);
    store_be64(value.data() + at + 8, mapping.prefix.low);
    const auto four = FourSubscribers::of(subscribers_);
    by_fours_ = four.has_value();
    if (four) {
      four_subscribers_ = *four;
      const std::size_t subscriber_at = layout.addresses() + (layout.from_edge() ? 0 : 16);
      know(subscriber_at, 2);
      store_be16(value.data() + subscriber_at, static_cast<std::uint16_t>(subscribers_.high >> 48));
    }
  }
  if (layout.header_family() == Family::ipv4) {
    know(ip_at, 1);
    know(ip_at + 2, 2);
    store_be16(known.data() + ip_at + 6, kIpv4FragmentMask);
    know(ip_at + 9, 1);
  } else {
    known.at(ip_at) = 0xF0;
    know(ip_at + 4, 3);
    know(layout.extensions(), layout.extension_bytes);
  }
  // UDP's length; TCP's sequence numbers, length and flags, but not its window.
  know(layout.transport() + 4, layout.protocol == Transport::udp ? 2 : 10);
  know(layout.signature(), kSequenceOffset);
  if (layout.option_bytes != 0) know(layout.signature() - kExperimentBytes, kExperimentBytes);
  if (payloads.mixed()) {
    for (const LengthField& field : layout.length_fields()) store_be16(known.data() + field.at, 0);
  }
  for (std::size_t i = 0; i < value.size(); ++i) value.at(i) &= known.at(i);

  const auto known_at = [&]<class Bytes>(Known<Bytes>& here, std::size_t at) {
    here = {load_raw<Bytes>(known.data() + at), load_raw<Bytes>(value.data() + at)};
  };
  for (std::size_t i = 0; i < kPieces; ++i) known_at(headers_.at(i), kHeadersAt + 16 * i);
  known_at(datagram_, layout.transport());
  known_at(signature_, layout.signature());
  known_at(extensions_, layout.extensions());
  for (std::size_t i = layout.extension_bytes; i < sizeof(TwoWords); i += 8) extensions_.bits[i / 8] = 0;
  known_at(start_, kHeadersAt);
  known_at(stream_, layout.signature());
  known_at(option_, layout.signature() - kExperimentBytes);
  with_layout(form, family, [&]<Layout L>() {
    // Those of TCP are read one by one.
    if constexpr (L.protocol == Transport::udp) {
      for (std::size_t i = 0; i < Words<L>::kKnown.size(); ++i) {
        Known<std::uint64_t> word;
        known_at(word, Words<L>::kFirst + 8 * Words<L>::kKnown[i]);
        words_[i] = {FourWords{} + word.bits, FourWords{} + word.value};
      }
    }
  });
}

}  // namespace natxy
