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

/// Free hugepages of any size; DPDK takes what it needs of them.
bool hugepages_free() {
  std::error_code ignored;
  for (const auto& size : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", ignored)) {
    std::ifstream file(size.path() / "free_hugepages");
    unsigned long free = 0;
    if (file >> free && free >= 64) return true;
  }
  return false;
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
  if (!options.pci) arguments.emplace_back("--no-pci");
  if (hugepages_) {
    arguments.emplace_back("--in-memory");
  } else {
    arguments.emplace_back("--no-huge");
    arguments.emplace_back("-m");
    arguments.emplace_back("512");
  }
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());

  std::vector<char*> argv;
  argv.reserve(arguments.size());
  for (auto& argument : arguments) argv.push_back(argument.data());
  // Standard output carries messages; DPDK's words go where people look for errors.
  rte_openlog_stream(stderr);
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    throw std::runtime_error(std::string{"DPDK cannot start: "} + rte_strerror(rte_errno));
  }
}

Eal::~Eal() { rte_eal_cleanup(); }

}  // namespace natxy
