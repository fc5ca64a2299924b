// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "rpc/messages/field_reader.hpp"

namespace natxy {

/// Messages over two file descriptors, a line each.
class LineChannel {
 public:
  LineChannel(int input, int output) : input_{input}, output_{output} {}

  /// The next line that came within `timeout_ms`; none otherwise. After the other end has closed, `closed` is true.
  std::optional<std::string> read_line(int timeout_ms);
  [[nodiscard]] bool closed() const { return closed_; }

  /// A reader that takes nothing for some seconds counts as gone.
  void write(const Json& message);

 private:
  std::optional<std::string> take_line();

  int input_;
  int output_;
  std::string buffer_;
  bool closed_ = false;
};

}  // namespace natxy
