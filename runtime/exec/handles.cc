#include "runtime/exec/handles.h"

#include <algorithm>
#include <charconv>
#include <random>

namespace krt {
namespace {

std::uint64_t random_nonzero() {
  std::random_device device;
  const std::uint64_t high = device();
  return (high << 32U) | device() | 1U;
}

// What a value keeps allocated, near enough for a limit.
std::size_t bytes_of(const Value& value) {
  if (const Tensor* t = value.get_if<Tensor>()) return t->bytes();
  if (const auto* s = value.get_if<std::string>()) return s->size();
  std::size_t total = 0;
  if (const List* list = value.get_if<List>())
    for (const Value& v : *list) total += sizeof v + bytes_of(v);
  if (const Dict* dict = value.get_if<Dict>())
    for (const auto& member : *dict) total += sizeof member + member.first.size() + bytes_of(member.second);
  return total;
}

void append_hex(std::string& out, std::uint64_t x) {
  char buffer[16];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x, 16).ptr;
  out.append(buffer, end);
}

}  // namespace

HandleTable::HandleTable(std::size_t max_count, std::size_t max_bytes)
    : runtime_(random_nonzero()), max_count_(max_count), max_bytes_(max_bytes) {}

Result<Handle> HandleTable::put(Value value, std::string name) {
  const std::size_t bytes = bytes_of(value);
  const std::lock_guard lock(mutex_);
  if (held_.size() >= max_count_)
    return Status(Reason::kResourceExhausted,
                  "the runtime holds " + std::to_string(held_.size()) + " handles, its limit; free some");
  if (bytes > max_bytes_ - bytes_)
    return Status(Reason::kResourceExhausted, "a value of " + std::to_string(bytes) +
                                                  " bytes is over what is left of the " + std::to_string(max_bytes_) +
                                                  " bytes for handles; free some");
  const Handle handle{runtime_, next_id_++};
  bytes_ += bytes;
  held_.emplace(handle.id, Held{std::make_shared<const Value>(std::move(value)), std::move(name), bytes});
  return handle;
}

Status HandleTable::unknown(Handle handle) const {
  const bool foreign = handle.runtime != runtime_;
  return {Reason::kHandleNotFound, "handle " + handle_text(handle) +
                                       (foreign                                  ? " belongs to another runtime"
                                        : handle.id < next_id_ && handle.id != 0 ? " was freed"
                                                                                 : " was never given out")};
}

Result<std::shared_ptr<const Value>> HandleTable::get(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const auto it = handle.runtime == runtime_ ? held_.find(handle.id) : held_.end();
  if (it == held_.end()) return unknown(handle);
  return it->second.value;
}

Status HandleTable::free(Handle handle) {
  std::shared_ptr<const Value> last;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto it = handle.runtime == runtime_ ? held_.find(handle.id) : held_.end();
  if (it == held_.end()) return unknown(handle);
  bytes_ -= it->second.bytes;
  last = std::move(it->second.value);
  held_.erase(it);
  return {};
}

std::vector<HandleTable::Entry> HandleTable::list() const {
  std::vector<Entry> out;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, held] : held_) out.push_back({{runtime_, id}, held.name, type_text(*held.value), held.bytes});
  }
  std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.handle.id < b.handle.id; });
  return out;
}

std::string handle_text(Handle handle) {
  std::string out = "h-";
  append_hex(out, handle.runtime);
  out += '-';
  append_hex(out, handle.id);
  return out;
}

Result<Handle> parse_handle(std::string_view text) {
  Handle handle;
  const char* const end = text.data() + text.size();
  if (text.starts_with("h-")) {
    const auto [dash, first] = std::from_chars(text.data() + 2, end, handle.runtime, 16);
    if (first == std::errc() && dash != end && *dash == '-') {
      const auto [rest, second] = std::from_chars(dash + 1, end, handle.id, 16);
      if (second == std::errc() && rest == end) return handle;
    }
  }
  return invalid(quoted(text) + " is no handle; one reads 'h-<hex>-<hex>'");
}

}  // namespace krt
