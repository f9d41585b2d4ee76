#include "server/worker/dialogue.h"

#include <algorithm>

#include "runtime/codec/json.h"
#include "server/worker/base64.h"
#include "server/worker/frame.h"

namespace krt::worker {
namespace {

constexpr std::string_view kPackedBytes = "@u8:";

std::string to_text(const Value& value) { return to_json(value, NonFinite::kTokens); }

constexpr std::size_t kLargestReply = kMaxFrame - 256;  // the counts of a batch go into the rest

// Refuses what does not fit in a frame beside `used` bytes of others.
Result<std::string> to_text_within_frame(const Value& value, std::size_t used = 0) {
  Result<std::string> text = to_json_within(std::max(used, kLargestReply) - used, value, NonFinite::kTokens);
  if (text.ok()) return text;
  return Status(text.status().reason(),
                "the reply would be over the limit of " + std::to_string(kMaxFrame) + " bytes for a frame");
}

Dict error_reply(const Status& status) {
  return {{"error", status.message()}, {"error_code", name_of(status.reason())}, {"error_message", status.message()}};
}

Result<std::string_view> text_member(const Value& request, std::string_view name) {
  const auto* text = request[name].get_if<std::string>();
  if (text == nullptr) return invalid("member " + quoted(name) + " of the request must be a string");
  return std::string_view(*text);
}

// "@u8:<base64>" where the function takes a list is a list of the bytes.
Status unpack(const FunctionInfo& info, List& args) {
  for (std::size_t i = 0; i < args.size() && i < info.params.size(); ++i) {
    const auto* text = args[i].get_if<std::string>();
    if (text == nullptr || !info.params[i].is_list || !text->starts_with(kPackedBytes)) continue;
    std::optional<std::vector<double>> bytes = base64_numbers(std::string_view(*text).substr(kPackedBytes.size()));
    if (!bytes)
      return invalid(info.full_name() + ": argument " + quoted(info.params[i].name) + " is no base64 behind '@u8:'");
    args[i] = std::move(*bytes);
  }
  return {};
}

// A struct as the client decodes it: named, its fields in declared order.
Value in_envelope(const FunctionInfo& info, Value result) {
  auto* dict = result.get_if<Dict>();
  if (info.result_struct.empty() || dict == nullptr) return result;
  List fields;
  for (auto& [name, value] : *dict) fields.push_back(std::move(value));
  return Dict{{"__algenta_struct", info.result_struct}, {"v", std::move(fields)}};
}

Result<Dict> execute(Runtime& runtime, const Value& request) {
  Result<std::string_view> module = text_member(request, "module");
  if (!module.ok()) return module.status();
  Result<std::string_view> function = text_member(request, "function");
  if (!function.ok()) return function.status();
  Result<const FunctionInfo*> info = runtime.registry().lookup(*module, *function);
  if (!info.ok()) return info.status();
  Value args = request["args"];
  if (auto* list = args.get_if<List>())
    if (Status bad = unpack(**info, *list); !bad.ok()) return bad;
  CallOptions options;
  options.arguments_by_value = true;
  ExecuteResult r = runtime.execute(*module, *function, args, options);
  if (!r.success()) return r.error;
  Dict reply{{"result", in_envelope(**info, std::move(r.result))}};
  if (!r.mutated.empty()) reply.emplace_back("mutated_args", std::move(r.mutated));
  return reply;
}

Result<std::string> reply_text(const Result<Dict>& reply, std::size_t used = 0) {
  return reply.ok() ? to_text_within_frame(*reply, used) : reply.status();
}

// Results in order, each written before the next one is computed: so their memory is bounded. With partial_ok false the
// first failure is the last result.
Result<std::string> execute_batch(Runtime& runtime, const Value& request) {
  const auto* partial_ok = request["partial_ok"].get_if<bool>();
  const auto* requests = request["requests"].get_if<List>();
  if (requests == nullptr) return invalid("member 'requests' of the request must be a list of requests");
  std::string text = R"({"results":[)";
  std::int64_t count = 0, failed = 0;
  bool stopped = false;
  for (const Value& one : *requests) {
    if (count != 0) text += ',';
    Result<std::string> result = reply_text(execute(runtime, one), text.size());
    if (!result.ok()) {
      ++failed;
      Dict error = error_reply(result.status());
      error.emplace_back("op_index", count);
      result = to_text_within_frame(error, text.size());
      stopped = partial_ok != nullptr && !*partial_ok;
    }
    if (!result.ok()) return result;
    text += *result;
    ++count;
    if (stopped) break;
  }
  const Dict counts{{"count", count}, {"ok", count - failed}, {"failed", failed}, {"stopped_early", stopped}};
  return text + "]," + to_text(counts).substr(1);
}

Result<std::string> dispatch(Runtime& runtime, const Value& request, bool& shutdown) {
  Result<std::string_view> type = text_member(request, "type");
  if (!type.ok()) return type.status();
  if (*type == "library_execute") return reply_text(execute(runtime, request));
  if (*type == "batch_execute") return execute_batch(runtime, request);
  if (*type == "ping") return to_text(Dict{{"status", "ok"}});
  shutdown = *type == "shutdown";
  if (shutdown) return to_text(Dict{{"status", "bye"}});
  return invalid("unknown request type " + quoted(*type) +
                 "; the worker serves library_execute, batch_execute, ping and shutdown");
}

}  // namespace

std::string ready_message() { return to_text(Dict{{"status", "ready"}}); }

std::string error_message(const Status& status) { return to_text(error_reply(status)); }

Reply answer(Runtime& runtime, std::string_view request) {
  Result<Value> parsed = parse_json_message(request);
  if (!parsed.ok()) return {error_message(parsed.status())};
  Reply reply;
  Result<std::string> result = dispatch(runtime, *parsed, reply.shutdown);
  reply.json = result.ok() ? std::move(*result) : error_message(result.status());
  return reply;
}

}  // namespace krt::worker
