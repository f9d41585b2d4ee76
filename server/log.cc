#include "server/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace krt {

Log make_log(const std::string& level) {
  auto log = std::make_shared<spdlog::logger>("krt", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l thread=%t %v");
  log->set_level(spdlog::level::from_str(level));
  log->flush_on(spdlog::level::info);
  return log;
}

}  // namespace krt
