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

#include "interrupt.hpp"

namespace flatmetric {

// Calls task(0), ..., task(count - 1) at once, task 0 on this thread, and `meanwhile` now and then until all are done.
template <class Task, class Meanwhile>
void run_together(int count, const Task& task, const Meanwhile& meanwhile) {
    std::mutex mutex;
    std::condition_variable finished;
    int running = count - 1;
    std::vector<std::thread> others;
    others.reserve(count);
    int w = 1;
    try {
        for (; w < count; ++w) {
            others.emplace_back([&, w] {
                task(w);
                const std::lock_guard<std::mutex> lock(mutex);
                --running;
                finished.notify_one();
            });
        }
    } catch (const std::system_error&) {
        // No more threads to be had: this one does what the missing ones would have done.
        const std::lock_guard<std::mutex> lock(mutex);
        running -= count - w;
    }
    task(0);
    for (; w < count; ++w) task(w);
    std::unique_lock<std::mutex> lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) meanwhile();
    lock.unlock();
    for (std::thread& thread : others) thread.join();
}

// Calls body(k, interrupt) for k = 0, ..., count - 1, spread over `threads` threads in no order. Throws Interrupted, or
// what body threw.
template <class Body>
void for_each_together(std::size_t count, int threads, const std::function<bool()>& asked_to_stop, const Body& body) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::vector<std::exception_ptr> failures(threads);
    const auto work = [&](int w) {
        try {
            Interrupt interrupt(stop, w == 0 ? asked_to_stop : std::function<bool()>{});
            for (std::size_t k = next.fetch_add(1); k < count; k = next.fetch_add(1)) {
                interrupt.tick();
                body(k, interrupt);
            }
        } catch (const Interrupted&) {
            stop.store(true);
        } catch (...) {
            failures[w] = std::current_exception();
            stop.store(true);
        }
    };
    run_together(threads, work, [&] {
        if (asked_to_stop && asked_to_stop()) stop.store(true);
    });
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
    if (stop.load()) throw Interrupted{};
}

}  // namespace flatmetric
