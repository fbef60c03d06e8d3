#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "support/interrupt.hpp"
#include "support/sums.hpp"

namespace flatmetric {

// What is called for each part of a job, wherever it lives: it must outlive the job.
class Task {
public:
    template <class Body>
    Task(const Body& body)  // NOLINT: any callable is one
        : body_(&body),
          call_([](const void* of, std::size_t k, int worker, Interrupt& interrupt) {
              (*static_cast<const Body*>(of))(k, worker, interrupt);
          }) {}
    void operator()(std::size_t k, int worker, Interrupt& interrupt) const { call_(body_, k, worker, interrupt); }

private:
    const void* body_;
    void (*call_)(const void*, std::size_t, int, Interrupt&);
};

// Threads that share one job after another. They start with the first job that needs them and end with the team.
// `should_stop` is polled on the calling thread only.
class Team {
public:
    explicit Team(int threads, std::function<bool()> should_stop = {});
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team();

    // Workers are numbered from 0, the calling thread, to below this.
    int size() const { return wanted_; }

    // Calls body(k, worker, interrupt) for k = 0, ..., count - 1, in no particular order; a body can keep state for
    // each worker. Throws Interrupted, or the first exception of the lowest worker.
    void run(std::size_t count, Task body);

private:
    using Job = std::function<void(int)>;  // what each worker does, by its number

    void call(const Job& job, std::size_t parts);
    void serve(int worker, std::uint64_t done);
    void wait(std::atomic<bool>& stop);

    int wanted_;
    std::function<bool()> should_stop_;
    std::vector<std::exception_ptr> failures_;
    std::mutex mutex_;
    std::condition_variable called_;
    std::condition_variable finished_;
    const Job* job_ = nullptr;  // stays as it is while any other thread is running
    std::uint64_t jobs_ = 0;
    std::atomic<int> running_{0};  // the others that have not finished the job
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
    void run(std::size_t count, Task body);

private:
    Team* team_ = nullptr;
    Interrupt* interrupt_ = nullptr;
};

// At most one thread for each so many parts of a job: to start one takes about as long as these.
inline int worth_threads(int threads, std::size_t parts, std::size_t so_many) {
    return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), 1 + parts / so_many));
}

constexpr std::size_t kRange = std::size_t{1} << 16;  // what a thread takes at a time of a sum, whose bits depend on it

// Calls body(begin, end) for ranges that together are 0, ..., count - 1, shared by a Team or a Crew. What takes no time
// is one range.
template <class Workers, class Body>
void over_ranges(std::size_t count, Workers& workers, const Body& body) {
    constexpr std::size_t kShort = std::size_t{1} << 14;  // so that many threads share what takes a millisecond
    if (count <= kShort) {
        body(std::size_t{0}, count);
        return;
    }
    workers.run((count + kShort - 1) / kShort, [&](std::size_t k, int, Interrupt& interrupt) {
        interrupt.look();
        body(k * kShort, std::min(count, (k + 1) * kShort));
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
