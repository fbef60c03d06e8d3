#include "nearest.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "cells.hpp"
#include "kdtree.hpp"
#include "together.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 64;
constexpr std::size_t kPairsWorthAnIndex = std::size_t{1} << 14;
constexpr double kNobody = std::numeric_limits<double>::infinity();
constexpr Index kQueriesAtATime = 4096;

template <int D>
class Search {
public:
    Search(const Ordered& truth, const Ordered& pred, Nearest& nearest) : truth_(truth), pred_(pred), nearest_(nearest) {}

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

    // Even sets by cells, uneven ones and whoever is far from everybody by trees. Each side's points are taken in the order
    // of their own cells or tree, so that neighbours in space follow each other.
    void by_space(const Frame& frame, int threads, const std::function<bool()>& asked_to_stop) {
        sides_[0] = {truth_.cloud.coords + static_cast<std::size_t>(frame.truth_begin) * D, frame.truth_end - frame.truth_begin, D};
        sides_[1] = {pred_.cloud.coords + static_cast<std::size_t>(frame.pred_begin) * D, frame.pred_end - frame.pred_begin, D};
        out_[0] = nearest_.truth.data() + frame.truth_begin;
        out_[1] = nearest_.pred.data() + frame.pred_begin;
        find_box();
        Cells<D> cells[2];
        for_each_together(2, std::min(threads, 2), asked_to_stop,
                          [&](std::size_t side, Interrupt&) { cells[side].build(sides_[side], low_.data(), high_.data()); });
        const bool even = !cells[0].crowded() && !cells[1].crowded();
        if (even && ask(cells, threads, asked_to_stop, false)) return;
        KdTree<D> trees[2];
        for_each_together(2, std::min(threads, 2), asked_to_stop,
                          [&](std::size_t side, Interrupt& interrupt) { trees[side].build(sides_[side], interrupt); });
        ask(trees, threads, asked_to_stop, even);
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

    // Asks each side's index for the nearest to every point of the other; with `only_undecided` for those marked negative.
    // False if some stayed undecided.
    template <class IndexOfPoints>
    bool ask(const IndexOfPoints* index, int threads, const std::function<bool()>& asked_to_stop, bool only_undecided) {
        const auto runs = [](Index n) { return static_cast<std::size_t>((n + kQueriesAtATime - 1) / kQueriesAtATime); };
        std::atomic<bool> all_decided{true};
        for_each_together(runs(sides_[0].n) + runs(sides_[1].n), threads, asked_to_stop, [&](std::size_t run, Interrupt&) {
            const int side = run < runs(sides_[0].n) ? 0 : 1;
            const Index begin = static_cast<Index>(side == 0 ? run : run - runs(sides_[0].n)) * kQueriesAtATime;
            const Index end = std::min(begin + kQueriesAtATime, sides_[side].n);
            for (Index i = begin; i < end; ++i) {
                double& least = out_[side][index[side].original(i)];
                if (only_undecided && least >= 0) continue;
                least = index[1 - side].least_squared(index[side].points()[i]);
                if (least < 0) all_decided = false;
            }
        });
        return all_decided;
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
    const auto large = [](const Frame& frame) {
        return static_cast<std::size_t>(frame.truth_end - frame.truth_begin) * static_cast<std::size_t>(frame.pred_end - frame.pred_begin) >
               kPairsWorthAnIndex;
    };
    for_each_together((frames.size() + kFramesAtATime - 1) / kFramesAtATime, threads, asked_to_stop, [&](std::size_t run, Interrupt&) {
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t k = run * kFramesAtATime; k < end; ++k) {
            if (!large(frames[k])) search.every_pair(frames[k]);
        }
    });
    for (const Frame& frame : frames) {
        if (large(frame)) search.by_space(frame, threads, asked_to_stop);
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
