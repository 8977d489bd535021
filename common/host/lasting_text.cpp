#include "common/host/lasting_text.hpp"

#include <mutex>
#include <set>

namespace bw {

const char* lasting_text(const std::string& text) {
  static std::mutex mutex;
  static auto* const texts = new std::set<std::string>;  // outlives all static objects
  const std::lock_guard<std::mutex> lock(mutex);
  return texts->insert(text).first->c_str();
}

}  // namespace bw
