#include "server/health_service.h"

#include <algorithm>

namespace krt {

// One Watch. Everything but construction and deletion happens under the service's mutex.
class HealthService::Watcher final : public grpc::ServerWriteReactor<Response> {
 public:
  Watcher(HealthService& service, std::string name) : service_(service), name_(std::move(name)) {}

  void update() {
    if (ended_ || writing_) return;
    if (service_.ended_) return end();
    const Response::ServingStatus now = service_.status_of(name_);
    if (told_ && response_.status() == now) return;
    response_.set_status(now);
    told_ = writing_ = true;
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(service_.mutex_);
    writing_ = false;
    if (ok)
      update();
    else
      end();
  }

  void OnCancel() override {
    const std::lock_guard lock(service_.mutex_);
    end();
  }

  void OnDone() override {
    {
      const std::lock_guard lock(service_.mutex_);
      service_.watchers_.erase(this);
    }
    delete this;
  }

 private:
  void end() {
    if (!std::exchange(ended_, true)) Finish({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
  }

  HealthService& service_;
  const std::string name_;
  Response response_;
  bool told_ = false, writing_ = false, ended_ = false;
};

HealthService::HealthService(std::vector<std::string> services) : services_(std::move(services)) {}

HealthService::~HealthService() = default;

void HealthService::set_serving(bool serving) {
  const std::lock_guard lock(mutex_);
  serving_ = serving;
  for (Watcher* watcher : watchers_) watcher->update();
}

void HealthService::end_watches() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (Watcher* watcher : watchers_) watcher->update();
}

bool HealthService::known(const std::string& service) const {
  return service.empty() || std::find(services_.begin(), services_.end(), service) != services_.end();
}

HealthService::Response::ServingStatus HealthService::status_of(const std::string& service) const {
  if (!known(service)) return Response::SERVICE_UNKNOWN;
  return serving_ ? Response::SERVING : Response::NOT_SERVING;
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context, const Request* request,
                                               Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (known(request->service())) {
    const std::lock_guard lock(mutex_);
    response->set_status(status_of(request->service()));
    reactor->Finish(grpc::Status::OK);
  } else {
    reactor->Finish({grpc::StatusCode::NOT_FOUND, "no service of that name"});
  }
  return reactor;
}

grpc::ServerWriteReactor<HealthService::Response>* HealthService::Watch(grpc::CallbackServerContext*,
                                                                        const Request* request) {
  auto* watcher = new Watcher(*this, request->service());
  const std::lock_guard lock(mutex_);
  watchers_.insert(watcher);
  watcher->update();
  return watcher;
}

}  // namespace krt
