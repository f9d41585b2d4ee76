#include "modules/attnk/contract/contract.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/registry/module_builder.h"

namespace krt::attnk {
namespace {

constexpr std::array<std::string_view, 4> kBackendNames{"none", "direct", "tiled", "unstable"};

bool any_below_one(std::initializer_list<std::int64_t> dims) { return std::min(dims) < 1; }

double real(std::int64_t n) { return static_cast<double>(n); }

// A product that reached INT64_MAX is larger than any ceiling.
bool fits(std::int64_t p, std::int64_t ceiling) {
  return p <= ceiling && p != std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t p = 1;
  for (const std::int64_t f : factors)
    if (__builtin_mul_overflow(p, f, &p)) return std::numeric_limits<std::int64_t>::max();
  return p;
}

std::int64_t attn_dims_check(std::int64_t n_seq, std::int64_t h_q, std::int64_t h_kv, std::int64_t s_q,
                             std::int64_t s_k, std::int64_t d) {
  const auto dims = {n_seq, h_q, h_kv, s_q, s_k, d};
  if (any_below_one(dims)) return kEmptyDimension;
  if (std::max(dims) > kMaxDim) return kDimensionTooLarge;
  return h_q % h_kv != 0 ? kHeadsNotGrouped : kOk;
}

bool attn_scalars_ok(double scale) { return std::isfinite(scale); }
bool attn_scale_ok(double scale) { return std::isfinite(scale) && scale > 0; }

std::string_view attn_backend_name(std::int64_t code) {
  return code >= 0 && code < std::ssize(kBackendNames) ? kBackendNames[static_cast<std::size_t>(code)] : "unknown";
}

std::string_view attn_status_name(std::int64_t code) { return status_name(kStatuses, code, "attn_code_out_of_range"); }

bool attn_score_bytes_fit(std::int64_t s_q, std::int64_t s_kv, std::int64_t n_workers, std::int64_t ceiling) {
  return !any_below_one({s_q, s_kv, n_workers}) && fits(product({8, s_q, s_kv, n_workers}), ceiling);
}

double attn_ws_bytes_direct(std::int64_t s_q, std::int64_t s_kv, std::int64_t d) {
  if (any_below_one({s_q, s_kv, d})) return 0;
  return 8 * (real(s_q) * real(s_kv) + 2 * real(s_q) * real(d) + 2 * real(s_kv) * real(d));
}

double attn_ws_bytes_tiled(std::int64_t br, std::int64_t bc, std::int64_t d) {
  if (any_below_one({br, bc, d})) return 0;
  return attn_ws_bytes_direct(br, bc, d) + 8 * 2 * real(br);
}

bool attn_work_fits(std::int64_t n_seq, std::int64_t h_q, std::int64_t s, std::int64_t d, std::int64_t ceiling) {
  return !any_below_one({n_seq, h_q, s, d}) && fits(product({n_seq, h_q, s, s, d}), ceiling);
}

bool sequences_ok(std::span<const std::int64_t> cu_seqlens, std::int64_t n_seq) {
  return n_seq >= 1 && std::ssize(cu_seqlens) - 1 == n_seq && cu_seqlens.front() == 0 &&
         std::is_sorted(cu_seqlens.begin(), cu_seqlens.end());
}

double attn_work_cells_varlen(std::span<const std::int64_t> cu_seqlens, std::int64_t n_seq, std::int64_t h_q,
                              std::int64_t d) {
  if (!sequences_ok(cu_seqlens, n_seq) || any_below_one({h_q, d})) return 0;
  double squares = 0;
  for (std::size_t i = 1; i < cu_seqlens.size(); ++i) {
    const double length = real(cu_seqlens[i]) - real(cu_seqlens[i - 1]);
    squares += length * length;
  }
  return squares * real(h_q) * real(d);
}

void register_contract(Registry& registry) {
  ModuleBuilder m(registry, "attnk.contract", "Status vocabulary 360-379, limits and sizes of the attnk family");
  m.function<attn_status_name>("attn_status_name", "The name of a status code of this family",
                               {{"code", "a status; any other number is attn_code_out_of_range"}})
      .example("[363]");
  m.function<attn_backend_name>("attn_backend_name", "The name of the form that computed a result",
                                {{"code", "0 none, 1 direct, 2 tiled, 3 unstable; any other number is unknown"}})
      .example("[2]");
  m.function<attn_dims_check>("attn_dims_check", "The dimension checks of the family, as a status",
                              {{"n_seq", "sequences in the batch, 1 to 2^24"},
                               {"h_q", "query heads, a multiple of h_kv"},
                               {"h_kv", "key-value heads"},
                               {"s_q", "queries a sequence"},
                               {"s_k", "keys a sequence"},
                               {"d", "values a head"}})
      .example("[1,16,8,512,4096,128]");
  m.function<attn_scalars_ok>("attn_scalars_ok", "Whether a scalar is finite", {{"scale", "any number"}})
      .example("[0.125]");
  m.function<attn_scale_ok>("attn_scale_ok", "Whether a scale is finite and above zero", {{"scale", "any number"}})
      .example("[0.125]");
  m.function<attn_score_bytes_fit>(
       "attn_score_bytes_fit", "Whether one f64 score matrix a worker fits a ceiling",
       {{"s_q", "queries"}, {"s_kv", "keys"}, {"n_workers", "score matrices that live at once"}, {"ceiling", "bytes"}})
      .example("[512,4096,2,67108864]");
  m.function<attn_work_fits>("attn_work_fits", "Whether n_seq * h_q * s * s * d cells fit a ceiling",
                             {{"n_seq", "sequences"},
                              {"h_q", "query heads"},
                              {"s", "queries and keys a sequence"},
                              {"d", "values a head"},
                              {"ceiling", "cells"}})
      .example("[1,16,512,128,1000000000]");
  m.function<attn_work_cells_varlen>("attn_work_cells_varlen", "The cells of packed sequences of different lengths",
                                     {{"cu_seqlens", "starts of the sequences and the end of the last, from 0"},
                                      {"n_seq", "sequences: one less than there are entries"},
                                      {"h_q", "query heads"},
                                      {"d", "values a head"}})
      .example("[[0,3,7],2,4,64]");
  m.function<attn_ws_bytes_direct>("attn_ws_bytes_direct", "The working set of one head of the direct form, in bytes",
                                   {{"s_q", "queries"}, {"s_kv", "keys"}, {"d", "values a head"}})
      .example("[512,4096,128]");
  m.function<attn_ws_bytes_tiled>("attn_ws_bytes_tiled", "The working set of one tile of the tiled form, in bytes",
                                  {{"br", "queries a tile"}, {"bc", "keys a tile"}, {"d", "values a head"}})
      .example("[64,64,128]");
}

}  // namespace krt::attnk
