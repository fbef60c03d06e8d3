#include "frames.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

namespace flatmetric {
namespace {

constexpr double kEqualMasses = 1e-12;  // relative; what the rounding of a sum of masses may reach

// A cloud with its rows in frame order. Rows that came in order are used where they are.
struct Ordered {
    std::vector<Index> row;  // empty: already in order
    std::vector<double> coords_store;
    std::vector<double> mass_store;
    Cloud cloud;

    Ordered(const Cloud& in, int dim) : cloud(in) {
        if (in.frame == nullptr || std::is_sorted(in.frame, in.frame + in.n)) return;
        row.resize(in.n);
        std::iota(row.begin(), row.end(), 0);
        std::stable_sort(row.begin(), row.end(), [&](Index a, Index b) { return in.frame[a] < in.frame[b]; });
        coords_store.resize(static_cast<std::size_t>(in.n) * dim);
        for (Index i = 0; i < in.n; ++i) {
            std::copy_n(in.coords + static_cast<std::size_t>(row[i]) * dim, dim,
                        coords_store.data() + static_cast<std::size_t>(i) * dim);
        }
        cloud.coords = coords_store.data();
        if (in.mass != nullptr) {
            mass_store.resize(in.n);
            for (Index i = 0; i < in.n; ++i) mass_store[i] = in.mass[row[i]];
            cloud.mass = mass_store.data();
        }
    }

    std::int64_t frame(Index i) const { return row.empty() ? cloud.frame[i] : cloud.frame[row[i]]; }
    Index original(Index i) const { return row.empty() ? i : row[i]; }
};

std::vector<Frame> list_frames(const Ordered& truth, const Ordered& pred) {
    if (truth.cloud.frame == nullptr) return {{0, 0, truth.cloud.n, 0, pred.cloud.n}};
    std::vector<Frame> frames;
    Index i = 0;
    Index j = 0;
    while (i < truth.cloud.n || j < pred.cloud.n) {
        Frame frame;
        if (i == truth.cloud.n) {
            frame.number = pred.frame(j);
        } else if (j == pred.cloud.n) {
            frame.number = truth.frame(i);
        } else {
            frame.number = std::min(truth.frame(i), pred.frame(j));
        }
        frame.truth_begin = i;
        while (i < truth.cloud.n && truth.frame(i) == frame.number) ++i;
        frame.truth_end = i;
        frame.pred_begin = j;
        while (j < pred.cloud.n && pred.frame(j) == frame.number) ++j;
        frame.pred_end = j;
        frames.push_back(frame);
    }
    return frames;
}

template <int D>
Measure<D> slice(const Cloud& cloud, int dim, Index begin, Index end) {
    return {{cloud.coords + static_cast<std::size_t>(begin) * dim, end - begin, dim},
            cloud.mass == nullptr ? nullptr : cloud.mass + begin};
}

template <int D>
void require_equal_masses(const Cloud& truth, const Cloud& pred, int dim, const std::vector<Frame>& frames) {
    for (const Frame& frame : frames) {
        const double a = slice<D>(truth, dim, frame.truth_begin, frame.truth_end).total();
        const double b = slice<D>(pred, dim, frame.pred_begin, frame.pred_end).total();
        if (std::abs(a - b) > kEqualMasses * std::max(a, b)) throw UnequalMasses{frame.number, a, b};
    }
}

// What one thread found: the pairs of the runs of frames that it took, in the order in which it took them.
struct Worker {
    std::vector<Pair> pairs;
    std::exception_ptr failure;
};

struct PairRun {
    int worker = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
};

template <int D>
class FrameSolver {
public:
    FrameSolver(const Ordered& truth, const Ordered& pred, int dim, double lam, Method method, Solution& solution)
        : truth_(truth), pred_(pred), dim_(dim), lam_(lam), method_(method), solution_(solution), runs_(solution.frames.size()) {
        solution_.parts.resize(solution_.frames.size());
        solution_.truth_potential.resize(truth.cloud.n);
        solution_.pred_potential.resize(pred.cloud.n);
    }

    void run(int threads, const std::function<bool()>& asked_to_stop) {
        const int count = std::max(1, std::min<int>(threads, static_cast<int>((runs_.size() + kRun - 1) / kRun)));
        std::vector<Worker> workers(count);
        std::vector<std::thread> others;
        running_ = count - 1;
        for (int w = 1; w < count; ++w) {
            others.emplace_back([this, &workers, w] {
                work(workers[w], w, {});
                {
                    const std::lock_guard<std::mutex> lock(mutex_);
                    --running_;
                }
                finished_.notify_one();
            });
        }
        work(workers[0], 0, asked_to_stop);
        {
            std::unique_lock<std::mutex> lock(mutex_);
            while (!finished_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; })) {
                lock.unlock();
                if (asked_to_stop && asked_to_stop()) stop_.store(true);
                lock.lock();
            }
        }
        for (std::thread& thread : others) thread.join();
        for (const Worker& worker : workers) {
            if (worker.failure) std::rethrow_exception(worker.failure);
        }
        if (stop_.load()) throw Interrupted{};
        gather(workers);
    }

private:
    static constexpr std::size_t kRun = 16;  // frames taken at a time

