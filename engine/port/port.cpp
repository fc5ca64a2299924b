// SPDX-License-Identifier: Apache-2.0
#include "port/port.hpp"

#include <net/if.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_mbuf_pool_ops.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace natxy {

namespace {

constexpr std::uint16_t kDescriptors = 2048;  // the only ring size that AF_XDP supports
constexpr unsigned kBuffersPerQueue = 16384;  // full rings in both directions, and as many buffers in flight
constexpr unsigned kPoolCache = 256;
constexpr std::string_view kAfXdp = "net_af_xdp";
// In copy mode an AF_XDP socket accepts frames until those in flight to the DUT fill its send buffer. The kernel's
// default of 212992 bytes is full after some 280 frames, long before the DUT's input queue
// (net.core.netdev_max_backlog, 1000): the tester would be slowed down and the DUT would never lose a frame. 8 MiB
// exceed a full ring of long frames.
constexpr int kSendBuffer = 8 << 20;

// Long buffers take more memory and cache, so they are used only if the MTU requires them.
constexpr std::uint16_t kUsualMtu = 1986;
constexpr std::size_t kUsualBuffer = RTE_MBUF_DEFAULT_DATAROOM;
// AF_XDP requires a buffer and its metadata within one page, of which the kernel reserves 256 bytes.
constexpr std::size_t kAfXdpBuffer = 4096 - RTE_CACHE_LINE_SIZE - sizeof(rte_mbuf) - RTE_PKTMBUF_HEADROOM;
constexpr std::size_t kAfXdpUnused = 256;
// The slots of an AF_PACKET ring are whole pages, and DPDK requires buffers that hold a slot.
constexpr std::size_t kLongBuffer = std::size_t{3} * 4096;

[[noreturn]] void fail(const PortOptions& options, const std::string& what, int error) {
  throw PortError("port " + options.device + ": " + what + ": " + rte_strerror(error < 0 ? -error : error));
}

/// Creates a pool as rte_pktmbuf_pool_create does, except that the buffers of a `dense` pool are adjacent. DPDK's
/// AF_XDP driver gives the kernel the memory of exactly that many adjacent buffers. With gaps before page boundaries,
/// the last buffers would lie outside this memory on small pages, and every frame in them would be lost silently. Nor
/// is padding added to spread buffers over memory channels, because the longest AF_XDP buffers fill a page.
rte_mempool* create_pool(const std::string& name, unsigned buffers, std::size_t frame_bytes, int numa, bool dense) {
  const auto room = static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + frame_bytes);
  rte_mempool* pool = rte_mempool_create_empty(name.c_str(), buffers, static_cast<unsigned>(sizeof(rte_mbuf)) + room,
                                               kPoolCache, sizeof(rte_pktmbuf_pool_private), numa,
                                               dense ? RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NO_SPREAD : 0);
  if (pool == nullptr) return nullptr;
  if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr) != 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_pktmbuf_pool_private layout{};
  layout.mbuf_data_room_size = room;
  rte_pktmbuf_pool_init(pool, &layout);
  if (rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

/// Returns the kernel interface of a virtual device, or an empty string if it has none.
std::string interface_of(const std::string& arguments) {
  static constexpr std::string_view kName = "iface=";
  const auto begin = arguments.find(kName);
  if (begin == std::string::npos) return {};
  const auto name = begin + kName.size();
  return arguments.substr(name, arguments.find(',', name) - name);
}

/// Returns whether an interface is up and, unless it is a veth, has carrier. A veth loses carrier when the DUT sets its
/// end down, which is not a fault of the tester.
bool interface_carries(const std::string& interface, Medium medium) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  const bool known = ioctl(socket, SIOCGIFFLAGS, &request) == 0;
  close(socket);
  const int wanted = medium == Medium::veth ? IFF_UP : IFF_UP | IFF_RUNNING;
  return known && (request.ifr_flags & wanted) == wanted;
}

/// Enlarges the send buffers of the packet sockets that are not in `before`. Returns whether the kernel allowed it.
bool enlarge_send_buffers(const std::set<int>& before) {
  const int half = kSendBuffer / 2;  // the kernel doubles it
  return std::ranges::all_of(KernelDrops::open_sockets(), [&](int socket) {
    return before.contains(socket) || setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &half, sizeof half) == 0;
  });
}

bool is_pci_address(const std::string& name) { return name.size() >= 7 && name[name.size() - 2] == '.'; }

}  // namespace

Port::Port(const PortOptions& options) : options_{options} {
  const auto comma = options.device.find(',');
  name_ = options.device.substr(0, comma);
  const std::string arguments = comma == std::string::npos ? "" : options.device.substr(comma + 1);
  interface_ = interface_of(arguments);

  const auto sockets_before = KernelDrops::open_sockets();
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0) {
    const int error = rte_eal_hotplug_add(is_pci_address(name_) ? "pci" : "vdev", name_.c_str(), arguments.c_str());
    if (error != 0) fail(options, "cannot be opened (does the interface exist? is the user root?)", error);
    hotplugged_ = true;
    if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0) fail(options, "is not an Ethernet device", ENODEV);
  }
  try {
    configure();
    if (driver_ == kAfXdp && !enlarge_send_buffers(sockets_before)) fail(options_, "cannot have a send buffer", errno);
  } catch (...) {
    if (hotplugged_) rte_eal_hotplug_remove(is_pci_address(name_) ? "pci" : "vdev", name_.c_str());
    rte_mempool_free(pool_);
    throw;
  }
  kernel_drops_ = KernelDrops(sockets_before);
}

