// llama_peer MODEL read [CACHE] | llama_peer MODEL time [DEPTH...]: llama.cpp's CPU backend, through its public header.
//
// read   as tests/oracle/model_logits.cc: standard input has lines "read N ID ID ...", standard output gets the logits
//        after each of the last N ids, f64 little-endian; CACHE is f16 (default) or f32. The text is one batch.
// time   one line of JSON: seconds to load, tokens/s of a prefill of 512 and of decoding 64 after DEPTH tokens each
//        (default 0), peak memory
//
// Flash attention is on, one sequence, two threads (THREADS in the environment).

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "llama.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "llama_peer: %s\n", what);
  std::exit(1);
}

struct Peer {
  llama_model* model = nullptr;
  llama_context* context = nullptr;

  Peer(const char* path, std::uint32_t capacity, ggml_type cache) {
    llama_model_params of_model = llama_model_default_params();
    of_model.progress_callback = [](float, void*) { return true; };  // else it prints dots
    llama_context_params p = llama_context_default_params();
    // Defaults that a header of another version than the library would not find in these places.
    if (p.n_ubatch != 512 || p.n_seq_max != 1 || p.type_k != GGML_TYPE_F16 || !p.offload_kqv)
      fail("the header does not fit the library");
    model = llama_model_load_from_file(path, of_model);
    if (model == nullptr) fail("no model");
    const char* threads = std::getenv("THREADS");
    p.n_threads = p.n_threads_batch = threads == nullptr ? 2 : std::atoi(threads);
    p.n_ctx = capacity;
    p.n_batch = p.n_ubatch = 512;
    p.type_k = p.type_v = cache;
    p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    p.no_perf = true;
    context = llama_init_from_model(model, p);
    if (context == nullptr) fail("no context");
  }
  [[nodiscard]] int vocab() const { return llama_vocab_n_tokens(llama_model_get_vocab(model)); }
  void clear() { llama_memory_clear(llama_get_memory(context), true); }
  // Logits are kept for the last `rows` of them.
  void decode(const std::vector<llama_token>& ids, int position, std::size_t rows) {
    llama_batch batch = llama_batch_init(static_cast<int>(ids.size()), 0, 1);
    batch.n_tokens = static_cast<int>(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      batch.token[i] = ids[i];
      batch.pos[i] = position + static_cast<int>(i);
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = i + rows >= ids.size();
    }
    if (llama_decode(context, batch) != 0) fail("a batch failed");
    llama_synchronize(context);
    llama_batch_free(batch);
  }
};

int read(Peer& peer) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string verb;
    std::size_t rows = 0;
    in >> verb >> rows;
    std::vector<llama_token> ids;
    for (llama_token id = 0; in >> id;) ids.push_back(id);
    if (verb != "read" || rows < 1 || rows > ids.size() || ids.size() > 512) fail("no line of read N ID ID ...");
    peer.clear();
    peer.decode(ids, 0, rows);
    std::vector<double> row(static_cast<std::size_t>(peer.vocab()));
    for (std::size_t i = ids.size() - rows; i < ids.size(); ++i) {
      const float* logits = llama_get_logits_ith(peer.context, static_cast<int>(i));
      row.assign(logits, logits + row.size());
      std::fwrite(row.data(), sizeof(double), row.size(), stdout);
    }
    std::fflush(stdout);
  }
  return 0;
}

int time(const char* path, std::vector<int> depths) {
  const double begin = now();
  Peer peer(path, 4096 + 128, GGML_TYPE_F16);
  std::printf("{\"load_s\": %.3f", now() - begin);
  std::vector<llama_token> ids(512);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<llama_token>(1000 + i * 7 % 5000);
  peer.decode(ids, 0, 1);  // warms up
  double start = now();
  peer.clear();
  peer.decode(ids, 0, 1);
  std::printf(", \"prefill_512\": %.1f", 512 / (now() - start));
  for (const int depth : depths) {
    peer.clear();
    for (int at = 0; at < depth; at += 512) peer.decode(ids, at, 1);
    start = now();
    for (int i = 0; i < 64; ++i) peer.decode({ids[static_cast<std::size_t>(i)]}, depth + i, 1);
    std::printf(", \"decode_at_%d\": %.1f", depth, 64 / (now() - start));
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf(", \"peak_mib\": %ld}\n", used.ru_maxrss / 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: llama_peer MODEL read [f16|f32] | llama_peer MODEL time [DEPTH...]");
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all_from_path(LLAMA_LIBRARIES);
  if (std::strcmp(argv[2], "time") == 0) {
    std::vector<int> depths;
    for (int i = 3; i < argc; ++i) depths.push_back(std::atoi(argv[i]));
    return time(argv[1], depths.empty() ? std::vector<int>{0} : depths);
  }
  Peer peer(argv[1], 1024, argc > 3 && std::strcmp(argv[3], "f32") == 0 ? GGML_TYPE_F32 : GGML_TYPE_F16);
  return read(peer);
}
