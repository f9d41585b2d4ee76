#include <sys/resource.h>

#include <fstream>
#include <thread>

#include "client/cli/program.h"
#include "client/cli/text.h"
#include "runtime/dispatch/isa.h"
#include "runtime/dispatch/why.h"
#include "runtime/version.h"
#include "server/options.h"

namespace krt::cli {
namespace {

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  return "unknown";
}

Dict build() {
#ifdef NDEBUG
  constexpr bool kAssertions = false;
#else
  constexpr bool kAssertions = true;
#endif
  return {{"version", kVersion}, {"compiler", __VERSION__}, {"assertions", kAssertions}};
}

Dict cpu() {
  Dict out{{"model", cpu_model()}};
  for (const Isa isa : {Isa::kScalar, Isa::kSse4, Isa::kAvx2, Isa::kAvx3, Isa::kAvx3Dl, Isa::kAmx, Isa::kNeon})
    out.emplace_back(name_of(isa), !cpu_has(isa) ? "no" : within(isa, isa_cap()) ? "yes" : "yes, capped by KRT_ISA");
  return out;
}

// What serves each kernel that has a choice.
Dict variants(const Runtime& runtime) {
  Dict out;
  for (const FunctionInfo* info : runtime.registry().all()) {
    if (info->variants.empty() || info->internal()) continue;
    const Result<Why> answer = why(*info, {});
    out.emplace_back(info->full_name(), answer.ok() ? Value(answer->served_by) : Value());
  }
  return out;
}

Value limit(__rlimit_resource resource) {
  rlimit l{};
  if (::getrlimit(resource, &l) != 0) return {};
  return l.rlim_cur == RLIM_INFINITY ? Value("unlimited") : Value(static_cast<std::int64_t>(l.rlim_cur));
}

Dict limits() {
  const ServerOptions server;
  const RuntimeOptions runtime;
  return {{"open_files", limit(RLIMIT_NOFILE)},
          {"locked_memory_bytes", limit(RLIMIT_MEMLOCK)},
          {"address_space_bytes", limit(RLIMIT_AS)},
          {"message_bytes", static_cast<std::int64_t>(server.max_message_bytes)},
          {"calls_in_flight", static_cast<std::int64_t>(server.max_in_flight)},
          {"handles", static_cast<std::int64_t>(runtime.max_handles)},
          {"handle_bytes", static_cast<std::int64_t>(runtime.max_handle_bytes)}};
}

Dict ports(Program& program) {
  const std::string address(kDefaultAddress);
  const Result<Health> health = program.remote(address).health();
  return {{address, health.ok() ? "krt " + health->version + (health->ok ? ", serving" : ", not serving")
                                : "no krt server answers"}};
}

}  // namespace

void add_doctor(Program& program) {
  program.command("doctor", "Show the build, the CPU, the variants in use, threads, limits and ports", [&program] {
    Runtime& runtime = program.local();
    const auto machine = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    const Dict report{{"build", build()},
                      {"cpu", cpu()},
                      {"threads", Dict{{"machine", machine}, {"arena", runtime.arena().threads()}}},
                      {"limits", limits()},
                      {"ports", ports(program)},
                      {"variants", variants(runtime)}};
    if (program.json()) {
      program.print_json(report);
      return int{kDone};
    }
    for (const auto& [title, section] : report) {
      std::vector<std::vector<std::string>> rows;
      for (const auto& [name, value] : *section.get_if<Dict>()) rows.push_back({name, plain(value)});
      program.print(title + "\n" + columns(rows, 2));
    }
    return int{kDone};
  });
}

}  // namespace krt::cli
