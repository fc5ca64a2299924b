// SPDX-License-Identifier: Apache-2.0
#include "rpc/line_channel.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace natxy {

namespace {
constexpr int kPatience_ms = 5000;
}

std::optional<std::string> LineChannel::take_line() {
  const auto end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::optional<std::string> LineChannel::read_line(int timeout_ms) {
  if (auto line = take_line()) return line;
  pollfd watched{input_, POLLIN, 0};
  if (closed_ || ::poll(&watched, 1, timeout_ms) <= 0) return std::nullopt;
  std::array<char, 65536> chunk;
  const ssize_t count = ::read(input_, chunk.data(), chunk.size());
  if (count > 0) {
    buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    closed_ = true;
  }
  return take_line();
}

void LineChannel::write(const Json& message) {
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t written = 0; written < line.size() && !closed_;) {
    pollfd watched{output_, POLLOUT, 0};
    if (::poll(&watched, 1, kPatience_ms) == 0) {
      closed_ = true;
      return;
    }
    const ssize_t count = ::write(output_, line.data() + written, line.size() - written);
    if (count < 0 && errno != EINTR) {
      closed_ = true;
      return;
    }
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

}  // namespace natxy
