#include "runtime/registry/floats.h"

#include <gtest/gtest.h>

#include "runtime/core/half.h"
#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"

namespace krt {
namespace {

// y += 1 / 4096, which f16 holds beside 0.25 but not beside 1; answers the sum of x.
struct BumpResult {
  double sum;
  bool overlapping;
  static constexpr std::array kFields{"sum", "overlapping"};
};
BumpResult bump(const FloatsInPlace& y, const Floats& x) {
  BumpResult r{0, overlap(y.memory(), x.memory())};
  for (const float v : x.values()) r.sum += static_cast<double>(v);
  for (float& v : y.values()) v += 0x1p-12F;
  y.store();
  return r;
}

Registry registry() {
  Registry r;
  ModuleBuilder m(r, "test", "A module of the binding tests");
  m.function<bump>("bump", "Adds a little to y", {{"y", "changed"}, {"x", "read"}}).example("[[1],[2]]");
  EXPECT_TRUE(r.freeze().ok());
  return r;
}

struct Fixture {
  Runtime runtime{registry(), {.threads = 1}};
  ExecuteResult call(Value y, Value x, bool by_value = false) {
    CallOptions options;
    options.arguments_by_value = by_value;
    return runtime.execute("test", "bump", List{std::move(y), std::move(x)}, options);
  }
};

double sum_of(const ExecuteResult& r) { return *r.result["sum"].get_if<double>(); }

TEST(Floats, ReadsEveryFloatTypeAndNumbers) {
  Fixture f;
  std::vector<float> y{1};
  const std::vector<float> f32{1.5F, 2.25F};
  const std::vector<F16> f16{to_f16(1.5F), to_f16(2.25F)};
  const std::vector<BF16> bf16{to_bf16(1.5F), to_bf16(2.25F)};
  const Value rows[] = {Tensor::borrow(std::span(f32)), Tensor::borrow(std::span(f16)), Tensor::borrow(std::span(bf16)),
                        std::vector<double>{1.5, 2.25}, List{1.5, 2.25}};
  for (const Value& x : rows) EXPECT_EQ(sum_of(f.call(Tensor::borrow_mutable(std::span(y)), x)), 3.75) << type_text(x);
}

TEST(Floats, ChangesTheCallersMemoryInItsOwnType) {
  Fixture f;
  std::vector<float> f32{1};
  std::vector<F16> f16{to_f16(1), to_f16(0.25F)};
  std::vector<BF16> bf16{to_bf16(1), to_bf16(0x1p-12F)};
  const Value x = List{0.0};
  EXPECT_TRUE(f.call(Tensor::borrow_mutable(std::span(f32)), x).success());
  EXPECT_TRUE(f.call(Tensor::borrow_mutable(std::span(f16)), x).success());
  EXPECT_TRUE(f.call(Tensor::borrow_mutable(std::span(bf16)), x).success());
  EXPECT_EQ(f32[0], 1 + 0x1p-12F);
  EXPECT_EQ(to_f32(f16[0]), 1.0F) << "a tie: to even";
  EXPECT_EQ(to_f32(f16[1]), 0.25F + 0x1p-12F);
  EXPECT_EQ(to_f32(bf16[0]), 1.0F);
  EXPECT_EQ(to_f32(bf16[1]), 0x1p-11F);
}

TEST(Floats, ACopiedArgumentComesBack) {
  Fixture f;
  const std::vector<F16> f16{to_f16(0.25F)};
  for (const Value& y : {Value(Tensor::borrow(std::span(f16))), Value(List{0.25}), Value(std::vector<double>{0.25})}) {
    const ExecuteResult r = f.call(y, List{1.0}, true);
    ASSERT_TRUE(r.success()) << r.error.message();
    ASSERT_EQ(r.mutated.size(), 1U);
    const auto& changed = *r.mutated[0].second.get_if<Tensor>();
    const double value = changed.dtype() == DType::kF16 ? to_f32(changed.as<F16>()[0]) : changed.as<float>()[0];
    EXPECT_EQ(value, 0.25 + 0x1p-12) << type_text(y);
  }
  EXPECT_EQ(to_f32(f16[0]), 0.25F) << "read-only memory was left alone";
}

TEST(Floats, OverlapIsSeenThroughTheConversion) {
  Fixture f;
  std::vector<BF16> both{to_bf16(1), to_bf16(2), to_bf16(3)};
  const std::span all(both);
  const auto overlapping = [&](std::span<BF16> y, std::span<const BF16> x) {
    return *f.call(Tensor::borrow_mutable(y), Tensor::borrow(x)).result["overlapping"].get_if<bool>();
  };
  EXPECT_TRUE(overlapping(all, all));
  EXPECT_TRUE(overlapping(all.first(2), all.last(2)));
  EXPECT_FALSE(overlapping(all.first(1), all.last(2))) << "neighbours do not overlap";
}

TEST(Floats, RefusesWhatIsNoFloat) {
  Fixture f;
  std::vector<double> f64{1};
  std::vector<float> f32{1};
  const Value y = Tensor::borrow_mutable(std::span(f32));
  EXPECT_EQ(f.call(y, "text").error.message(), "test.bump: argument 'x' must be float[n], got string");
  EXPECT_FALSE(f.call(Tensor::borrow_mutable(std::span(f64)), List{1.0}).success());
  EXPECT_FALSE(f.call(Tensor::borrow(std::span<const float>(f32)), List{1.0}).success()) << "read-only";
  EXPECT_FALSE(f.call(y, List{1e39}).success()) << "f32 cannot hold it";
}

}  // namespace
}  // namespace krt
