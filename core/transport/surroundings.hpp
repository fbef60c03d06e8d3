#pragma once

#include <cstddef>
#include <vector>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/interrupt.hpp"
#include "transport/instance.hpp"

namespace flatmetric {

// All sources and targets whose mass could depend on that of some sources: whatever is in reach of them, in reach of
// that, and so on.
template <int D>
class Surroundings {
public:
    std::vector<Index> sources;  // in ascending order, like the targets
    std::vector<Index> targets;

    // Within a part of the target tree, and of the sources that belong(x).
    template <class Belong>
    void gather(const Instance<D>& instance, Subtree part, const std::vector<Index>& around, const Belong& belong,
                Interrupt& interrupt) {
        const auto& from = instance.source.tree;
        const auto& to = instance.target.tree;
        const double reach = (1.0 + kSlack) * instance.reach;
        const auto [first_target, last_target] = to.range(part);
        sources_.start(from, belong);
        targets_.start(to, [first = first_target, last = last_target](Index y) { return first <= y && y < last; });
        for (const Index x : around) sources_.meet(from.leaf_with(x, 0), x);
        while (!sources_.waiting.empty()) {
            interrupt.tick();
            step(from, sources_, to, targets_, reach);
            while (!targets_.waiting.empty()) step(to, targets_, from, sources_, reach);
        }
        sources_.list(sources);
        targets_.list(targets);
    }

private:
    static constexpr double kSlack = 1e-9;  // a plan may use pairs that are as far apart as the reach, but for rounding

    // The points of a side, and how many below each node of the tree are still to be met.
    struct Side {
        enum class State : unsigned char { outside, unmet, met };
        std::vector<State> state;
        std::size_t first_leaf = 0;  // its node
        std::vector<Index> unmet;
        std::vector<Index> waiting;

        template <class Belong>
        void start(const KdTree<D>& tree, const Belong& belong) {
            state.resize(tree.points().n);
            first_leaf = static_cast<std::size_t>(tree.leaves()) - 1;
            unmet.assign(2 * first_leaf + 1, 0);
            for (Index leaf = 0; leaf < tree.leaves(); ++leaf) {
                for (Index i = tree.leaf_begin(leaf); i < tree.leaf_begin(leaf + 1); ++i) {
                    state[i] = belong(i) ? State::unmet : State::outside;
                    unmet[first_leaf + leaf] += belong(i) ? 1 : 0;
                }
            }
            for (std::size_t node = first_leaf; node-- > 0;) unmet[node] = unmet[2 * node + 1] + unmet[2 * node + 2];
        }
        void meet(Index leaf, Index point) {
            if (state[point] != State::unmet) return;
            state[point] = State::met;
            waiting.push_back(point);
            for (std::size_t node = first_leaf + leaf;; node = (node - 1) / 2) {
                --unmet[node];
                if (node == 0) break;
            }
        }
        void list(std::vector<Index>& points) const {
            points.clear();
            for (Index i = 0; i < static_cast<Index>(state.size()); ++i) {
                if (state[i] == State::met) points.push_back(i);
            }
        }
    };

    // Takes one point off a list and adds to the other what is in its reach and was not met before.
    void step(const KdTree<D>& from, Side& side, const KdTree<D>& to, Side& others, double reach) {
        const double* const q = from.points()[side.waiting.back()];
        side.waiting.pop_back();
        const Points<D> points = to.points();
        const auto skip = [&](std::size_t node) { return others.unmet[node] == 0; };
        to.visit_leaves(to.whole(), q, reach, skip, [&](Index leaf) {
            for (Index i = to.leaf_begin(leaf); i < to.leaf_begin(leaf + 1); ++i) {
                if (distance<D>(q, points[i], points.dims()) <= reach) others.meet(leaf, i);
            }
        });
    }

    Side sources_;
    Side targets_;
};

}  // namespace flatmetric
