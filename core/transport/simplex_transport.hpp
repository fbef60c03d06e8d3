#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/instance.hpp"
#include "transport/network_simplex.hpp"
#include "transport/plan.hpp"

namespace flatmetric {

// Partial transport by the network simplex. First on a pool of promising arcs that grows, round by round, by the cheapest arcs
// of every source; this converges in a few rounds where plans are local. Where after some rounds nearly every source
// still finds cheaper arcs (mass travels far past others), the simplex goes on over all arcs, computed as they are looked at.
template <int D>
class SimplexTransport {
public:
    void solve(Instance<D>& instance, Plan& plan) {
        simplex_.reset(instance.source.mass, instance.target.mass, instance.reach);
        seed_pool(instance);
        for (int round = 1;; ++round) {
            simplex_.optimise_pool(instance.interrupt());
            take_potentials(instance);
            const std::size_t added = add_cheapest_arcs(instance);
            if (added == 0) break;
            if (round >= kPatience && static_cast<double>(added) > kHardlyConverging * kCheapest * instance.source.points.n) {
                simplex_.optimise_all(instance.interrupt(),
                                      [&](Index x, Index y) { return instance.squared_distance_between(x, y); });
                take_potentials(instance);
                break;
            }
        }
        plan.reset(instance.source.mass, instance.target.mass);
        for (Index x = 0; x < instance.source.points.n; ++x) plan.source_left[x] = simplex_.source_left(x);
        for (Index y = 0; y < instance.target.points.n; ++y) plan.target_left[y] = simplex_.target_left(y);
        simplex_.visit_flow([&](Index x, Index y, double mass, double cost) { plan.add(x, y, mass, cost); });
    }

private:
    static constexpr std::size_t kCheapest = 4;          // arcs that a source adds in one round
    static constexpr Index kSeeds = 10;                  // arcs of each kind that it starts with
    static constexpr int kPatience = 2;                  // rounds before the pool may be given up
    static constexpr double kHardlyConverging = 0.95;  // share of all possible new arcs

    // The nearest targets, and those at the same place in the order of the other tree: similar clouds, wherever they lie,
    // have similar trees.
    void seed_pool(Instance<D>& instance) {
        const Index n = instance.source.points.n;
        const Index m = instance.target.points.n;
        const auto add = [&](Index x, Index y, double d) {
            if (instance.target.mass[y] > 0.0 && d < instance.reach) simplex_.add_arc(x, y, d);
        };
        for (Index x = 0; x < n; ++x) {
            const auto row = instance.row(x);
            const Neighbour* end = row.begin + std::min<std::ptrdiff_t>(row.end - row.begin, kSeeds);
            for (const Neighbour* entry = row.begin; entry != end; ++entry) add(x, entry->point, entry->distance);
            if (!instance.has_trees()) continue;
            const auto middle = static_cast<Index>(static_cast<std::int64_t>(x) * m / n);
            const Index last = std::min<Index>(m, middle + kSeeds / 2);
            for (Index y = std::max<Index>(0, middle - kSeeds / 2); y < last; ++y) {
                add(x, y, instance.distance_between(x, y));
            }
        }
    }

    void take_potentials(Instance<D>& instance) const {
        for (Index x = 0; x < instance.source.points.n; ++x) {
            instance.source.potential[x] = std::min(instance.reach, simplex_.source_potential(x));
        }
        for (Index y = 0; y < instance.target.points.n; ++y) {
            const double p = instance.target.mass[y] > 0.0 ? simplex_.target_potential(y) : 0.0;
            instance.target.potential[y] = std::max(0.0, p);
        }
        instance.prices_changed();
    }

    std::size_t add_cheapest_arcs(Instance<D>& instance) {
        std::size_t added = 0;
        for (Index x = 0; x < instance.source.points.n; ++x) added += add_cheapest_arcs(instance, x);
        return added;
    }

    struct Candidate {
        double cost;
        double distance;
        Index target;
    };

    std::size_t add_cheapest_arcs(Instance<D>& instance, Index x) {
        double limit = instance.source.potential[x] - simplex_.tolerance();
        std::array<Candidate, kCheapest> best;
        std::size_t count = 0;
        instance.visit_cheap(x, limit, [&](Index y, double d) {
            const double cost = d + instance.target.potential[y];
            if (!(cost < limit) || instance.target.mass[y] == 0.0) return;
            std::size_t at = count < kCheapest ? count++ : kCheapest - 1;
            for (; at > 0 && cost < best[at - 1].cost; --at) best[at] = best[at - 1];
            best[at] = {cost, d, y};
            if (count == kCheapest) limit = best[kCheapest - 1].cost;
        });
        for (std::size_t i = 0; i < count; ++i) simplex_.add_arc(x, best[i].target, best[i].distance);
        return count;
    }

    NetworkSimplex simplex_;
};

}  // namespace flatmetric
