#pragma once
// grpc.health.v1.Health: whether this server takes calls, for orchestrators and gRPC's own tools. Answered in gRPC's
// threads, so that it stays live under any load.

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"

namespace krt {

class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  // `services`: full names that may be asked for, beside "", the server as a whole.
  explicit HealthService(std::vector<std::string> services);
  ~HealthService() override;

  void set_serving(bool serving);
  // Ends every Watch, now and from now on, so that none keeps the server from stopping.
  void end_watches();

 private:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  class Watcher;

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context, const Request* request,
                                  Response* response) override;
  grpc::ServerWriteReactor<Response>* Watch(grpc::CallbackServerContext* context, const Request* request) override;

  [[nodiscard]] bool known(const std::string& service) const;
  [[nodiscard]] Response::ServingStatus status_of(const std::string& service) const;  // under mutex_

  const std::vector<std::string> services_;
  std::mutex mutex_;
  bool serving_ = true, ended_ = false;
  std::set<Watcher*> watchers_;
};

}  // namespace krt
