#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "geometry/halving.hpp"
#include "geometry/points.hpp"
#include "geometry/slope_tree.hpp"
#include "support/exact.hpp"
#include "transport/instance.hpp"
#include "transport/network_simplex.hpp"
#include "transport/plan.hpp"
#include "transport/spanning_tree.hpp"

namespace flatmetric {

// Partial transport by the network simplex, from coarse to fine.
//
//     level 1    [       A       ][       B       ]     few cells: mass that travels far finds its way
//     level 2    [   A1  ][   A2  ][  B1  ][  B2  ]     the optimal tree of level 1, halved with the cells,
//     ...                                               is the first tree of level 2
//     last       . .  .  . .. .   . .  . .. .  .  .     single points: the exact answer
//
// Points are gathered into cells by halving: a cell has the mass of its points and lies at their mean. Each level
// starts from the optimal spanning tree of the level before, so that only details are left to settle. Levels with fewer
// than kFirstLevel cells, and those whose cells hold fewer than kPerCell points, are skipped.
//
// On a level the simplex pivots only on a pool of arcs, at most kMostArcs for each source. Each round adds to the pool,
// for every source, the kCheapest arcs that would lower the cost, found among all arcs through a tree over the targets.
// When no source has such an arc, the level is optimal over all arcs, not just over the pool.
template <int D>
class MultiscaleSimplex {
public:
    using Quit = std::function<double(Index)>;

    // Solves the problem of some sources and targets, in ascending order, afresh. A unit of mass that source x does not
    // send to these targets costs quit(x). Plan and potentials of these points are overwritten.
    void solve(Instance<D>& instance, Plan& plan, CellStock& stock, const std::vector<Index>& sources,
               const std::vector<Index>& targets, const Quit& quit, Interrupt& interrupt) {
        reach_ = instance.reach;
        for (const Index x : sources) {
            plan.source_left[x] = instance.source.mass[x];
            instance.source.potential[x] = quit(x);
        }
        for (const Index y : targets) {
            plan.clear_target(y, stock);
            plan.target_left[y] = instance.target.mass[y];
            instance.target.potential[y] = 0.0;
        }
        sources_.load(instance.source, sources, quit, interrupt);
        targets_.load(instance.target, targets, [](Index) { return 0.0; }, interrupt);
        if (sources_.count() == 0 || targets_.count() == 0) return;
        solve_levels(interrupt);
        take_plan(instance, plan, stock);
        for (Index y = 0; y < targets_.count(); ++y) {
            instance.target.potential[targets_.point(y)] = std::max(0.0, simplex_.target_potential(y));
        }
        tree_.set_prices([&](Index y) { return instance.target.potential[targets_.point(y)]; });
        for (Index i = 0; i < sources_.count(); ++i) {
            interrupt.tick();
            const Index x = sources_.point(i);
            instance.source.potential[x] = simplex_.source_potential(i);
            instance.tighten(x, quit(x), [&](const double& limit, const auto& visit) {
                tree_.visit_cheap(instance.source.points[x], limit,
                                  [&](Index y, double d) { visit(targets_.point(y), d); });
            });
        }
    }

private:
    // Measured without a limit on distances: two uniform clouds of 15 000 points (0.83 s), a cloud and the same
    // squeezed to a fifth (1.9 s), two rings of 8000 (0.16 s). A quarter and four times each value (of kCheapest and
    // kMostArcs a half and twice) change the sum by 10 % at most, unless a time is given: there is little to gain by
    // fine tuning.
    static constexpr std::size_t kFirstLevel = 64;  // cells on both sides of the first level that is solved
    static constexpr double kPerCell = 2.0;         // points in a cell, then single ones; 1: 7 % longer, 4: 15 %
    static constexpr std::size_t kCheapest = 24;    // arcs that a source adds in one round
    static constexpr std::size_t kMostArcs = 64;    // arcs of a source in the pool
    static constexpr std::size_t kPivots = 8;       // of a source until prices are looked at; 3: 7 % longer, 40: 40 %
    static constexpr double kTolerance = 1e-14;     // relative to reach: smaller reduced costs are rounding error
    static constexpr double kDeep = 16384.0;        // nodes from which the rounding of long ways grows beyond that
    static constexpr int kPatience = 64;            // rounds before rounding error is allowed twice as much

