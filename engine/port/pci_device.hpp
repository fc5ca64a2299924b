// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace natxy {

/// Returns whether this is the full address of a PCI device in small letters, such as 0000:41:00.0.
bool is_pci_address(const std::string& text);

/// Returns why DPDK may not have opened a PCI device, and what to do. `devices` is the kernel's folder of PCI devices.
std::string why_pci_device_is_closed(const std::string& address,
                                     const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace natxy
