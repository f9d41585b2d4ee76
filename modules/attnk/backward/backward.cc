#include "modules/attnk/backward/backward.h"

#include <algorithm>
#include <cmath>

#include "modules/attnk/contract/args.h"
#include "modules/attnk/contract/contract.h"
#include "modules/attnk/sdpa/agreement.h"
#include "modules/attnk/sdpa/sdpa.h"

namespace krt::attnk {
namespace {

// One query row: adds its terms to the gradients of its head's keys and values, and writes its own.
struct RowGradient {
  const Problem& p;
  Rows k, v;
  double *dk, *dv;                    // of key 0 of the head; rows lie as those of k and v
  std::vector<double> probs, dprobs;  // scratch

  void add(const double* q, const double* dout, double* dq) {
    score_row(q, k, p.dim(), p.scale, nullptr, probs);
    softmax_row(probs);
    double mean = 0;
    for (std::size_t j = 0; j < probs.size(); ++j) {
      if (probs[j] == 0) continue;
      dprobs[j] = dot(dout, v[j], p.dim());
      mean += probs[j] * dprobs[j];
    }
    for (std::size_t j = 0; j < probs.size(); ++j)
      if (probs[j] != 0) add_key(j, probs[j], probs[j] * (dprobs[j] - mean), q, dout, dq);
    for (std::size_t c = 0; c < p.dim(); ++c) dq[c] *= p.scale;
  }

 private:
  void add_key(std::size_t j, double prob, double dscore, const double* q, const double* dout, double* dq) {
    double *dk_row = dk + j * k.stride, *dv_row = dv + j * v.stride;
    for (std::size_t c = 0; c < p.dim(); ++c) {
      dq[c] += dscore * k[j][c];
      dk_row[c] += p.scale * dscore * q[c];
      dv_row[c] += prob * dout[c];
    }
  }
};

// The loss of the gradient check, head by head, so that a perturbed element costs only the rows that see it.
class Loss {
 public:
  Loss(const Problem& p, std::span<const double> weights) : p_(p), weights_(weights), probs_(p.keys()), out_(p.dim()) {}

  double of_row(std::span<const double> q, std::span<const double> k, std::span<const double> v, std::size_t head,
                std::size_t token) {
    const std::size_t kv_head = head / p_.group();
    score_row(p_.query_rows(q, head)[token], p_.key_rows(k, kv_head), p_.dim(), p_.scale, nullptr, probs_);
    softmax_row(probs_);
    weigh_row(probs_, p_.key_rows(v, kv_head), p_.dim(), out_.data());
    return dot(p_.query_rows(weights_, head)[token], out_.data(), p_.dim());
  }
  double of_kv_head(std::span<const double> q, std::span<const double> k, std::span<const double> v,
                    std::size_t kv_head) {
    double sum = 0;
    for (std::size_t head = kv_head * p_.group(); head < (kv_head + 1) * p_.group(); ++head)
      for (std::size_t token = 0; token < p_.queries(); ++token) sum += of_row(q, k, v, head, token);
    return sum;
  }

 private:
  const Problem& p_;
  std::span<const double> weights_;
  std::vector<double> probs_, out_;
};

// Compares every gradient of one input with central differences of loss(i), the loss that sees element i of `x`.
template <class LossOf>
void compare(std::vector<double>& x, std::span<const double> gradient, double step, double tolerance,
             const LossOf& loss, Agreement& agreement) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i], above = kept + step, below = kept - step;
    x[i] = above;
    const double high = loss(i);
    x[i] = below;
    const double low = loss(i);
    x[i] = kept;
    agreement.add(gradient[i], (high - low) / (above - below), tolerance);
  }
}

double gradcheck_tolerance(const Problem& p, double step, double weight, double max_q, double max_k, double max_v) {
  const auto n = static_cast<double>(p.n_tok_k), d = static_cast<double>(p.d);
  const double losses = static_cast<double>(p.queries() * p.group()) * d * weight * max_v;
  const double slope = p.scale * std::max(max_q, max_k);
  const double truncation = 11 * step * step * slope * slope * slope;
  const double roundings = 2 * n + 16 + (d + 4) * p.scale * d * max_q * max_k;
  return losses * (truncation + roundings * std::numeric_limits<double>::epsilon() / step);
}

}  // namespace

