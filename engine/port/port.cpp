// SPDX-License-Identifier: Apache-2.0
#include "port/port.hpp"

#include <net/if.h>
#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "port/buffer_pool.hpp"
#include "port/pci_device.hpp"

namespace natxy {

namespace {

constexpr std::uint16_t kDescriptors = 2048;  // the only ring size that AF_XDP supports
constexpr unsigned kBuffersPerQueue = 16384;  // full rings in both directions, and as many buffers in flight
constexpr std::string_view kAfXdp = "net_af_xdp";
constexpr std::string_view kMemif = "net_memif";
constexpr std::string_view kE1000 = "net_e1000_em";
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
// The buffers of these cards are rounded down to a power of two. Other cards cannot have them: vmxnet3 writes lengths
// in 14 bits.
constexpr std::size_t kLongE1000Buffer = std::size_t{4} * 4096;

// The kernel frees the queue of a closed AF_XDP socket only some milliseconds later. A port that finds it busy waits so
// long, and twice as long each time.
constexpr auto kFirstWait = std::chrono::milliseconds(10);
constexpr auto kLongestWait = std::chrono::milliseconds(320);

class QueueError : public PortError {
 public:
  using PortError::PortError;
};

template <class Error = PortError>
[[noreturn]] void fail(const PortOptions& options, const std::string& what, int error) {
  throw Error("port " + options.device + ": " + what + ": " + rte_strerror(error < 0 ? -error : error));
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
  return std::ranges::all_of(PacketSockets::all(), [&](int socket) {
    return before.contains(socket) || setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &half, sizeof half) == 0;
  });
}

std::atomic<unsigned> alarms_served = 0;

void serve_alarm(void*) { ++alarms_served; }

/// Waits until DPDK's interrupt thread has handled all events that are pending now, or for a second: it may be stuck.
void settle_interrupts() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  // The thread may serve a first alarm together with these events and before them, but not a second one.
  for (int alarm = 0; alarm < 2; ++alarm) {
    const unsigned before = alarms_served;
    if (rte_eal_alarm_set(1, serve_alarm, nullptr) != 0) return;
    while (alarms_served == before) {
      if (std::chrono::steady_clock::now() > deadline) return;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

}  // namespace

Port::Port(const PortOptions& options) : options_{options} {
  const auto comma = options.device.find(',');
  name_ = options.device.substr(0, comma);
  is_pci_ = is_pci_address(name_);
  const std::string arguments = comma == std::string::npos ? "" : options.device.substr(comma + 1);
  interface_ = interface_of(arguments);

  for (auto wait = kFirstWait;; wait *= 2) {
    try {
      start(arguments);
      break;
    } catch (const QueueError&) {
      if (driver_ != kAfXdp || wait > kLongestWait) throw;
    }
    std::this_thread::sleep_for(wait);
  }
  if (!options.vlan) return;
  tag_ = VlanTag(*options.vlan);
  vlans_ = std::make_shared<VlanReception>(id_, options.queues);
  number_ = vlans_->add(*tag_);
}

Port::Port(const PortOptions& options, const Port& carrier)
    : options_{options},
      name_{carrier.name_},
      is_pci_{carrier.is_pci_},
      interface_{carrier.interface_},
      id_{carrier.id_},
      pool_{carrier.pool_},
      buffer_bytes_{carrier.buffer_bytes_},
      mac_{options.mac.value_or(carrier.mac_)},
      driver_{carrier.driver_},
      tag_{VlanTag(*options.vlan)},
      vlans_{carrier.vlans_},
      number_{vlans_->add(*tag_)},
      carried_{true} {}

void Port::start(const std::string& arguments) {
  const auto sockets_before = PacketSockets::all();
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0) {
    if (const int error = rte_eal_hotplug_add(bus(), name_.c_str(), arguments.c_str()); error != 0) {
      const std::string why = is_pci_ ? why_pci_device_is_closed(name_) : "does the interface exist? is the user root?";
      fail(options_, "cannot be opened (" + why + ")", error);
    }
    if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0) fail(options_, "is not an Ethernet device", ENODEV);
  }
  try {
    configure();
    if (driver_ == kAfXdp && !enlarge_send_buffers(sockets_before)) fail(options_, "cannot have a send buffer", errno);
  } catch (...) {
    sockets_ = PacketSockets(sockets_before);
    detach();
    throw;
  }
  sockets_ = PacketSockets(sockets_before);
}

