// Sets a variable of the environment for as long as the object lives.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace fatctx::support {

class SetVariable {
 public:
  SetVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~SetVariable() {
    if (before_) {
      ::setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace fatctx::support
