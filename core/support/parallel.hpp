#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "support/interrupt.hpp"

namespace flatmetric {

// Calls body(k, worker, interrupt) for k = 0, ..., count - 1 on up to `threads` threads, in no particular order. `worker`
// numbers the threads from 0, so that a body can keep state for each. `should_stop` is polled on the calling thread only.
// Throws Interrupted, or the first exception of the lowest worker.
template <class Body>
void parallel_for(std::size_t count, int threads, const std::function<bool()>& should_stop, const Body& body) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::vector<std::exception_ptr> failures(threads);
    const auto work = [&](int worker) {
        try {
            Interrupt interrupt(stop, worker == 0 ? should_stop : std::function<bool()>{});
            for (std::size_t k = next.fetch_add(1); k < count; k = next.fetch_add(1)) {
                interrupt.tick();
                body(k, worker, interrupt);
            }
        } catch (const Interrupted&) {
            stop.store(true);
        } catch (...) {
            failures[worker] = std::current_exception();
            stop.store(true);
        }
    };
    std::mutex mutex;
    std::condition_variable finished;
    int running = 0;
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
        for (int worker = 1; worker < threads; ++worker) {
            {
                const std::lock_guard<std::mutex> lock(mutex);
                ++running;
            }
            others.emplace_back([&, worker] {
                work(worker);
                const std::lock_guard<std::mutex> lock(mutex);
                --running;
                finished.notify_one();
            });
        }
    } catch (const std::system_error&) {
        // No more threads available: those already running share the work.
        const std::lock_guard<std::mutex> lock(mutex);
        --running;
    }
    work(0);
    std::unique_lock<std::mutex> lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
        if (should_stop && should_stop()) stop.store(true);
    }
    lock.unlock();
    for (std::thread& thread : others) thread.join();
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
    if (stop.load()) throw Interrupted{};
}

}  // namespace flatmetric