    // One side of the problem: its points with mass, and the cells of the current level.
    class Side {
    public:
        void load(const typename Instance<D>::Side& side, const std::vector<Index>& listed, const Quit& quit,
                  Interrupt& interrupt) {
            const Points<D> points = side.points;
            dim_ = points.dims();
            std::vector<Index> with_mass;
            for (const Index i : listed) {
                if (side.mass[i] > 0.0) with_mass.push_back(i);
            }
            halving_.build(points, std::move(with_mass), interrupt);
            const Index n = halving_.size();
            ordered_.resize(static_cast<std::size_t>(n) * dim_);
            mass_.resize(n);
            quit_.resize(n);
            for (Index i = 0; i < n; ++i) {
                std::copy_n(points[point(i)], dim_, ordered_.begin() + static_cast<std::ptrdiff_t>(i) * dim_);
                mass_[i] = side.mass[point(i)];
                quit_[i] = quit(point(i));
            }
            begin_.assign(1, 0);
            if (n > 0) begin_.push_back(n);
            gather();
        }

        Index count() const { return static_cast<Index>(begin_.size()) - 1; }
        bool single() const { return count() == halving_.size(); }
        double points_per_cell() const { return static_cast<double>(halving_.size()) / count(); }
        Points<D> cells() const { return {single() ? ordered_.data() : centre_.data(), count(), dim_}; }
        const std::vector<Exact>& mass() const { return cell_mass_; }
        const std::vector<double>& quit() const { return cell_quit_; }
        // The number in the instance of a cell that is a single point.
        Index point(Index cell) const { return halving_.point(cell); }

        // Halves all cells; first_half()[v] is then the first half of what was cell v, halved_axis(v) the axis across
        // which it was halved.
        void halve() {
            std::swap(old_begin_, begin_);
            std::swap(old_centre_, centre_);
            begin_.assign(1, 0);
            first_half_.assign(1, 0);
            for (std::size_t v = 0; v + 1 < old_begin_.size(); ++v) {
                if (old_begin_[v + 1] - old_begin_[v] > 1)
                    begin_.push_back(Halving<D>::middle(old_begin_[v], old_begin_[v + 1]));
                begin_.push_back(old_begin_[v + 1]);
                first_half_.push_back(static_cast<Index>(begin_.size()) - 1);
            }
            gather();
        }
        const std::vector<Index>& first_half() const { return first_half_; }
        int halved_axis(Index v) const { return halving_.axis(Halving<D>::middle(old_begin_[v], old_begin_[v + 1])); }
        const double* old_centre(Index v) const { return old_centre_.data() + static_cast<std::size_t>(v) * dim_; }

    private:
        // Masses of the cells, and their means of place and quit.
        void gather() {
            const std::size_t cells = begin_.size() - 1;
            if (single()) {
                cell_mass_.assign(mass_.begin(), mass_.end());
                cell_quit_ = quit_;
                return;
            }
            cell_mass_.assign(cells, Exact());
            cell_quit_.assign(cells, 0.0);
            centre_.assign(cells * dim_, 0.0);
            for (std::size_t v = 0; v < cells; ++v) {
                for (Index i = begin_[v]; i < begin_[v + 1]; ++i) cell_mass_[v] += mass_[i];
                for (Index i = begin_[v]; i < begin_[v + 1]; ++i) {
                    const double share = mass_[i] / cell_mass_[v].value();
                    cell_quit_[v] += share * quit_[i];
                    for (int k = 0; k < dim_; ++k)
                        centre_[v * dim_ + k] += share * ordered_[static_cast<std::size_t>(i) * dim_ + k];
                }
            }
        }