void Port::configure() {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(id_, &info); error != 0)
    fail(options_, "device information is not available", error);
  driver_ = info.driver_name;
  if (options_.queues > info.max_rx_queues || options_.queues > info.max_tx_queues) {
    throw PortError("port " + options_.device + ": queues is " + std::to_string(options_.queues) +
                    ", but the device has only " + std::to_string(std::min(info.max_rx_queues, info.max_tx_queues)) +
                    "; lower `queues` or configure more queues on the device");
  }

  rte_eth_conf configuration{};
  if (options_.queues > 1 && info.flow_type_rss_offloads != 0) {
    configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    configuration.rx_adv_conf.rss_conf.rss_hf = (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP) & info.flow_type_rss_offloads;
  }
  const auto queues = static_cast<std::uint16_t>(options_.queues);
  if (const int error = rte_eth_dev_configure(id_, queues, queues, &configuration); error != 0) {
    fail(options_, "cannot be configured", error);
  }
  // A virtual device has the MTU of its interface, which DPDK does not know.
  if (options_.mtu && is_pci_address(name_)) {
    if (const int error = rte_eth_dev_set_mtu(id_, *options_.mtu); error != 0)
      fail(options_, "cannot set the MTU", error);
  }
  std::uint16_t rx_descriptors = kDescriptors;
  std::uint16_t tx_descriptors = kDescriptors;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors, &tx_descriptors); error != 0) {
    fail(options_, "cannot set the size of the descriptor rings", error);
  }

  // One pool serves both directions, because AF_XDP sends without copying only from the port's own receive pool.
  const std::string pool_name = "port_" + std::to_string(id_);
  const int numa = rte_eth_dev_socket_id(id_);
  if (mtu() <= kUsualMtu) {
    buffer_bytes_ = kUsualBuffer;
  } else {
    buffer_bytes_ = driver_ == kAfXdp ? kAfXdpBuffer : kLongBuffer;
  }
  pool_ = create_pool(pool_name, kBuffersPerQueue * options_.queues, buffer_bytes_, numa, !is_pci_address(name_));
  if (pool_ == nullptr) {
    fail(options_, "no memory for its buffers; lower `queues` or reserve hugepages (vm.nr_hugepages)", rte_errno);
  }

  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    const auto numa_node = static_cast<unsigned>(numa);
    if (const int error = rte_eth_rx_queue_setup(id_, queue, rx_descriptors, numa_node, nullptr, pool_); error != 0) {
      fail(options_, "cannot set up a receive queue", error);
    }
    if (const int error = rte_eth_tx_queue_setup(id_, queue, tx_descriptors, numa_node, nullptr); error != 0) {
      fail(options_, "cannot set up a transmit queue", error);
    }
  }
  if (const int error = rte_eth_dev_start(id_); error != 0) fail(options_, "cannot be started", error);
  // Frames also arrive for a configured `mac` and for multicast groups. Drivers without this mode do not need it.
  static_cast<void>(rte_eth_promiscuous_enable(id_));

  if (options_.mac) {
    mac_ = *options_.mac;
  } else {
    rte_ether_addr address{};
    if (const int error = rte_eth_macaddr_get(id_, &address); error != 0) fail(options_, "has no MAC address", error);
    std::ranges::copy(address.addr_bytes, mac_.begin());
  }
}

Port::~Port() {
  rte_eth_dev_stop(id_);
  if (hotplugged_) {
    rte_eal_hotplug_remove(is_pci_address(name_) ? "pci" : "vdev", name_.c_str());
  } else {
    rte_eth_dev_close(id_);
  }
  rte_mempool_free(pool_);
}

std::uint16_t Port::mtu() const {
  if (options_.mtu) return *options_.mtu;
  std::uint16_t mtu = 0;
  rte_eth_dev_get_mtu(id_, &mtu);
  return mtu;
}

std::size_t Port::longest_frame() const {
  const std::size_t held = driver_ == kAfXdp ? buffer_bytes_ - kAfXdpUnused : buffer_bytes_;
  return mtu() == 0 ? held : std::min(held, mtu() + kEthernetBytes);
}

bool Port::link_up() const {
  // DPDK always reports the links of kernel interfaces as up.
  if (!interface_.empty() && !interface_carries(interface_, options_.medium)) return false;
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

ReceiveDrops Port::drops() const {
  rte_eth_stats stats{};
  rte_eth_stats_get(id_, &stats);
  return {stats.imissed, stats.rx_nombuf, kernel_drops_.count()};
}

bool Port::send(std::uint16_t queue, std::span<const std::uint8_t> frame) const {
  rte_mbuf* buffer = rte_pktmbuf_alloc(pool_);
  if (buffer == nullptr) return false;
  char* data = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(frame.size()));
  if (data != nullptr) {
    std::memcpy(data, frame.data(), frame.size());
    if (transmit(queue, {&buffer, 1}) == 1) return true;
  }
  rte_pktmbuf_free(buffer);
  return false;
}

}  // namespace natxy
