// SPDX-License-Identifier: Apache-2.0
#include "rpc/json_rpc.hpp"

#include <new>

#include "port/port.hpp"

namespace natxy {

RpcError no_method(const std::string& method) { return {kMethodNotFound, "unknown method " + method}; }

void JsonRpc::handle(const std::string& line, const Dispatch& dispatch) {
  const Json request = Json::parse(line, nullptr, false);
  if (request.is_discarded()) {
    reply_error(nullptr, kParseError, "the line is not valid JSON", nullptr);
    return;
  }
  const Json id = request.is_object() && request.contains("id") ? request["id"] : Json();
  std::string method;
  Json params = Json::object();
  try {
    FieldReader reader(request, "");
    static_cast<void>(reader.find("id"));
    if (reader.text("jsonrpc") != "2.0") throw FieldError("jsonrpc", "expected 2.0");
    method = reader.text("method");
    if (const Json* given = reader.find("params")) params = *given;
    reader.finish();
  } catch (const FieldError& error) {
    reply_error(id, kInvalidRequest, error.what(), {{"field", error.field()}});
    return;
  }
  try {
    Json result = dispatch(method, params);
    if (!id.is_null()) channel_.write({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
  } catch (const FieldError& error) {
    reply_error(id, kInvalidParams, error.what(), {{"field", error.field()}});
  } catch (const RpcError& error) {
    reply_error(id, error.code(), error.what(), nullptr);
  } catch (const PortError& error) {
    reply_error(id, kPortError, error.what(), nullptr);
  } catch (const std::bad_alloc&) {
    reply_error(id, kResource, "not enough memory for this request; request fewer connections or frames", nullptr);
  } catch (const std::exception& error) {
    reply_error(id, kInternalError, error.what(), nullptr);
  }
}

void JsonRpc::log(const char* level, const std::string& text) {
  channel_.write({{"jsonrpc", "2.0"}, {"method", "log"}, {"params", {{"level", level}, {"text", text}}}});
}

void JsonRpc::reply_error(const Json& id, int code, const std::string& text, const Json& data) {
  Json error = {{"code", code}, {"message", text}};
  if (!data.is_null()) error["data"] = data;
  channel_.write({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}

}  // namespace natxy
