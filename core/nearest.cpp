#include "nearest.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "along_x.hpp"
#include "cells.hpp"
#include "kdtree.hpp"
#include "together.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 64;
constexpr std::size_t kPairsWorthSorting = 200;
constexpr std::size_t kPairsWorthAnIndex = std::size_t{1} << 18;
constexpr double kNobody = std::numeric_limits<double>::infinity();
constexpr Index kQueriesAtATime = 4096;
constexpr std::size_t kCellsAtATime = 1024;
constexpr int kMostRings = 64;
constexpr double kPerCell = 2.0;  // points aimed at
constexpr Index kCrowd = 64;      // points in one cell that make trees the better choice

template <int D>
class Search {
public:
    Search(const Ordered& truth, const Ordered& pred, Nearest& nearest) : truth_(truth), pred_(pred), nearest_(nearest) {}

    // From the place of each point along x outwards, until that alone is further than the nearest so far.
    void sweep(const Frame& frame, AlongX<D>& truth, AlongX<D>& pred) {
        truth.sort(truth_.cloud.coords + static_cast<std::size_t>(frame.truth_begin) * D, frame.truth_end - frame.truth_begin);
        pred.sort(pred_.cloud.coords + static_cast<std::size_t>(frame.pred_begin) * D, frame.pred_end - frame.pred_begin);
        sweep_one_way(truth, pred, nearest_.truth.data() + frame.truth_begin);
        sweep_one_way(pred, truth, nearest_.pred.data() + frame.pred_begin);
    }

    static void sweep_one_way(const AlongX<D>& from, const AlongX<D>& to, double* out) {
        Index start = 0;
        for (Index i = 0; i < from.size(); ++i) {
            const double* const q = from[i].c;
            while (start < to.size() && to[start].c[0] < q[0]) ++start;
            double least = kNobody;
            for (Index j = start; j < to.size(); ++j) {
                const double ahead = to[j].c[0] - q[0];
                if (ahead * ahead >= least) break;
                least = std::min(least, squared_distance<D>(q, to[j].c, D));
            }
            for (Index j = start - 1; j >= 0; --j) {
                const double behind = q[0] - to[j].c[0];
                if (behind * behind >= least) break;
                least = std::min(least, squared_distance<D>(q, to[j].c, D));
            }
            out[from[i].id] = least;
        }
    }

    void every_pair(const Frame& frame) {
        for (Index i = frame.truth_begin; i < frame.truth_end; ++i) {
            double least = kNobody;
            const double* const a = truth_.cloud.coords + static_cast<std::size_t>(i) * D;
            for (Index j = frame.pred_begin; j < frame.pred_end; ++j) {
                const double squared = squared_distance<D>(a, pred_.cloud.coords + static_cast<std::size_t>(j) * D, D);
                least = std::min(least, squared);
                nearest_.pred[j] = std::min(nearest_.pred[j], squared);
            }
            nearest_.truth[i] = least;
        }
    }

    // Even sets by cells; uneven ones, and whoever is far from everybody, by trees.
    void by_space(const Frame& frame, int threads, const std::function<bool()>& asked_to_stop) {
        sides_[0] = {truth_.cloud.coords + static_cast<std::size_t>(frame.truth_begin) * D, frame.truth_end - frame.truth_begin, D};
        sides_[1] = {pred_.cloud.coords + static_cast<std::size_t>(frame.pred_begin) * D, frame.pred_end - frame.pred_begin, D};
        out_[0] = nearest_.truth.data() + frame.truth_begin;
        out_[1] = nearest_.pred.data() + frame.pred_begin;
        find_box();
        const Lattice<D> lattice = Lattice<D>::over(low_.data(), high_.data(), std::max(sides_[0].n, sides_[1].n), kPerCell);
        CellPoints<D> cells[2];
        for_each_together(2, std::min(threads, 2), asked_to_stop,
                          [&](std::size_t side, Interrupt&) { cells[side].build(sides_[side], lattice); });
        const bool even = cells[0].most() <= kCrowd && cells[1].most() <= kCrowd;
        if (even) {
            const std::size_t undecided = ask_cells(lattice, cells, threads, asked_to_stop);
            if (undecided == 0) return;
            // A few at the edge are worth a longer look, but not an index of their own.
            const std::size_t few = static_cast<std::size_t>(sides_[0].n + sides_[1].n) / 64;
            if (undecided <= few && look_further(lattice, cells)) return;
        }
        ask_trees(threads, asked_to_stop, even);
    }

private:
    void find_box() {
        low_.fill(kNobody);
        high_.fill(-kNobody);
        for (const Points<D>& side : sides_) {
            for (Index i = 0; i < side.n; ++i) {
                for (int k = 0; k < D; ++k) {
                    low_[k] = std::min(low_[k], side[i][k]);
                    high_[k] = std::max(high_[k], side[i][k]);
                }
            }
        }
    }

