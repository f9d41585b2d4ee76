#pragma once
// For tests: the small models of tests/oracle/model_fixtures.py, as they are or with keys and tensors changed.

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/gguf/writer.h"
#include "engine/model/model.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/temp_dir.h"

namespace krt::engine::testing {

// What to write in the place of a key or tensor of a file; a function that writes nothing leaves it out. A name that
// the file does not have is added.
struct Edits {
  using ByName = std::map<std::string, std::function<void(GgufWriter&)>, std::less<>>;
  ByName keys = {}, tensors = {};
};

class TinyModel {
 public:
  // `file`: of tests/oracle/data.
  explicit TinyModel(const std::string& file, const Edits& edits = {}) : path_(folder_.file("model.gguf")) {
    const std::string text = krt::testing::fixture_bytes(file);
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    const Gguf gguf = Gguf::parse(bytes, file).value();
    GgufWriter out;
    Edits left = edits;
    for (const MetaValue& v : gguf.metadata())
      if (!replace(left.keys, v.key, out)) out.copy(v);
    for (const GgufTensor& t : gguf.tensors())
      if (!replace(left.tensors, t.name, out)) out.tensor(t.name, t.format->info.type, t.dims, t.data);
    for (const auto* more : {&left.keys, &left.tensors})
      for (const auto& [name, write] : *more) write(out);
    const std::vector<std::uint8_t> made = out.finish();
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(made.data()), std::ssize(made));
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Result<std::shared_ptr<const Checkpoint>> open() const { return Checkpoint::open(path_); }

 private:
  static bool replace(Edits::ByName& edits, std::string_view name, GgufWriter& out) {
    const auto found = edits.find(name);
    if (found == edits.end()) return false;
    found->second(out);
    edits.erase(found);
    return true;
  }

  krt::testing::TempDir folder_;
  std::string path_;
};

}  // namespace krt::engine::testing
