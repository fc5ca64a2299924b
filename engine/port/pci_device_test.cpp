// SPDX-License-Identifier: Apache-2.0
#include "port/pci_device.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace natxy {
namespace {

using std::filesystem::path;

TEST(PciDevice, IsNamedByItsFullAddress) {
  EXPECT_TRUE(is_pci_address("0000:41:00.0"));
  EXPECT_TRUE(is_pci_address("10af:fe:1f.7"));
  for (const char* other : {"", "41:00.0", "0000:41:00.8", "0000:41:00.0 ", "0000:4G:00.0", "0000-41:00.0",
                            "net_null.0", "net_af_packet0,iface=a.1", "--eal"}) {
    EXPECT_FALSE(is_pci_address(other)) << other;
  }
}

class ClosedDevice : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = std::filesystem::temp_directory_path() / "natxy-pci-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    devices = folder;
    std::filesystem::create_directories(devices / kAddress);
  }
  void TearDown() override { std::filesystem::remove_all(devices); }
  void bind(const std::string& driver) const {
    std::filesystem::create_symlink(path("../../../bus/pci/drivers") / driver, devices / kAddress / "driver");
  }
  [[nodiscard]] std::string why() const { return why_pci_device_is_closed(kAddress, devices); }

  static constexpr const char* kAddress = "0000:41:00.0";
  path devices;
};

TEST_F(ClosedDevice, MayNotExist) {
  EXPECT_EQ(why_pci_device_is_closed("0000:42:00.0", devices),
            "this machine has no such device; `lspci -D` lists those it has");
}

TEST_F(ClosedDevice, MayHaveNoDriver) {
  EXPECT_EQ(why(), "no driver has it; bind it to a driver of DPDK: `dpdk-devbind.py --bind=vfio-pci 0000:41:00.0`");
}

TEST_F(ClosedDevice, MayHaveADriverOfTheKernel) {
  bind("e1000e");
  EXPECT_EQ(why(),
            "the kernel's driver e1000e has it; bind it to a driver of DPDK: `dpdk-devbind.py --bind=vfio-pci "
            "0000:41:00.0`");
}

TEST_F(ClosedDevice, MayBeBoundAndStillRefuse) {
  bind("vfio-pci");
  EXPECT_EQ(why(), "it is bound to vfio-pci; the engine's log has DPDK's reason");
}

}  // namespace
}  // namespace natxy
