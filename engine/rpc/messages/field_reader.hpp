// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace natxy {

using Json = nlohmann::json;

/// Reports a field that is missing, unknown, of the wrong type or out of range. `field` is its path.
class FieldError : public std::runtime_error {
 public:
  FieldError(std::string field, const std::string& what)
      : std::runtime_error(field + ": " + what), field_{std::move(field)} {}
  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::string field_;
};

/// Reads a JSON object field by field. All functions throw FieldError.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string path) : object_{object}, path_{std::move(path)} {
    if (!object.is_object()) throw FieldError(path_, "expected an object");
  }

  [[nodiscard]] std::string path_of(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  /// Returns the field's value, or a null pointer if the field is absent or null.
  const Json* find(const std::string& name) {
    known_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  const Json& get(const std::string& name) {
    const Json* value = find(name);
    if (value == nullptr) throw FieldError(path_of(name), "is missing");
    return *value;
  }

  std::string text(const std::string& name) {
    const Json& value = get(name);
    if (!value.is_string()) throw FieldError(path_of(name), "expected a string");
    return value.get<std::string>();
  }
  bool flag(const std::string& name, bool otherwise) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) throw FieldError(path_of(name), "expected true or false");
    return value->get<bool>();
  }
  std::uint64_t whole(const std::string& name, std::uint64_t least, std::uint64_t most) {
    const Json& value = get(name);
    const bool is_whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (!is_whole || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most) {
      throw FieldError(path_of(name),
                       fmt::format("expected a whole number from {} to {}, got {}", least, most, value.dump()));
    }
    return value.get<std::uint64_t>();
  }
  std::uint64_t whole(const std::string& name, std::uint64_t least, std::uint64_t most, std::uint64_t otherwise) {
    return find(name) == nullptr ? otherwise : whole(name, least, most);
  }
  double number(const std::string& name, double least, double most) {
    const Json& value = get(name);
    if (!value.is_number() || value.get<double>() < least || value.get<double>() > most) {
      throw FieldError(path_of(name),
                       fmt::format("expected a number from {} to {}, got {}", least, most, value.dump()));
    }
    return value.get<double>();
  }
  double number(const std::string& name, double least, double most, double otherwise) {
    return find(name) == nullptr ? otherwise : number(name, least, most);
  }
  const Json& list(const std::string& name) {
    const Json& value = get(name);
    if (!value.is_array()) throw FieldError(path_of(name), "expected a list");
    return value;
  }
  template <class Value>
  Value choice(const std::string& name, const std::vector<std::pair<std::string, Value>>& choices) {
    const std::string word = text(name);
    std::string expected;
    for (const auto& [key, value] : choices) {
      if (key == word) return value;
      expected += (expected.empty() ? "" : ", ") + key;
    }
    throw FieldError(path_of(name), fmt::format("expected one of {}; got {}", expected, word));
  }
  template <class Value>
  Value choice(const std::string& name, const std::vector<std::pair<std::string, Value>>& choices, Value otherwise) {
    return find(name) == nullptr ? otherwise : choice(name, choices);
  }

  /// Checks that the object has no fields besides those read.
  void finish() const {
    for (const auto& [name, value] : object_.items()) {
      if (!known_.contains(name)) throw FieldError(path_of(name), "is not a field of this message");
    }
  }

 private:
  const Json& object_;
  std::string path_;
  std::set<std::string> known_;
};

}  // namespace natxy
