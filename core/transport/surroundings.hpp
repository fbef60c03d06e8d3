#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/interrupt.hpp"
#include "transport/instance.hpp"

namespace flatmetric {

// All sources and targets whose mass could depend on that of some sources: whatever is in reach of them, in reach of that, and so on.
// Gathered by leaves of the trees, which may take in a little more than is connected.
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
        const auto any = [&](Index leaf) {
            for (Index x = from.leaf_begin(leaf); x < from.leaf_begin(leaf + 1); ++x) {
                if (belong(x)) return true;
            }
            return false;
        };
        source_leaf_.assign(from.leaves(), false);
        target_leaf_.assign(to.leaves(), false);
        for (const Index x : around) {
            const Index leaf = from.leaf_with(x, 0);
            if (!source_leaf_[leaf]) source_waiting_.push_back(leaf);
            source_leaf_[leaf] = true;
        }
        while (!source_waiting_.empty()) {
            interrupt.tick();
            step(from, source_waiting_, to, part, reach, target_leaf_, target_waiting_, [](Index) { return true; });
            while (!target_waiting_.empty()) step(to, target_waiting_, from, from.whole(), reach, source_leaf_, source_waiting_, any);
        }
        sources.clear();
        targets.clear();
        for (Index leaf = 0; leaf < from.leaves(); ++leaf) {
            if (!source_leaf_[leaf]) continue;
            for (Index x = from.leaf_begin(leaf); x < from.leaf_begin(leaf + 1); ++x) {
                if (belong(x)) sources.push_back(x);
            }
        }
        for (Index leaf = 0; leaf < to.leaves(); ++leaf) {
            if (!target_leaf_[leaf]) continue;
            for (Index y = to.leaf_begin(leaf); y < to.leaf_begin(leaf + 1); ++y) targets.push_back(y);
        }
    }

private:
    static constexpr double kSlack = 1e-9;  // a plan may use pairs that are as far apart as the reach, but for rounding

    // Takes one leaf off a list and adds to the other list what it meets for the first time.
    template <class Accept>
    void step(const KdTree<D>& from, std::vector<Index>& waiting, const KdTree<D>& to, Subtree among, double reach,
              std::vector<bool>& met, std::vector<Index>& next, const Accept& accept) {
        const Index leaf = waiting.back();
        waiting.pop_back();
        to.near_leaves(among, from.leaf_low(leaf), from.leaf_high(leaf), reach, std::numeric_limits<std::size_t>::max(), near_);
        for (const LeafAt& at : near_) {
            if (met[at.leaf] || !accept(at.leaf)) continue;
            met[at.leaf] = true;
            next.push_back(at.leaf);
        }
    }

    std::vector<bool> source_leaf_;
    std::vector<bool> target_leaf_;
    std::vector<Index> source_waiting_;
    std::vector<Index> target_waiting_;
    std::vector<LeafAt> near_;
};

}  // namespace flatmetric
