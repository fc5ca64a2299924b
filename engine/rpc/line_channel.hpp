// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "rpc/messages/field_reader.hpp"

namespace natxy {

/// Transfers messages over two file descriptors, one message per line.
class LineChannel {
 public:
  LineChannel(int input, int output) : input_{input}, output_{output} {}

  /// Returns the next line, or nothing if none arrives within `timeout_ms`. Once the other end closes, `closed` is
  /// true.
  std::optional<std::string> read_line(int timeout_ms);
  [[nodiscard]] bool closed() const { return closed_; }

  /// Writes a message. If the other end reads nothing for five seconds, the channel counts as closed.
  void write(const Json& message);

 private:
  std::optional<std::string> take_line();

  int input_;
  int output_;
  std::string buffer_;
  bool closed_ = false;
};

}  // namespace natxy
