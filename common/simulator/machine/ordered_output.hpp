#pragma once
/// \file
/// What device-side printf wrote, printed cluster by cluster whatever order they end in.

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace bw::sim {

class OrderedOutput {
 public:
  OrderedOutput() = default;
  OrderedOutput(const OrderedOutput&) = delete;
  OrderedOutput& operator=(const OrderedOutput&) = delete;
  /// A launch that ends early by a fault still prints what its clusters wrote.
  ~OrderedOutput() {
    for (const auto& [cluster, text] : waiting_) print(text);
    std::fflush(stdout);
  }

  /// A cluster has ended. Its text is printed when every cluster before it has ended too. Any host
  /// thread.
  void finish(uint64_t cluster, std::string text) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(cluster, std::move(text));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.erase(first), ++next_)
      print(first->second);
  }

 private:
  static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

  std::mutex mutex_;
  std::map<uint64_t, std::string> waiting_;
  uint64_t next_ = 0;
};

}  // namespace bw::sim
