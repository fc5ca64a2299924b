// SPDX-License-Identifier: Apache-2.0
#include "rpc/program.hpp"

#include <fmt/format.h>
#include <getopt.h>
#include <rte_cycles.h>
#include <rte_version.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "pace/tsc.hpp"
#include "port/pci_device.hpp"
#include "version.hpp"

namespace natxy {

namespace {

constexpr int kUsageError = 2;

constexpr const char* kUsage =
    "usage: {} --worker-cores CPU[,CPU...] [--main-core CPU] [--pci ADDRESS]... [--eal ARGUMENT]... [--version]\n"
    "Serves JSON-RPC 2.0 on standard input and output, one message per line; {} describes the methods.\n"
    "  --worker-cores  CPUs that send and receive\n"
    "  --main-core     CPU for everything else (default 0)\n"
    "  --pci           a PCI device that may be opened as a port, e.g. 0000:41:00.0, may be repeated\n"
    "  --eal           an argument for DPDK's EAL, may be repeated\n";

std::atomic<bool> quit = false;

std::vector<unsigned> parse_cores(const std::string& text) {
  std::vector<unsigned> cores;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    unsigned core = 0;
    const auto [next, error] = std::from_chars(at, end, core);
    if (error != std::errc{} || (next < end && *next != ',')) {
      throw std::invalid_argument("expected CPU numbers like 0,2,3; got " + text);
    }
    cores.push_back(core);
    at = next + 1;
  }
  if (cores.empty()) throw std::invalid_argument("expected at least one CPU number");
  return cores;
}

std::string parse_pci_address(const std::string& text) {
  if (!is_pci_address(text)) {
    throw std::invalid_argument("--pci: expected the address of a PCI device, such as 0000:41:00.0; got " + text);
  }
  return text;
}

/// Raises the priority of this process's session. If the kernel groups processes by session (autogroup), a thread's
/// priority counts only within its session, and workers would share their CPUs evenly with the processes of other
/// sessions. A failure is harmless.
void raise_group_priority() {
  if (std::FILE* group = std::fopen("/proc/self/autogroup", "w"); group != nullptr) {
    fmt::print(group, "-20");
    std::fclose(group);
  }
}

double thousandths(double value) { return std::round(value * 1000) / 1000; }

struct Options {
  EalOptions eal;
  bool show_version = false;
};

Options parse_options(int argc, char** argv) {
  static constexpr option names[] = {{"worker-cores", required_argument, nullptr, 'w'},
                                     {"main-core", required_argument, nullptr, 'm'},
                                     {"pci", required_argument, nullptr, 'p'},
                                     {"eal", required_argument, nullptr, 'e'},
                                     {"version", no_argument, nullptr, 'v'},
                                     {nullptr, 0, nullptr, 0}};
  Options options;
  for (int letter = 0; (letter = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (letter) {
      case 'w':
        options.eal.worker_cores = parse_cores(optarg);
        break;
      case 'm':
        options.eal.main_core = parse_cores(optarg).front();
        break;
      case 'p':
        options.eal.pci.push_back(parse_pci_address(optarg));
        break;
      case 'e':
        options.eal.extra.emplace_back(optarg);
        break;
      case 'v':
        options.show_version = true;
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (optind < argc) throw std::invalid_argument(std::string{"unexpected argument "} + argv[optind]);
  if (options.eal.worker_cores.empty() && !options.show_version) {
    throw std::invalid_argument("--worker-cores is missing");
  }
  return options;
}

}  // namespace

Json program_info(const char* name, const Environment& environment) {
  const TscRate& tsc = environment.tsc;
  return {
      {"name", name},
      {"version", kVersion},
      {"protocol", kProtocolVersion},
      {"dpdk", rte_version()},
      {"compiler", kCompiler},
      {"isa", kIsa},
      {"worker_cores", environment.worker_cores},
      {"hugepages", environment.eal.uses_hugepages()},
      {"tsc_hz", tsc.hz},
      {"tsc_error_ppm", thousandths((static_cast<double>(rte_get_tsc_hz()) / static_cast<double>(tsc.hz) - 1) * 1e6)},
      {"tsc_uncertainty_ppm", thousandths(tsc.uncertainty_ppm)}};
}

int run_program(const Program& program, int argc, char** argv) {
  Options options;
  try {
    options = parse_options(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program.name, error.what());
    fmt::print(stderr, kUsage, program.name, program.reference);
    return kUsageError;
  }
  if (options.show_version) {
    fmt::print("{} {} ({}, {})\n", program.name, kVersion, rte_version(), kIsa);
    return 0;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { quit = true; };  // without SA_RESTART, so that a blocked write ends
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  raise_group_priority();
  // Libraries may print to standard output, so messages get a descriptor of their own.
  const int messages = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    if (const auto why = why_tsc_unfit(read_tsc_facts())) throw std::runtime_error(*why);
    const ClockSample before = sample_clocks();
    const Eal eal(options.eal);
    LineChannel channel(STDIN_FILENO, messages);
    program.serve({eal, options.eal.worker_cores, calibrate_tsc(before), channel, quit});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program.name, error.what());
    return 1;
  }
  return 0;
}

}  // namespace natxy
