#pragma once

#include <cstddef>
#include <vector>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/interrupt.hpp"
#include "transport/instance.hpp"

namespace flatmetric {

// All sources and targets whose mass could depend on that of some sources: whatever is in reach of them, in reach of that, and so on.
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
        sources_.start(from);
        targets_.start(to);
        for (const Index x : around) sources_.meet(from.leaf_with(x, 0), x);
        while (!sources_.waiting.empty()) {
            interrupt.tick();
            step(from, sources_, to, part, targets_, reach, [](Index) { return true; });
            while (!targets_.waiting.empty()) step(to, targets_, from, from.whole(), sources_, reach, belong);
        }
        sources_.list(sources);
        targets_.list(targets);
    }

private:
    static constexpr double kSlack = 1e-9;  // a plan may use pairs that are as far apart as the reach, but for rounding

    // The points of a side that were met, and how many below each node of the tree were not.
    struct Side {
        std::vector<bool> met;
        std::size_t first_leaf = 0;  // its node
        std::vector<Index> unmet;
        std::vector<Index> waiting;

        void start(const KdTree<D>& tree) {
            met.assign(tree.points().n, false);
            first_leaf = static_cast<std::size_t>(tree.leaves()) - 1;
            unmet.resize(2 * first_leaf + 1);
            for (Index leaf = 0; leaf < tree.leaves(); ++leaf) unmet[first_leaf + leaf] = tree.leaf_begin(leaf + 1) - tree.leaf_begin(leaf);
            for (std::size_t node = first_leaf; node-- > 0;) unmet[node] = unmet[2 * node + 1] + unmet[2 * node + 2];
        }
        void meet(Index leaf, Index point) {
            if (met[point]) return;
            met[point] = true;
            waiting.push_back(point);
            for (std::size_t node = first_leaf + leaf;; node = (node - 1) / 2) {
                --unmet[node];
                if (node == 0) break;
            }
        }
        void list(std::vector<Index>& points) const {
            points.clear();
            for (Index i = 0; i < static_cast<Index>(met.size()); ++i) {
                if (met[i]) points.push_back(i);
            }
        }
    };

    // Takes one point off a list and adds to the other what is in its reach and was not met before.
    template <class Accept>
    void step(const KdTree<D>& from, Side& side, const KdTree<D>& to, Subtree among, Side& others, double reach, const Accept& accept) {
        const double* const q = from.points()[side.waiting.back()];
        side.waiting.pop_back();
        const Points<D> points = to.points();
        const auto skip = [&](std::size_t node) { return others.unmet[node] == 0; };
        to.visit_leaves(among, q, reach, skip, [&](Index leaf) {
            for (Index i = to.leaf_begin(leaf); i < to.leaf_begin(leaf + 1); ++i) {
                if (!others.met[i] && accept(i) && distance<D>(q, points[i], points.dims()) <= reach) others.meet(leaf, i);
            }
        });
    }

    Side sources_;
    Side targets_;
};

}  // namespace flatmetric
