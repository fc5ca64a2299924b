// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "form/forms.hpp"
#include "form/mapping.hpp"
#include "form/segment.hpp"
#include "form/softwire.hpp"

namespace natxy {

/// Holds the fields that all frames of a stream have in common. `size` includes the FCS.
struct FrameSettings {
  std::size_t size = 64;
  std::uint8_t ttl = 64;
  bool dont_fragment = false;
  MacAddress source_mac{};
  MacAddress destination_mac{};
  std::uint8_t stream = 0;
  std::uint16_t run_id = 0;
  Softwire softwire{};  // of forms that have one
  Mapping mapping{};    // likewise
  Segment segment{};    // of TCP
};

/// Writes the start of a frame, up to the end of the signature at least, with zeros for the checksums and for the
/// fields that vary from frame to frame. `start` has nothing but zeros before.
void fill(Form form, Family family, const FrameSettings& settings, std::span<std::uint8_t> start);

}  // namespace natxy
