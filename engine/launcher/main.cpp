// SPDX-License-Identifier: Apache-2.0
// Starts the build of a program that is for the newest instruction set of this CPU. A package installs this launcher
// under the program's name, such as natxy-engine, and beside it the builds natxy-engine.x86-64-v2, …-v3 and …-v4.
// `--isa NAME` as the first argument chooses a build instead. Nothing but the choice is different from a direct start:
// the build replaces the launcher in its process.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kUsageError = 2;
constexpr int kNotStarted = 127;  // as a shell says it

struct Isa {
  std::string_view name;
  bool usable;
};

/// Returns the instruction sets for which there are builds, the newest first. Only extensions that compilers can ask
/// for are checked; no CPU has these without the rest of its level.
std::array<Isa, 3> isas() {
  const bool v2 = __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("popcnt") != 0;
  const bool v3 = v2 && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
                  __builtin_cpu_supports("fma") != 0;
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                  __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                  __builtin_cpu_supports("avx512vl") != 0;
  return {{{"x86-64-v4", v4}, {"x86-64-v3", v3}, {"x86-64-v2", v2}}};
}

}  // namespace

int main(int argc, char** argv) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto known = isas();
  const auto* chosen = std::ranges::find(known, true, &Isa::usable);
  int first = 1;
  if (argc > 1 && std::string_view(argv[1]) == "--isa") {
    chosen = argc > 2 ? std::ranges::find(known, std::string_view(argv[2]), &Isa::name) : known.end();
    first = 3;
  }
  if (chosen == known.end() || !chosen->usable) {
    std::string names;
    for (const Isa& isa : known) names += isa.usable ? fmt::format(" {}", isa.name) : "";
    fmt::print(stderr, "{}: {}; this CPU can run:{}\n", self.filename().string(),
               first == 1 ? "there is no build for this CPU" : "--isa expects the name of an instruction set",
               names.empty() ? " none of x86-64-v2, x86-64-v3, x86-64-v4" : names);
    return kUsageError;
  }
  std::vector<char*> arguments{argv[0]};
  arguments.insert(arguments.end(), argv + std::min(first, argc), argv + argc);
  arguments.push_back(nullptr);
  const std::string build = self.string() + "." + std::string(chosen->name);
  execv(build.c_str(), arguments.data());
  fmt::print(stderr, "{}: cannot start {}: {}\n", self.filename().string(), build, std::strerror(errno));
  return kNotStarted;
}
