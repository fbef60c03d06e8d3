#include "frames/solve.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "support/magnitude.hpp"
#include "support/parallel.hpp"
#include "transport/flat_metric.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kPointsWorthAThread = 4096;  // starting a thread costs about as much as solving these
constexpr double kEqualMasses = 1e-12;             // relative: a bound on the rounding error of a sum of masses

void require_equal_masses(const Cloud& truth, const Cloud& pred, int dim, const std::vector<Frame>& frames) {
    for (const Frame& frame : frames) {
        const double a = truth.measure(dim, frame.truth_begin, frame.truth_end).total();
        const double b = pred.measure(dim, frame.pred_begin, frame.pred_end).total();
        if (std::abs(a - b) > kEqualMasses * std::max(a, b)) throw UnequalMasses{frame.number, a, b};
    }
}

class FrameSolver {
public:
    FrameSolver(const Ordered& truth, const Ordered& pred, int dim, double lam, double divisor, Method method,
                Team& team, Solution& solution)
        : truth_(truth),
          pred_(pred),
          dim_(dim),
          lam_(lam),
          divisor_(divisor),
          method_(method),
          team_(team),
          solution_(solution) {
        solution_.parts.resize(solution_.frames.size());
        solution_.truth_potential.resize(truth.cloud.n);
        solution_.pred_potential.resize(pred.cloud.n);
    }

    void solve() {
        workers_ = std::vector<Worker>(team_.size());
        list_runs();
        // The largest frames one after the other, each by the whole team; then the others, each by one thread.
        for (Run& run : runs_) {
            if (!run.together) continue;
            Crew crew(team_);
            solve_run(run, 0, crew);
        }
        team_.run(runs_.size(), [&](std::size_t r, int worker, Interrupt& interrupt) {
            if (runs_[r].together) return;
            Crew alone(interrupt);
            solve_run(runs_[r], worker, alone);
        });
        add_up();
        gather_pairs();
    }

private:
    static constexpr std::size_t kRun = 4;       // frames taken at a time
    static constexpr Index kTogether = 1 << 15;  // points of a frame that is worth a team

    // The state of one thread: its solver, and the pairs of the runs of frames that it took, one run after the other.
    struct alignas(128) Worker {  // two threads never write to one cache line
        std::optional<FlatMetric> solver;
        Pairs pairs;
    };

    // Where the pairs of a run of frames lie: in its worker's list, and in the solution.
    struct Run {
        std::size_t first_frame = 0;
        std::size_t last_frame = 0;  // the one behind the last
        bool together = false;
        int worker = 0;
        std::size_t begin = 0;
        std::size_t count = 0;
        std::size_t place = 0;
    };

    // A frame with more points than a thread gets of all frames, in four turns, would keep the others waiting.
    void list_runs() {
        const double share = (static_cast<double>(truth_.cloud.n) + pred_.cloud.n) / (4.0 * team_.size());
        const std::size_t frames = solution_.frames.size();
        for (std::size_t k = 0; k < frames; ++k) {
            const Frame& frame = solution_.frames[k];
            const double points =
                static_cast<double>(frame.truth_end - frame.truth_begin) + (frame.pred_end - frame.pred_begin);
            const bool together = team_.size() > 1 && points > kTogether && points > share;
            if (together || runs_.empty() || runs_.back().together || k - runs_.back().first_frame == kRun) {
                runs_.push_back({k, k, together});
            }
            runs_.back().last_frame = k + 1;
        }
    }

    void solve_run(Run& run, int self, Crew& crew) {
        Worker& mine = workers_[self];
        if (!mine.solver) {
            mine.solver.emplace(dim_);
            // An even share of the most pairs that unit masses can have: growing step by step would touch twice the
            // memory.
            mine.pairs.truth.reserve(std::min(truth_.cloud.n, pred_.cloud.n) / std::min(workers_.size(), runs_.size()) +
                                     1);
            mine.pairs.pred.reserve(mine.pairs.truth.capacity());
            mine.pairs.distance.reserve(mine.pairs.truth.capacity());
        }
        run.worker = self;
        run.begin = mine.pairs.size();
        for (std::size_t k = run.first_frame; k < run.last_frame; ++k) solve_frame(k, mine.pairs, *mine.solver, crew);
        run.count = mine.pairs.size() - run.begin;
    }