        int dim_ = D;
        Halving<D> halving_;
        std::vector<double> ordered_;
        std::vector<double> mass_;
        std::vector<double> quit_;
        std::vector<Index> begin_;
        std::vector<Exact> cell_mass_;
        std::vector<double> cell_quit_;
        std::vector<double> centre_;
        std::vector<Index> old_begin_;
        std::vector<double> old_centre_;
        std::vector<Index> first_half_;
    };

    void solve_levels(Interrupt& interrupt) {
        arcs_.start(sources_.mass()[0], targets_.mass()[0]);
        while (!sources_.single() || !targets_.single()) {
            const std::size_t cells = static_cast<std::size_t>(sources_.count()) + targets_.count();
            const bool fine = std::max(sources_.points_per_cell(), targets_.points_per_cell()) < kPerCell;
            if (cells >= kFirstLevel && !fine) {
                solve_level(interrupt);
                simplex_.list_arcs(arcs_);
            }
            halve(interrupt);
        }
        solve_level(interrupt);
    }

    void halve(Interrupt& interrupt) {
        interrupt.look();
        const auto halve_side = [](Side& side, Points<D> others, const auto& halve_tree) {
            side.halve();
            halve_tree(side.first_half(), side.mass(), [&](Index v, Index other) {
                const int axis = side.halved_axis(v);
                return other == kNone ? side.old_centre(v)[axis] : others[other][axis];
            });
        };
        halve_side(sources_, targets_.cells(), [this](const auto&... given) { arcs_.halve_sources(given...); });
        halve_side(targets_, sources_.cells(), [this](const auto&... given) { arcs_.halve_targets(given...); });
    }

    void solve_level(Interrupt& interrupt) {
        const Points<D> from = sources_.cells();
        const Points<D> to = targets_.cells();
        simplex_.start(arcs_, sources_.quit(), to.n,
                       [&](Index x, Index y) { return distance<D>(from[x], to[y], from.dims()); });
        tree_.build(to);
        pool_.begin.assign(static_cast<std::size_t>(from.n) + 1, 0);
        pool_.target.clear();
        pool_.cost.clear();
        const double nodes = static_cast<double>(from.n) + to.n;
        double tolerance = kTolerance * reach_ * std::max(1.0, std::sqrt(nodes / kDeep));
        for (int round = 1;; ++round) {
            const std::size_t added = add_cheapest_arcs(from, tolerance, round == 1, interrupt);
            const std::size_t most = kPivots * static_cast<std::size_t>(from.n) + 1;
            if (simplex_.optimise(pool_, tolerance, most, interrupt) == 0 && added == 0) return;
            if (round % kPatience == 0) tolerance *= 2.0;
        }
    }

    struct Candidate {
        double reduced;
        double cost;
        Index target;
    };
    static bool cheaper(const Candidate& a, const Candidate& b) {
        return a.reduced != b.reduced ? a.reduced < b.reduced : a.target < b.target;
    }