    // Looks at the cells around each point, in the order of the cells. Who is not decided by them is marked negative; returns
    // how many.
    std::size_t ask_cells(const Lattice<D>& lattice, const CellPoints<D>* cells, int threads, const std::function<bool()>& asked_to_stop) {
        const std::size_t count = lattice.cells();
        const std::size_t runs = (count + kCellsAtATime - 1) / kCellsAtATime;
        std::atomic<std::size_t> undecided{0};
        for_each_together(2 * runs, threads, asked_to_stop, [&](std::size_t run, Interrupt&) {
            const int side = run < runs ? 0 : 1;
            const CellPoints<D>& mine = cells[side];
            const CellPoints<D>& other = cells[1 - side];
            std::size_t missed = 0;
            const std::size_t first = (run % runs) * kCellsAtATime;
            for (std::size_t cell = first; cell < std::min(count, first + kCellsAtATime); ++cell) {
                if (mine.begin(cell) == mine.end(cell)) continue;
                const typename Lattice<D>::Place here = lattice.place_of(cell);
                for (Index i = mine.begin(cell); i < mine.end(cell); ++i) {
                    const double least = other.least_around(mine[i], here);
                    const double seen = lattice.seen(mine[i], here, 1);
                    const bool decided = least <= seen * seen;
                    out_[side][mine.original(i)] = decided ? least : -1.0;
                    if (!decided) ++missed;
                }
            }
            undecided += missed;
        });
        return undecided;
    }

    // More and more rings of cells for those marked negative. False if some stay so.
    bool look_further(const Lattice<D>& lattice, const CellPoints<D>* cells) {
        for (int side = 0; side < 2; ++side) {
            for (Index i = 0; i < sides_[side].n; ++i) {
                if (out_[side][i] >= 0) continue;
                const double* const q = sides_[side][i];
                const auto here = lattice.place(q);
                const CellPoints<D>& other = cells[1 - side];
                for (int rings = 2; rings <= kMostRings && out_[side][i] < 0; rings *= 2) {
                    double least = kNobody;
                    other.rows_around(here, rings, [&](Index begin, Index end) {
                        for (Index j = begin; j < end; ++j) least = std::min(least, squared_distance<D>(q, other[j], D));
                    });
                    const double seen = lattice.seen(q, here, rings);
                    if (least <= seen * seen) out_[side][i] = least;
                }
                if (out_[side][i] < 0) return false;
            }
        }
        return true;
    }

    // Each side's points in the order of their own tree, so that neighbours in space follow each other.
    void ask_trees(int threads, const std::function<bool()>& asked_to_stop, bool only_undecided) {
        KdTree<D> trees[2];
        for_each_together(2, std::min(threads, 2), asked_to_stop,
                          [&](std::size_t side, Interrupt& interrupt) { trees[side].build(sides_[side], interrupt); });
        const auto runs = [](Index n) { return static_cast<std::size_t>((n + kQueriesAtATime - 1) / kQueriesAtATime); };
        for_each_together(runs(sides_[0].n) + runs(sides_[1].n), threads, asked_to_stop, [&](std::size_t run, Interrupt&) {
            const int side = run < runs(sides_[0].n) ? 0 : 1;
            const Index begin = static_cast<Index>(side == 0 ? run : run - runs(sides_[0].n)) * kQueriesAtATime;
            const Index end = std::min(begin + kQueriesAtATime, sides_[side].n);
            for (Index i = begin; i < end; ++i) {
                double& least = out_[side][trees[side].original(i)];
                if (!only_undecided || least < 0) least = trees[1 - side].least_squared(trees[side].points()[i]);
            }
        });
    }

    const Ordered& truth_;
    const Ordered& pred_;
    Nearest& nearest_;
    Points<D> sides_[2];
    double* out_[2];
    std::array<double, D> low_;
    std::array<double, D> high_;
};

template <int D>
Nearest search(const Cloud& truth, const Cloud& pred, int threads, const std::function<bool()>& asked_to_stop) {
    const Ordered ordered_truth(truth, D);
    const Ordered ordered_pred(pred, D);
    const std::vector<Frame> frames = list_frames(ordered_truth, ordered_pred);
    Nearest nearest;
    nearest.truth.assign(truth.n, kNobody);
    nearest.pred.assign(pred.n, kNobody);
    Search<D> search(ordered_truth, ordered_pred, nearest);
    const auto pairs = [](const Frame& frame) {
        return static_cast<std::size_t>(frame.truth_end - frame.truth_begin) * static_cast<std::size_t>(frame.pred_end - frame.pred_begin);
    };
    for_each_together((frames.size() + kFramesAtATime - 1) / kFramesAtATime, threads, asked_to_stop, [&](std::size_t run, Interrupt&) {
        AlongX<D> along_truth;
        AlongX<D> along_pred;
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t k = run * kFramesAtATime; k < end; ++k) {
            if (pairs(frames[k]) <= kPairsWorthSorting) {
                search.every_pair(frames[k]);
            } else if (pairs(frames[k]) <= kPairsWorthAnIndex) {
                search.sweep(frames[k], along_truth, along_pred);
            }
        }
    });
    for (const Frame& frame : frames) {
        if (pairs(frame) > kPairsWorthAnIndex) search.by_space(frame, threads, asked_to_stop);
    }
    ordered_truth.restore_order(nearest.truth);
    ordered_pred.restore_order(nearest.pred);
    return nearest;
}

}  // namespace

Nearest nearest_in_frames(const Cloud& truth, const Cloud& pred, int dim, int threads, const std::function<bool()>& asked_to_stop) {
    return dim == 2 ? search<2>(truth, pred, threads, asked_to_stop) : search<3>(truth, pred, threads, asked_to_stop);
}

}  // namespace flatmetric
