#include "support/parallel.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace flatmetric {

Team::Team(int threads, std::function<bool()> should_stop)
    : wanted_(std::max(threads, 1)),
      should_stop_(std::move(should_stop)),
      failures_(wanted_) {}

Team::~Team() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        over_ = true;
    }
    called_.notify_all();
    for (std::thread& thread : others_) thread.join();
}

void Team::run(std::size_t count, Task body) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    const Job work = [&](int worker) {  // outlives the job
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

// Starts no more threads than the job has parts.
void Team::call(const Job& job, std::size_t parts) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        job_ = &job;
        running_.store(static_cast<int>(others_.size()));
        ++jobs_;
    }
    called_.notify_all();
    const std::size_t useful = std::min(parts, static_cast<std::size_t>(wanted_));
    while (others_.size() + 1 < useful) {
        const int worker = static_cast<int>(others_.size()) + 1;
        running_.fetch_add(1);
        try {
            others_.emplace_back([this, worker, jobs_before = jobs_ - 1] { serve(worker, jobs_before); });
        } catch (const std::system_error&) {
            running_.fetch_sub(1);
            break;  // no more threads to be had: those that run share the work
        }
    }
}

// Threads wait for the lock only to hear of a job: while many start at once, each would keep the others waiting.
void Team::serve(int worker, std::uint64_t done) {
    for (;;) {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            called_.wait(lock, [&] { return over_ || jobs_ != done; });
            if (over_) return;
            done = jobs_;
        }
        (*job_)(worker);
        if (running_.fetch_sub(1) == 1) {
            const std::lock_guard<std::mutex> lock(mutex_);
            finished_.notify_one();
        }
    }
}

void Team::wait(std::atomic<bool>& stop) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!finished_.wait_for(lock, std::chrono::milliseconds(100), [&] { return running_.load() == 0; })) {
        if (should_stop_ && should_stop_()) stop.store(true);
    }
}

void Crew::run(std::size_t count, Task body) {
    if (team_ != nullptr) {
        team_->run(count, body);
        return;
    }
    for (std::size_t k = 0; k < count; ++k) {
        interrupt_->tick();
        body(k, 0, *interrupt_);
    }
}

}  // namespace flatmetric