    // Adds to the pool the cheapest arcs of each source that would lower the cost, and drops its dearest; returns how
    // many would. In the first round of a level, `any` arcs are added: some that don't lower the cost yet will.
    //
    // none_below_[x] is a bound on cost plus price below which source x had no arc outside the pool when it was last
    // listed. While its potential stays below that bound, only targets whose price has fallen since can matter.
    std::size_t add_cheapest_arcs(Points<D> from, double tolerance, bool any, Interrupt& interrupt) {
        tree_.set_prices([this](Index y) { return simplex_.target_potential(y); });
        if (any) none_below_.assign(from.n, 0.0);
        std::swap(pool_, last_pool_);
        pool_.begin.assign(1, 0);
        pool_.target.clear();
        pool_.cost.clear();
        std::size_t added = 0;
        double unlisted = reach_;
        for (Index x = 0; x < from.n; ++x) {
            interrupt.tick();
            const double potential = simplex_.source_potential(x);
            const bool only_fallen = !any && potential <= none_below_[x];
            double limit = potential - tolerance;
            if (any) {  // the arcs that were listed for the last source are dearer by no more than the way between the
                        // two
                const double nearby = x == 0 ? reach_ : unlisted + distance<D>(from[x - 1], from[x], from.dims());
                limit = std::max(limit, std::min(reach_, nearby));
            }
            unlisted = list_cheapest(from[x], limit, only_fallen);
            none_below_[x] = only_fallen ? std::min(none_below_[x], unlisted + tolerance) : unlisted + tolerance;
            for (Candidate& candidate : candidates_) {
                candidate.reduced -= potential;
                added += candidate.reduced < -tolerance ? 1 : 0;
            }
            if (candidates_.empty()) {  // its arcs stay as they are
                pool_.copy_arcs(last_pool_, x);
                continue;
            }
            for (std::size_t k = last_pool_.begin[x]; k < last_pool_.begin[x + 1]; ++k) {
                const double sum = last_pool_.cost[k] + tree_.price(last_pool_.target[k]);
                candidates_.push_back({sum - potential, last_pool_.cost[k], last_pool_.target[k]});
            }
            none_below_[x] = std::min(none_below_[x], potential + tolerance + keep_cheapest(kMostArcs, reach_));
            std::sort(candidates_.begin(), candidates_.end(),
                      [](const Candidate& a, const Candidate& b) { return a.target < b.target; });
            for (std::size_t i = 0; i < candidates_.size(); ++i) {
                if (i > 0 && candidates_[i].target == candidates_[i - 1].target) continue;
                pool_.target.push_back(candidates_[i].target);
                pool_.cost.push_back(candidates_[i].cost);
            }
            pool_.begin.push_back(pool_.target.size());
        }
        return added;
    }

    // Lists the cheapest of all arcs from q whose cost and price together stay below the limit; with `fallen`, only of
    // those whose price has fallen. Returns a bound below which none was left out.
    double list_cheapest(const double* q, double limit, bool fallen) {
        candidates_.clear();
        const auto visit = [&](Index y, double d) {
            const double sum = d + tree_.price(y);
            if (!(sum < limit)) return;
            candidates_.push_back({sum, d, y});
            if (candidates_.size() == 2 * kCheapest) limit = keep_cheapest(kCheapest, limit);
        };
        if (fallen) {
            tree_.visit_fallen(q, limit, visit);
        } else {
            tree_.visit_cheap(q, limit, visit);
        }
        return keep_cheapest(kCheapest, limit);
    }

    // Drops all but the cheapest, and returns what the cheapest of the dropped costs, or `limit` if none is dropped.
    double keep_cheapest(std::size_t most, double limit) {
        if (candidates_.size() <= most) return limit;
        std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(most),
                         candidates_.end(), cheaper);
        const double dropped = candidates_[most].reduced;
        candidates_.resize(most);
        return dropped;
    }

    void take_plan(const Instance<D>& instance, Plan& plan, CellStock& stock) {
        simplex_.list_arcs(arcs_);
        for (Index i = 0; i < sources_.count(); ++i) plan.source_left[sources_.point(i)] = 0.0;
        for (Index i = 0; i < targets_.count(); ++i) plan.target_left[targets_.point(i)] = 0.0;
        for (const TreeArc& arc : arcs_.arcs) {
            const double mass = arc.flow.value();
            if (!(mass > 0.0)) continue;
            if (arc.target == kNone) {
                plan.source_left[sources_.point(arc.source)] = mass;
            } else if (arc.source == kNone) {
                plan.target_left[targets_.point(arc.target)] = mass;
            } else {
                const Index x = sources_.point(arc.source);
                const Index y = targets_.point(arc.target);
                plan.add(x, y, mass, instance.distance_between(x, y), stock);
            }
        }
    }

    double reach_ = 0.0;
    Side sources_;
    Side targets_;
    SpanningTree arcs_;
    NetworkSimplex simplex_;
    SlopeTree<D> tree_;
    ArcPool pool_;
    ArcPool last_pool_;
    std::vector<double> none_below_;  // a source of no larger potential has no cheap arc outside the pool but to
                                      // targets whose price has fallen
    std::vector<Candidate> candidates_;
};

}  // namespace flatmetric
