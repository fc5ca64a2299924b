// SPDX-License-Identifier: Apache-2.0
#include "port/pci_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

namespace natxy {

namespace {

constexpr std::string_view kForm = "xxxx:xx:xx.7";
constexpr std::array<std::string_view, 3> kDpdkDrivers = {"vfio-pci", "igb_uio", "uio_pci_generic"};

bool has_form(char form, char letter) {
  if (form == 'x') return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  if (form == '7') return letter >= '0' && letter <= '7';
  return letter == form;
}

}  // namespace

bool is_pci_address(const std::string& text) {
  return text.size() == kForm.size() && std::equal(kForm.begin(), kForm.end(), text.begin(), has_form);
}

std::string why_pci_device_is_closed(const std::string& address, const std::filesystem::path& devices) {
  std::error_code error;
  if (!std::filesystem::exists(devices / address, error)) {
    return "this machine has no such device; `lspci -D` lists those it has";
  }
  const std::string driver = std::filesystem::read_symlink(devices / address / "driver", error).filename().string();
  if (std::ranges::find(kDpdkDrivers, driver) != kDpdkDrivers.end()) {
    return fmt::format("it is bound to {}; the engine's log has DPDK's reason", driver);
  }
  return fmt::format("{}; bind it to a driver of DPDK: `dpdk-devbind.py --bind=vfio-pci {}`",
                     driver.empty() ? "no driver has it" : "the kernel's driver " + driver + " has it", address);
}

}  // namespace natxy
