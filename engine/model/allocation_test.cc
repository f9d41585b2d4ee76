// A decode step of the fast loop allocates nothing: this program counts what operator new is asked for.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/model/generation.h"
#include "engine/model/tiny_model.h"
#include "runtime/testing/test_context.h"

namespace {
std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  // aligned_alloc wants whole multiples of the alignment.
  void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment + alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

// Not inlined: g++ would see free() of what came from operator new, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace krt::engine {
namespace {

using krt::testing::TestContext;
using testing::TinyModel;

TEST(Allocation, TheCounterCounts) {
  const std::int64_t before = allocations;
  const auto one = std::make_unique<int>(1);
  EXPECT_GT(allocations, before);
}

// Sampling with every filter that keeps its memory, greedy choice, and windows: 300 tokens, past a block of keys.
TEST(Allocation, ADecodeStepAllocatesNothing) {
  for (const char* name : {"model/llama_gqa.gguf", "model/qwen2_bias_tied.gguf", "model/gemma3_window.gguf"})
    for (const double temperature : {0.0, 0.8}) {
      TestContext context;
      const TinyModel file(name);
      const auto model = load_fast(context, file.open().value()).value();
      Generation g(*model, model->start(context, {.capacity = 320}).value(),
                   {.max_tokens = 300, .sampling = {.temperature = temperature, .top_k = 20, .top_p = 0.9}});
      ASSERT_TRUE(g.prefill(context, std::vector<std::int64_t>{1, 2, 3}).ok());
      // The first token sizes what sampling keeps.
      ASSERT_TRUE(g.next(context).ok());
      const std::int64_t before = allocations;
      while (g.next(context).value()) {
      }
      EXPECT_EQ(allocations - before, 0) << name << " at temperature " << temperature;
      EXPECT_EQ(g.ids().size(), 303U);
    }
}

}  // namespace
}  // namespace krt::engine