    void solve_frame(std::size_t k, Pairs& pairs, FlatMetric& solver, Crew& crew) {
        const Frame& frame = solution_.frames[k];
        const auto truth = truth_.cloud.measure(dim_, frame.truth_begin, frame.truth_end);
        const auto pred = pred_.cloud.measure(dim_, frame.pred_begin, frame.pred_end);
        Parts& parts = solution_.parts[k];
        // In frame order here, like the clouds; put back into the order of the input at the end.
        parts = solver.solve(truth, pred, lam_, method_, solution_.truth_potential.data() + frame.truth_begin,
                             solution_.pred_potential.data() + frame.pred_begin, crew);
        solver.append_pairs([&](Index i) { return truth_.original(frame.truth_begin + i); },
                            [&](Index j) { return pred_.original(frame.pred_begin + j); }, pairs, crew);
        if (divisor_ == 1.0) return;
        parts.displaced /= divisor_;
        parts.missed /= divisor_;
        parts.false_ /= divisor_;
        parts.lower_bound /= divisor_;
    }

    void add_up() {
        const auto total = [this](double Parts::* part) {
            return sum_of(solution_.parts.size(), [&](std::size_t k) { return solution_.parts[k].*part; });
        };
        solution_.total = {total(&Parts::displaced), total(&Parts::missed), total(&Parts::false_),
                           total(&Parts::lower_bound), 0};
        Parts& all = solution_.total;
        all.lower_bound = std::min(all.lower_bound, all.displaced + all.missed + all.false_);
        for (const Parts& parts : solution_.parts) solution_.total.by_simplex += parts.by_simplex;
        truth_.restore_order(solution_.truth_potential, team_);
        pred_.restore_order(solution_.pred_potential, team_);
    }

    // Puts the pairs into frame order, whichever worker solved them.
    void gather_pairs() {
        if (workers_.size() == 1 || runs_.size() == 1) {
            solution_.pairs = std::move(workers_[0].pairs);  // one worker, or one job, which the first takes
            return;
        }
        std::size_t count = 0;
        for (Run& run : runs_) {
            run.place = count;
            count += run.count;
        }
        const bool with_mass =
            std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return !w.pairs.mass.empty(); });
        solution_.pairs.resize(count, with_mass);
        team_.run(workers_.size(), [&](std::size_t worker, int, Interrupt&) {
            for (const Run& run : runs_) {
                if (run.worker != static_cast<int>(worker)) continue;
                move_column(run, &Pairs::truth);
                move_column(run, &Pairs::pred);
                move_column(run, &Pairs::distance);
                if (with_mass) move_column(run, &Pairs::mass);
            }
        });
    }

    template <class T>
    void move_column(const Run& run, Column<T> Pairs::* column) {
        const T* from = (workers_[run.worker].pairs.*column).data() + run.begin;
        std::copy_n(from, run.count, (solution_.pairs.*column).data() + run.place);
    }

    const Ordered& truth_;
    const Ordered& pred_;
    int dim_;
    double lam_;
    double divisor_;
    Method method_;
    Team& team_;
    Solution& solution_;
    std::vector<Run> runs_;
    std::vector<Worker> workers_;
};

// Points on a line as points in a plane whose second coordinate is 0: the distances are the same to the bit.
Column<double> in_a_plane(const Cloud& line) {
    Column<double> coords(2 * static_cast<std::size_t>(line.n));
    for (std::size_t i = 0; i < static_cast<std::size_t>(line.n); ++i) {
        coords[2 * i] = line.coords[i];
        coords[2 * i + 1] = 0.0;
    }
    return coords;
}

}  // namespace

Solution solve_frames(const Cloud& truth, const Cloud& pred, int dim, double lam, double divisor, Method method,
                      int threads, const std::function<bool()>& should_stop) {
    if (dim == 1) {
        const Column<double> true_coords = in_a_plane(truth);
        const Column<double> pred_coords = in_a_plane(pred);
        Cloud true_points = truth;
        Cloud pred_points = pred;
        true_points.coords = true_coords.data();
        pred_points.coords = pred_coords.data();
        return solve_frames(true_points, pred_points, 2, lam, divisor, method, threads, should_stop);
    }
    const std::size_t points = static_cast<std::size_t>(truth.n) + static_cast<std::size_t>(pred.n);
    Team team(worth_threads(threads, points, kPointsWorthAThread), should_stop);
    const Ordered ordered_truth(truth, dim, team, kLargest);
    const Ordered ordered_pred(pred, dim, team, kLargest);
    Solution solution;
    solution.frames = list_frames(ordered_truth, ordered_pred, team);
    if (std::isinf(lam)) require_equal_masses(ordered_truth.cloud, ordered_pred.cloud, dim, solution.frames);
    FrameSolver(ordered_truth, ordered_pred, dim, lam, divisor, method, team, solution).solve();
    return solution;
}

}  // namespace flatmetric
