#pragma once
// The server's log: one line of key=value pairs for an event, on standard error.

#include <memory>
#include <string>

namespace spdlog {
class logger;
}

namespace krt {

using Log = std::shared_ptr<spdlog::logger>;

// `level` is one that check(ServerOptions) accepts.
Log make_log(const std::string& level);

}  // namespace krt
