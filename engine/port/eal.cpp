// SPDX-License-Identifier: Apache-2.0
#include "port/eal.hpp"

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace natxy {

namespace {

/// The minimum of free hugepage memory. Two ports with one queue each need about 80 MiB of buffers.
constexpr unsigned long kEnough_kB = 256UL * 1024;

/// Returns whether enough hugepages are free. DPDK then takes the memory it needs from them.
bool hugepages_free() {
  unsigned long free_kB = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", ignored)) {
    std::ifstream file(entry.path() / "free_hugepages");
    unsigned long pages = 0;
    const std::string name = entry.path().filename().string();  // hugepages-2048kB
    const auto dash = name.find('-');
    if (file >> pages && dash != std::string::npos) free_kB += pages * std::stoul(name.substr(dash + 1));
  }
  return free_kB >= kEnough_kB;
}

}  // namespace

Eal::Eal(const EalOptions& options)
    : hugepages_{hugepages_free()},
      workers_apart_{std::ranges::find(options.worker_cores, options.main_core) == options.worker_cores.end()} {
  // Lcore 0 is the main one; worker i is lcore i + 1, pinned to its CPU.
  std::string lcores = "0@" + std::to_string(options.main_core);
  for (std::size_t i = 0; i < options.worker_cores.size(); ++i) {
    const auto id = static_cast<unsigned>(i) + 1;
    lcores += fmt::format(",{}@{}", id, options.worker_cores[i]);
    workers_.push_back(id);
  }
  std::vector<std::string> arguments = {"natxy-engine",   "--lcores",    lcores,        "--main-lcore", "0",
                                        "--no-telemetry", "--no-shconf", "--log-level", "*:warning"};
  if (options.pci.empty()) arguments.emplace_back("--no-pci");
  for (const std::string& address : options.pci) arguments.insert(arguments.end(), {"--allow", address});
  if (hugepages_) {
    arguments.emplace_back("--in-memory");
  } else {
    arguments.emplace_back("--no-huge");
    arguments.emplace_back("-m");
    arguments.emplace_back("2048");  // MiB; the kernel provides pages only as they are used
  }
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());

  std::vector<char*> argv;
  argv.reserve(arguments.size());
  for (auto& argument : arguments) argv.push_back(argument.data());
  // Standard output carries messages, so DPDK logs to standard error.
  rte_openlog_stream(stderr);
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    throw std::runtime_error(std::string{"DPDK cannot start: "} + rte_strerror(rte_errno));
  }
}

}  // namespace natxy
