// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "form/classifier.hpp"
#include "form/frame_reader.hpp"
#include "packet/vlan_tag.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> frame{data, size};
  const natxy::Classified judged = natxy::classify(frame);
  if (natxy::name_of(judged.kind).empty()) __builtin_trap();
  // A frame that has the form of the stream in its signature must be an intact test frame.
  natxy::Signature signature;
  std::size_t payload_bytes = natxy::kSignatureBytes;
  if (judged.datagram.transport != nullptr) {
    signature = judged.signature();
    payload_bytes = judged.payload.size();
  }
  for (std::size_t each = 0; each < 2 * natxy::kForms; ++each) {
    const natxy::Family family = each < natxy::kForms ? natxy::Family::ipv6 : natxy::Family::ipv4;
    const auto form = static_cast<natxy::Form>(each % natxy::kForms);
    if (!natxy::has_form(family, form)) continue;
    const natxy::SizeCycle size_of_all(std::array{payload_bytes});
    const natxy::FrameReader reader(form, family, size_of_all, signature.run_id, signature.stream);
    natxy::SignatureLanes signatures;
    const std::size_t alone = reader.read({&frame, 1}, signatures);
    if (reader.read(std::array{frame, frame, frame, frame}, signatures) != 4 * alone) __builtin_trap();
    // A mix has the frame if its size is due. It leaves a frame with anything behind the packet to the classifier.
    const std::array payloads{payload_bytes, payload_bytes + 64, payload_bytes};
    const natxy::SizeCycle sizes(payloads);
    const natxy::FrameReader mixed(form, family, sizes, signature.run_id, signature.stream);
    const bool due = alone == 1 && data + size == judged.payload.data() + payload_bytes &&
                     sizes.of(signatures.sequence[0]) == payload_bytes;
    natxy::SignatureLanes of_mix;
    if (mixed.read(std::array{frame, frame, frame, frame}, of_mix) != (due ? 4 : 0)) __builtin_trap();
    if (alone == 0) continue;
    if (judged.kind != natxy::FrameKind::test || judged.family != natxy::layout_of(form, family).header_family())
      __builtin_trap();
    if (data + reader.transport_at() != judged.datagram.transport) __builtin_trap();
    if (signatures.sequence[3] != signature.sequence || signatures.time[3] != signature.time) __builtin_trap();
  }
  // A tagged frame is classified without its tag, which hides everything behind it from a port without VLANs.
  const natxy::VlanTag tag({10, {}});
  if (tag.is_on(frame)) {
    if (judged.kind != natxy::FrameKind::other_ethertype) __builtin_trap();
    std::vector<std::uint8_t> untagged(frame.begin(), frame.end());
    tag.remove(untagged.data());
    natxy::classify(std::span(untagged).subspan(natxy::kVlanTagBytes));
  }
  return 0;
}