void Port::detach() {
  // Also if DPDK attached the device at its start: a device that is only closed could not be opened again.
  rte_eal_hotplug_remove(bus(), name_.c_str());
  sockets_.close_left();
  rte_mempool_free(pool_);
  pool_ = nullptr;
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
    configuration.rx_adv_conf.rss_conf.rss_hf =
        (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP) & info.flow_type_rss_offloads;
  }
  const auto queues = static_cast<std::uint16_t>(options_.queues);
  if (const int error = rte_eth_dev_configure(id_, queues, queues, &configuration); error != 0) {
    fail(options_, "cannot be configured", error);
  }
  // A virtual device has the MTU of its interface, which DPDK does not know.
  if (options_.mtu && is_pci_) {
    if (*options_.mtu > info.max_mtu) {
      throw PortError("port " + options_.device + ": mtu is " + std::to_string(*options_.mtu) +
                      ", but the device's is " + std::to_string(info.max_mtu) +
                      " at most; use shorter frames or another card");
    }
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
  } else if (driver_ == kAfXdp) {
    buffer_bytes_ = kAfXdpBuffer;
  } else {
    buffer_bytes_ = driver_ == kE1000 ? kLongE1000Buffer : kLongBuffer;
  }
  pool_ = create_buffer_pool(pool_name, kBuffersPerQueue * options_.queues, buffer_bytes_, numa, !is_pci_);
  if (pool_ == nullptr) {
    fail(options_, "no memory for its buffers; lower `queues` or reserve hugepages (vm.nr_hugepages)", rte_errno);
  }

  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    const auto numa_node = static_cast<unsigned>(numa);
    if (const int error = rte_eth_rx_queue_setup(id_, queue, rx_descriptors, numa_node, nullptr, pool_); error != 0) {
      fail<QueueError>(options_, "cannot set up a receive queue", error);
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
  if (carried_) return;
  if (vlans_) vlans_->discard();
  rte_eth_dev_stop(id_);
  // If the other end of a memif is a port of this process, DPDK's interrupt thread disconnects it now. The driver does
  // not expect that port to be closed at the same time.
  if (driver_ == kMemif) settle_interrupts();
  detach();
}

std::uint16_t Port::mtu() const {
  if (options_.mtu) return *options_.mtu;
  std::uint16_t mtu = 0;
  rte_eth_dev_get_mtu(id_, &mtu);
  return mtu;
}

std::size_t Port::longest_frame() const {
  const std::size_t unused = (driver_ == kAfXdp ? kAfXdpUnused : 0) + (tag_ ? tag_->bytes() : 0);
  const std::size_t held = buffer_bytes_ - unused;
  // An MTU leaves room for one tag.
  const std::size_t tags = tag_ && tag_->bytes() > kVlanTagBytes ? tag_->bytes() : 0;
  return mtu() == 0 ? held : std::min(held, mtu() + kEthernetBytes - tags);
}

bool Port::link_up() const {
  // DPDK always reports the links of kernel interfaces as up.
  if (!interface_.empty() && !interface_carries(interface_, options_.medium)) return false;
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

ReceiveDrops Port::drops() const {
  if (carried_) return {};
  rte_eth_stats stats{};
  rte_eth_stats_get(id_, &stats);
  return {stats.imissed, stats.rx_nombuf, sockets_.dropped()};
}

bool Port::send(std::uint16_t queue, std::span<const std::uint8_t> frame) const {
  rte_mbuf* buffer = rte_pktmbuf_alloc(pool_);
  if (buffer == nullptr) return false;
  char* data = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(frame.size()));
  if (data != nullptr) {
    std::memcpy(data, frame.data(), frame.size());
    tag({&buffer, 1});
    if (transmit(queue, {&buffer, 1}) == 1) return true;
  }
  rte_pktmbuf_free(buffer);
  return false;
}

}  // namespace natxy
