#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/interrupt.hpp"
#include "support/sums.hpp"

namespace flatmetric {

// Threads that share one job after another. They start with the first job that needs them and end with the team.
// `should_stop` is polled on the calling thread only.
class Team {
public:
    explicit Team(int threads, std::function<bool()> should_stop = {})
        : wanted_(std::max(threads, 1)),
          should_stop_(std::move(should_stop)),
          failures_(wanted_) {}

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    ~Team() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            over_ = true;
        }
        called_.notify_all();
        for (std::thread& thread : others_) thread.join();
    }

    // Workers are numbered from 0, the calling thread, to below this.
    int size() const { return wanted_; }

    // Calls body(k, worker, interrupt) for k = 0, ..., count - 1, in no particular order; a body can keep state for
    // each worker. Throws Interrupted, or the first exception of the lowest worker.
    template <class Body>
    void run(std::size_t count, const Body& body) {
        std::atomic<std::size_t> next{0};
        std::atomic<bool> stop{false};
        const auto work = [&](int worker) {
            try {
                Interrupt interrupt(stop, worker == 0 ? should_stop_ : std::function<bool()>{});
                for (std::size_t k = next.fetch_add(1); k < count; k = next.fetch_add(1)) {
                    interrupt.tick();
                    body(k, worker, interrupt);
                }
            } catch (const Interrupted&) {
                stop.store(true);
            } catch (...) {
                failures_[worker] = std::current_exception();
                stop.store(true);
            }
        };
        if (count > 1 && wanted_ > 1) {
            call(work, count);
            work(0);
            wait(stop);
        } else {
            work(0);
        }
        for (std::exception_ptr& failure : failures_) {
            if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
        }
        if (stop.load()) throw Interrupted{};
    }

private:
    // Starts no more threads than the job has parts.
    void call(const std::function<void(int)>& work, std::size_t parts) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            job_ = work;
            ++jobs_;
            running_ = static_cast<int>(others_.size());
        }
        called_.notify_all();
        const std::size_t useful = std::min(parts, static_cast<std::size_t>(wanted_));
        while (others_.size() + 1 < useful) {
            const int worker = static_cast<int>(others_.size()) + 1;
            try {
                const std::lock_guard<std::mutex> lock(mutex_);
                others_.emplace_back([this, worker, jobs_before = jobs_ - 1] { serve(worker, jobs_before); });
                ++running_;
            } catch (const std::system_error&) {
                break;  // no more threads to be had: those that run share the work
            }
        }
    }

    void serve(int worker, std::uint64_t done) {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            called_.wait(lock, [&] { return over_ || jobs_ != done; });
            if (over_) return;
            done = jobs_;
            const std::function<void(int)> job = job_;
            lock.unlock();
            job(worker);
            lock.lock();
            if (--running_ == 0) finished_.notify_one();
        }
    }

    void wait(std::atomic<bool>& stop) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!finished_.wait_for(lock, std::chrono::milliseconds(100), [&] { return running_ == 0; })) {
            if (should_stop_ && should_stop_()) stop.store(true);
        }
    }

    int wanted_;
    std::function<bool()> should_stop_;
    std::vector<std::exception_ptr> failures_;
    std::mutex mutex_;
    std::condition_variable called_;
    std::condition_variable finished_;
    std::function<void(int)> job_;
    std::uint64_t jobs_ = 0;
    int running_ = 0;
    bool over_ = false;
    std::vector<std::thread> others_;
};

// Those who work on one problem: a whole team, or the one thread that asks.
class Crew {
public:
    explicit Crew(Team& team) : team_(&team) {}
    explicit Crew(Interrupt& interrupt) : interrupt_(&interrupt) {}

    int size() const { return team_ != nullptr ? team_->size() : 1; }

    // What Team::run does.
    template <class Body>
    void run(std::size_t count, const Body& body) {
        if (team_ != nullptr) {
            team_->run(count, body);
            return;
        }
        for (std::size_t k = 0; k < count; ++k) {
            interrupt_->tick();
            body(k, 0, *interrupt_);
        }
    }

private:
    Team* team_ = nullptr;
    Interrupt* interrupt_ = nullptr;
};

constexpr std::size_t kRange = std::size_t{1} << 16;  // what one thread takes at a time of a long list

// Calls body(begin, end) for ranges that together are 0, ..., count - 1, shared by a Team or a Crew. What takes no time
// is one range.
template <class Workers, class Body>
void over_ranges(std::size_t count, Workers& workers, const Body& body) {
    if (count <= kRange) {
        body(std::size_t{0}, count);
        return;
    }
    workers.run((count + kRange - 1) / kRange, [&](std::size_t k, int, Interrupt& interrupt) {
        interrupt.look();
        body(k * kRange, std::min(count, (k + 1) * kRange));
    });
}

// sum_of, in ranges: the same sum, whoever shares the work.
template <class Workers, class Term>
double sum_of(std::size_t count, Workers& workers, const Term& term) {
    if (count <= kRange) return sum_of(count, term);
    std::vector<double> sums((count + kRange - 1) / kRange);
    workers.run(sums.size(), [&](std::size_t k, int, Interrupt&) {
        const std::size_t begin = k * kRange;
        sums[k] = sum_of(std::min(count - begin, kRange), [&](std::size_t i) { return term(begin + i); });
    });
    return sum_of(sums.size(), [&](std::size_t k) { return sums[k]; });
}

// Sorts values as std::stable_sort does: ranges first, each on its own, which are then merged two and two.
template <class T, class Less>
void stable_sort(std::vector<T>& values, Team& team, const Less& less) {
    constexpr std::size_t kSorted = std::size_t{1} << 15;
    const auto at = [&](std::size_t i) {
        return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size()));
    };
    team.run((values.size() + kSorted - 1) / kSorted,
             [&](std::size_t k, int, Interrupt&) { std::stable_sort(at(k * kSorted), at((k + 1) * kSorted), less); });
    std::vector<T> merged(values.size() > kSorted ? values.size() : 0);
    for (std::size_t width = kSorted; width < values.size(); width *= 2) {
        team.run((values.size() + 2 * width - 1) / (2 * width), [&](std::size_t k, int, Interrupt&) {
            const std::size_t begin = 2 * width * k;
            std::merge(at(begin), at(begin + width), at(begin + width), at(begin + 2 * width),
                       merged.begin() + static_cast<std::ptrdiff_t>(begin), less);
        });
        values.swap(merged);
    }
}

}  // namespace flatmetric
