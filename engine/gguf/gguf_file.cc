#include <algorithm>
#include <charconv>
#include <set>

#include "engine/gguf/gguf.h"

namespace krt::engine {
namespace {

constexpr std::int64_t kMaxShards = 99999;

// "<stem>-00002-of-00003.gguf" taken apart.
struct ShardName {
  std::string stem;
  std::int64_t number, count;
};

std::optional<std::int64_t> five_digits(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.size() != 5 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<ShardName> shard_name(std::string_view path) {
  constexpr std::size_t kTail = sizeof "-00001-of-00003.gguf" - 1;
  if (path.size() <= kTail || !path.ends_with(".gguf")) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTail);
  const auto number = five_digits(tail.substr(1, 5));
  const auto count = five_digits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count) return std::nullopt;
  return ShardName{std::string(path.substr(0, path.size() - kTail)), *number, *count};
}

std::string shard_path(const ShardName& name, std::int64_t number) {
  char tail[32];
  std::snprintf(tail, sizeof tail, "-%05d-of-%05d.gguf", static_cast<int>(number), static_cast<int>(name.count));
  return name.stem + tail;
}

}  // namespace

Result<GgufFile::Shard> GgufFile::open_shard(const std::string& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  Result<Gguf> gguf = Gguf::parse(file->bytes(), quoted(path));
  if (!gguf.ok()) return gguf.status();
  if (file->damaged()) return invalid(quoted(path) + " shrank while it was read");
  return Shard{path, std::move(file).value(), std::move(gguf).value()};
}

// The shards' own counts and numbers must agree with each other and with the files' names.
Status GgufFile::check_set() const {
  std::int64_t tensors = 0;
  std::set<std::string_view> names;
  for (const Shard& shard : shards_) {
    tensors += std::ssize(shard.gguf.tensors());
    for (const GgufTensor& t : shard.gguf.tensors())
      if (!names.insert(t.name).second)
        return invalid(quoted(shard.path) + ": tensor " + quoted(t.name) + " is in two shards");
  }
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const std::pair<const char*, std::int64_t> wanted[] = {{"split.no", static_cast<std::int64_t>(i)},
                                                           {"split.count", static_cast<std::int64_t>(shards_.size())},
                                                           {"split.tensors.count", tensors}};
    for (const auto& [key, value] : wanted) {
      const Result<std::int64_t> claimed = shards_[i].gguf.integer(key);
      if (!claimed.ok()) return claimed.status();
      if (*claimed != value)
        return invalid(quoted(shards_[i].path) + ": key " + quoted(key) + " is " + std::to_string(*claimed) +
                       ", the set of files says " + std::to_string(value));
    }
  }
  return {};
}

Result<std::shared_ptr<const GgufFile>> GgufFile::open(const std::string& path) {
  auto file = std::make_shared<GgufFile>();
  const std::optional<ShardName> name = shard_name(path);
  Result<Shard> first = open_shard(path);
  if (!first.ok()) return first.status();
  const Result<std::int64_t> split =
      first->gguf.find("split.count") != nullptr ? first->gguf.integer("split.count") : 1;
  if (!split.ok()) return split.status();
  if (*split > 1 && (!name || name->count != *split || *split > kMaxShards))
    return invalid(quoted(path) + ": key 'split.count' is " + std::to_string(*split) +
                   ", but the file is not named as one of that many shards");
  if (*split <= 1) {
    file->shards_.push_back(std::move(first).value());
    return std::shared_ptr<const GgufFile>(std::move(file));
  }
  for (std::int64_t i = 1; i <= *split; ++i) {
    Result<Shard> shard = open_shard(shard_path(*name, i));
    if (!shard.ok()) return shard.status();
    file->shards_.push_back(std::move(shard).value());
  }
  if (Status refused = file->check_set(); !refused.ok()) return refused;
  return std::shared_ptr<const GgufFile>(std::move(file));
}

std::vector<const GgufTensor*> GgufFile::tensors() const {
  std::vector<const GgufTensor*> out;
  for (const Shard& shard : shards_)
    for (const GgufTensor& t : shard.gguf.tensors()) out.push_back(&t);
  return out;
}

const GgufTensor* GgufFile::tensor(std::string_view name) const {
  for (const Shard& shard : shards_)
    if (const GgufTensor* t = shard.gguf.tensor(name)) return t;
  return nullptr;
}

Status GgufFile::intact() const {
  for (const Shard& shard : shards_)
    if (shard.file.damaged()) return invalid(quoted(shard.path) + " shrank while it was in use");
  return {};
}

}  // namespace krt::engine
