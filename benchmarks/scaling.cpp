// How the core scales with threads: seconds for 1, 2, 4, ... threads on frames of the paper, on one pooled set and on
// filaments.
//
// Needs nothing but a compiler: `make scaling`, or scaling THREADS PART DIVISOR, where only what has PART in its name
// is run, with so many times fewer points. The data are those of benchmarks/problems.py in kind, not in bits.
//
// The last rows tell what the machine allows: as many solves as threads, each alone on its thread with data of its own.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "frames/solve.hpp"

using namespace flatmetric;

namespace {

constexpr double kPi = 3.14159265358979323846;

struct Problem {
    std::vector<double> truth, pred;
    std::vector<std::int64_t> truth_frame, pred_frame;
    double lam = 1.0;

    void add(std::vector<double>& side, double x, double y) {
        side.push_back(x);
        side.push_back(y);
    }
    Cloud cloud(const std::vector<double>& side, const std::vector<std::int64_t>& frame) const {
        return {side.data(), static_cast<Index>(side.size() / 2), nullptr, frame.empty() ? nullptr : frame.data()};
    }
    double solve(int threads) const {
        const Solution solution = solve_frames(cloud(truth, truth_frame), cloud(pred, pred_frame), 2, lam, 1.0,
                                               Method::automatic, threads, [] { return false; });
        return solution.total.displaced + solution.total.missed + solution.total.false_;
    }
};

Problem paper_frames(int count) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    Problem problem;
    problem.lam = 125.0;
    for (int frame = 1; frame <= count; ++frame) {
        const double recall = 0.2 + 0.8 * unit(random);
        const double radius = 250.0 * unit(random);
        for (int i = 0; i < 100; ++i) {
            const double x = 6400.0 * unit(random);
            const double y = 6400.0 * unit(random);
            problem.add(problem.truth, x, y);
            problem.truth_frame.push_back(frame);
            if (unit(random) > recall) continue;
            const double angle = 2.0 * kPi * unit(random);
            const double length = radius * std::sqrt(unit(random));
            problem.add(problem.pred, x + length * std::cos(angle), y + length * std::sin(angle));
            problem.pred_frame.push_back(frame);
        }
    }
    return problem;
}

Problem pooled(int n) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> field(0.0, 1000.0 * std::sqrt(n / 500.0));
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::normal_distribution<double> error(0.0, 20.0);
    Problem problem;
    problem.lam = 62.5;
    for (int i = 0; i < n; ++i) {
        const double x = field(random);
        const double y = field(random);
        problem.add(problem.truth, x, y);
        if (unit(random) < 0.9) problem.add(problem.pred, x + error(random), y + error(random));
    }
    return problem;
}

Problem filaments(int n) {
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::normal_distribution<double> normal(0.0, 1.0);
    const double field = 3000.0 * std::sqrt(n / 100000.0);
    std::vector<double> sites;
    for (int k = 0; k < std::max(1, n / 10000); ++k) {
        double angle = 2.0 * kPi * unit(random);
        double x = field * unit(random);
        double y = field * unit(random);
        for (int step = 0; step < 300; ++step) {
            angle += 0.03 * normal(random);
            sites.push_back(x += 25.0 * std::cos(angle));
            sites.push_back(y += 25.0 * std::sin(angle));
        }
    }
    Problem problem;
    problem.lam = 50.0;
    const auto bursts = [&](std::vector<double>& side, int count) {
        while (static_cast<int>(side.size()) < 2 * count) {
            const std::size_t site = static_cast<std::size_t>(unit(random) * static_cast<double>(sites.size() / 2));
            for (int left = 5 + static_cast<int>(26.0 * unit(random));
                 left > 0 && static_cast<int>(side.size()) < 2 * count; --left) {
                const double angle = 2.0 * kPi * unit(random);
                const double length = 20.0 * std::sqrt(unit(random));
                problem.add(side, sites[2 * site] + length * std::cos(angle),
                            sites[2 * site + 1] + length * std::sin(angle));
            }
        }
    };
    bursts(problem.truth, n);
    bursts(problem.pred, n * 8 / 10);
    return problem;
}

// The best of some runs for each number of threads, taken in turns, so that a passing load meets all.
void measure(const std::string& what, const Problem& problem, int runs, int most) {
    std::vector<int> threads;
    for (int count = 1; count < most; count *= 2) threads.push_back(count);
    threads.push_back(most);
    std::vector<double> best(threads.size(), 1e300);
    double value = problem.solve(most);
    for (int run = 0; run < runs; ++run) {
        for (std::size_t k = 0; k < threads.size(); ++k) {
            const auto start = std::chrono::steady_clock::now();
            const double again = problem.solve(threads[k]);
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            best[k] = std::min(best[k], seconds.count());
            if (again != value) {
                std::printf("%s: %d threads give %.17g, others %.17g\n", what.c_str(), threads[k], again, value);
                std::exit(1);
            }
        }
    }
    for (std::size_t k = 0; k < threads.size(); ++k) {
        std::printf("| %s | %d | %.4g | %.2f |\n", what.c_str(), threads[k], best[k], best[0] / best[k]);
        std::fflush(stdout);
    }
}

void measure_limit(int most) {
    const Problem problem = paper_frames(2000);
    double alone = 0.0;
    for (int count = 1; count <= most; count = count < most ? std::min(2 * count, most) : most + 1) {
        const std::vector<Problem> copies(static_cast<std::size_t>(count), problem);
        double best = 1e300;
        for (int run = 0; run < 10; ++run) {
            std::vector<std::thread> threads;
            const auto start = std::chrono::steady_clock::now();
            for (const Problem& copy : copies) {
                threads.emplace_back([&copy] {
                    for (int turn = 0; turn < 4; ++turn) copy.solve(1);
                });
            }
            for (std::thread& thread : threads) thread.join();
            best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
        if (count == 1) alone = best;
        std::printf("| limit of the machine | %d | %.4g | %.2f |\n", count, best / count, alone * count / best);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int most = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
    const std::string part = argc > 2 ? argv[2] : "";
    const auto run = [&](const std::string& what, int runs, const std::function<Problem()>& make) {
        if (what.find(part) != std::string::npos) measure(what, make(), runs, most);
    };
    const int divisor = argc > 3 ? std::atoi(argv[3]) : 1;
    std::printf("| what | threads | seconds | times faster |\n|---|---|---|---|\n");
    run("2000 frames of 100 points", 25, [=] { return paper_frames(2000 / divisor); });
    run("20 000 frames of 100 points", 7, [=] { return paper_frames(20000 / divisor); });
    run("pooled, 1M x 0.9M", 2, [=] { return pooled(1000000 / divisor); });
    run("filaments, 1M x 0.8M", 1, [=] { return filaments(1000000 / divisor); });
    if (std::string("limit of the machine").find(part) != std::string::npos) measure_limit(most);
}
