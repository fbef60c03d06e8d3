#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace flatmetric {

// Thrown out of a solve that was asked to stop.
struct Interrupted {};

// Counts units of work of one thread and, rarely, looks whether the solve should stop: at a flag shared by all
// threads, and, on the thread that called the solver, at `should_stop` (the host's pending signals).
class Interrupt {
public:
    explicit Interrupt(std::atomic<bool>& stop, std::function<bool()> should_stop = {})
        : stop_(stop),
          should_stop_(std::move(should_stop)),
          last_ask_(Clock::now()) {}

    void tick() {
        if ((++ticks_ & 63U) == 0) look();
    }

    // For a unit of work so large that counting ticks would check too rarely.
    void look() {
        if (should_stop_ && Clock::now() - last_ask_ > kAskEvery) {
            if (should_stop_()) stop_.store(true, std::memory_order_relaxed);
            last_ask_ = Clock::now();
        }
        if (stop_.load(std::memory_order_relaxed)) throw Interrupted{};
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kAskEvery{100};

    std::atomic<bool>& stop_;
    std::function<bool()> should_stop_;
    Clock::time_point last_ask_;
    unsigned ticks_ = 0;
};

}  // namespace flatmetric