SdpaGrad sdpa_bwd_flat(Context& context, std::span<const double> dout, std::span<const double> q,
                       std::span<const double> k, std::span<const double> v, std::int64_t n_tok_q, std::int64_t n_tok_k,
                       std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale) {
  const Problem p{n_tok_q, n_tok_k, h_q, h_kv, d, scale};
  std::int64_t status = p.check(q, k, v);
  if (status == kOk && dout.size() != q.size()) status = kDoutLengthMismatch;
  if (status != kOk) return {{}, {}, {}, 0, 0, status};

  std::vector<double> dq(q.size()), dk(k.size()), dv(v.size());
  context.arena.parallel(p.kv_heads(), [&](std::size_t kv_head) {
    RowGradient gradient{p,
                         p.key_rows(k, kv_head),
                         p.key_rows(v, kv_head),
                         &dk[kv_head * p.dim()],
                         &dv[kv_head * p.dim()],
                         std::vector<double>(p.keys()),
                         std::vector<double>(p.keys())};
    for (std::size_t head = kv_head * p.group(); head < (kv_head + 1) * p.group(); ++head)
      for (std::size_t token = 0; token < p.queries(); ++token) {
        context.checkpoint();
        gradient.add(p.query_rows(q, head)[token], p.query_rows(dout, head)[token],
                     &dq[(token * p.heads() + head) * p.dim()]);
      }
  });
  return {std::move(dq), std::move(dk), std::move(dv), n_tok_q, n_tok_k, kOk};
}

BwdAgreement attn_bwd_gradcheck_flat(Context& context, std::span<const double> q, std::span<const double> k,
                                     std::span<const double> v, std::int64_t n_tok_q, std::int64_t n_tok_k,
                                     std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale, double step) {
  const Problem p{n_tok_q, n_tok_k, h_q, h_kv, d, scale};
  std::int64_t status = p.check(q, k, v);
  if (status == kOk && !(attn_scalars_ok(step) && step > 0)) status = kParameterInvalid;
  if (status == kOk && product({n_tok_q, n_tok_k, h_q, d, d + 2 * n_tok_k}) > kMaxWork) status = kTooLarge;
  if (status != kOk) return {0, 0, false, 0, status};

  std::vector<double> weights(q.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1 + static_cast<double>(i % 5) / 4;
  const SdpaGrad gradient = sdpa_bwd_flat(context, weights, q, k, v, n_tok_q, n_tok_k, h_q, h_kv, d, scale);

  std::vector<double> xq(q.begin(), q.end()), xk(k.begin(), k.end()), xv(v.begin(), v.end());
  const double tolerance =
      gradcheck_tolerance(p, step, 2, magnitude(q) + step, magnitude(k) + step, magnitude(v) + step);
  Loss loss(p, weights);
  Agreement agreement;
  const auto of_key = [&](std::size_t i) {
    context.checkpoint();
    return loss.of_kv_head(xq, xk, xv, i / p.dim() % p.kv_heads());
  };
  compare(
      xq, gradient.dq, step, tolerance,
      [&](std::size_t i) {
        context.checkpoint();
        const std::size_t row = i / p.dim();
        return loss.of_row(xq, xk, xv, row % p.heads(), row / p.heads());
      },
      agreement);
  compare(xk, gradient.dk, step, tolerance, of_key, agreement);
  compare(xv, gradient.dv, step, tolerance, of_key, agreement);
  return {agreement.max_delta, agreement.tolerance_at_max, agreement.within, agreement.compared, kOk};
}

void register_backward(Registry& registry) {
  ModuleBuilder m(registry, "attnk.backward", "Gradients of scaled dot product attention in f64, and their check");
  m.function<sdpa_bwd_flat>("sdpa_bwd_flat", "The gradients of sdpa_forward_flat without a bias",
                            {{"dout", "gradient of the output, [n_tok_q][h_q][d]"},
                             args::kQ,
                             args::kK,
                             args::kV,
                             args::kTokQ,
                             args::kTokK,
                             args::kHeadsQ,
                             args::kHeadsKv,
                             args::kDim,
                             args::kScale})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,1],[1,0],[1,0,0,1],[1,2,3,4],1,2,1,1,2,0.7]");
  m.function<attn_bwd_gradcheck_flat>("attn_bwd_gradcheck_flat", "How far sdpa_bwd_flat is from central differences",
                                      {args::kQ,
                                       args::kK,
                                       args::kV,
                                       args::kTokQ,
                                       args::kTokK,
                                       args::kHeadsQ,
                                       args::kHeadsKv,
                                       args::kDim,
                                       args::kScale,
                                       {"step", "of the differences, finite and above 0"}})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],1,2,1,1,2,0.7,1e-5]");
}

}  // namespace krt::attnk