    void work(Worker& mine, int self, const std::function<bool()>& asked_to_stop) {
        try {
            Interrupt interrupt(stop_, asked_to_stop);
            FlatMetric<D> solver;
            std::vector<double> truth_f;
            std::vector<double> pred_f;
            for (;;) {
                const std::size_t begin = next_.fetch_add(kRun);
                if (begin >= runs_.size()) return;
                const std::size_t end = std::min(begin + kRun, runs_.size());
                for (std::size_t k = begin; k < end; ++k) {
                    interrupt.tick();
                    solve_one(k, self, mine, solver, truth_f, pred_f, interrupt);
                }
            }
        } catch (const Interrupted&) {
            stop_.store(true);
        } catch (...) {
            mine.failure = std::current_exception();
            stop_.store(true);
        }
    }

    void solve_one(std::size_t k, int self, Worker& mine, FlatMetric<D>& solver, std::vector<double>& truth_f,
                   std::vector<double>& pred_f, Interrupt& interrupt) {
        const Frame& frame = solution_.frames[k];
        const auto truth = slice<D>(truth_.cloud, dim_, frame.truth_begin, frame.truth_end);
        const auto pred = slice<D>(pred_.cloud, dim_, frame.pred_begin, frame.pred_end);
        truth_f.resize(truth.points.n);
        pred_f.resize(pred.points.n);
        runs_[k] = {self, mine.pairs.size(), 0};
        solution_.parts[k] = solver.solve(truth, pred, lam_, method_, truth_f.data(), pred_f.data(), mine.pairs, interrupt);
        runs_[k].end = mine.pairs.size();
        for (std::size_t i = runs_[k].begin; i < runs_[k].end; ++i) {
            Pair& pair = mine.pairs[i];
            pair.truth = truth_.original(frame.truth_begin + pair.truth);
            pair.pred = pred_.original(frame.pred_begin + pair.pred);
        }
        for (Index i = 0; i < truth.points.n; ++i) {
            solution_.truth_potential[truth_.original(frame.truth_begin + i)] = truth_f[i];
        }
        for (Index j = 0; j < pred.points.n; ++j) {
            solution_.pred_potential[pred_.original(frame.pred_begin + j)] = pred_f[j];
        }
    }

    // Frame order, whoever solved them.
    void gather(std::vector<Worker>& workers) {
        CompensatedSum displaced;
        CompensatedSum missed;
        CompensatedSum false_;
        CompensatedSum lower_bound;
        for (const Parts& parts : solution_.parts) {
            displaced.add(parts.displaced);
            missed.add(parts.missed);
            false_.add(parts.false_);
            lower_bound.add(parts.lower_bound);
        }
        solution_.total = {displaced.value(), missed.value(), false_.value(), lower_bound.value()};
        if (workers.size() == 1) {
            solution_.pairs = std::move(workers[0].pairs);
            return;
        }
        std::size_t count = 0;
        for (const Worker& worker : workers) count += worker.pairs.size();
        solution_.pairs.reserve(count);
        for (const PairRun& run : runs_) {
            const std::vector<Pair>& pairs = workers[run.worker].pairs;
            solution_.pairs.insert(solution_.pairs.end(), pairs.begin() + static_cast<std::ptrdiff_t>(run.begin),
                                   pairs.begin() + static_cast<std::ptrdiff_t>(run.end));
        }
    }

    const Ordered& truth_;
    const Ordered& pred_;
    int dim_;
    double lam_;
    Method method_;
    Solution& solution_;
    std::vector<PairRun> runs_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable finished_;
    int running_ = 0;
};

template <int D>
Solution solve(const Cloud& truth, const Cloud& pred, int dim, double lam, Method method, int threads,
               const std::function<bool()>& asked_to_stop) {
    const Ordered ordered_truth(truth, dim);
    const Ordered ordered_pred(pred, dim);
    Solution solution;
    solution.frames = list_frames(ordered_truth, ordered_pred);
    if (std::isinf(lam)) require_equal_masses<D>(ordered_truth.cloud, ordered_pred.cloud, dim, solution.frames);
    FrameSolver<D>(ordered_truth, ordered_pred, dim, lam, method, solution).run(threads, asked_to_stop);
    return solution;
}

}  // namespace

Solution solve_frames(const Cloud& truth, const Cloud& pred, int dim, double lam, Method method, int threads,
                      const std::function<bool()>& asked_to_stop) {
    switch (dim) {
        case 1:
            return solve<1>(truth, pred, dim, lam, method, threads, asked_to_stop);
        case 2:
            return solve<2>(truth, pred, dim, lam, method, threads, asked_to_stop);
        case 3:
            return solve<3>(truth, pred, dim, lam, method, threads, asked_to_stop);
        default:
            return solve<0>(truth, pred, dim, lam, method, threads, asked_to_stop);
    }
}

}  // namespace flatmetric
