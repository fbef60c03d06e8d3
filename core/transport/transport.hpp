#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/interrupt.hpp"
#include "support/parallel.hpp"
#include "transport/instance.hpp"
#include "transport/multiscale_simplex.hpp"
#include "transport/partial_transport.hpp"
#include "transport/plan.hpp"
#include "transport/shortest_paths.hpp"
#include "transport/surroundings.hpp"
#include "transport/tiles.hpp"

namespace flatmetric {

// Partial transport between points of D coordinates (0: any number).
//
// The idea, for a large problem:
//
//     tiles        [  a  ][  b  ][  c  ][  d  ]     each solved by one thread, on its own
//     joined once  [     ab     ][     cd     ]     what has to cross the border between a and b
//     joined all   [           abcd           ]     what has to cross any border: the exact answer
//
// A source whose best target may lie beyond its tile waits until the tiles on both sides of that border are one part.
//
// Within a part, shortest augmenting paths come first: where errors are local, they look at a few arcs per point. Where
// mass has to travel past many other points, paths become long. So a part of N points is allowed
//
//     kFreeLooks + N min(kLooks sqrt(N), kMostLooks)
//
// looks at arcs. Beyond that the network simplex, whose cost depends little on how far mass travels, solves afresh
// whatever is connected to the mass that was not placed. The rule only chooses between two exact methods.
template <int D>
class Transport final : public PartialTransport {
public:
    double enter(const Measure& source, const Measure& target, Crew& crew) override {
        sources_ = source;
        targets_ = target;
        target_box_ = Box<D>::around(target.points.in<D>(), crew);
        return diameter_bound(Box<D>::around(source.points.in<D>(), crew), target_box_);
    }

    void solve(double reach, Method method, Crew& crew) override {
        const bool tiny_tiles = method == Method::paths_in_tiles || method == Method::simplex_in_tiles;
        load(sources_, targets_, reach, tiny_tiles, crew);
        merged_ = instance_.many_coincide(crew);
        if (merged_) {
            places_of_sources_.merge(sources_.points, sources_.mass);
            places_of_targets_.merge(targets_.points, targets_.mass);
            load({places_of_sources_.points(), places_of_sources_.mass()},
                 {places_of_targets_.points(), places_of_targets_.mass()}, reach, tiny_tiles, crew);
        }
        if (workers_.size() < static_cast<std::size_t>(crew.size())) workers_.resize(crew.size());
        for (Worker& worker : workers_) worker.paths.stock.reset();
        plan_.reset(instance_.source.mass, instance_.target.mass, crew);
        by_simplex_ = 0;
        if (instance_.has_trees()) {
            solve_large(method, tiny_tiles ? 1 : kTile, crew);
        } else {
            crew.run(1, [&](std::size_t, int, Interrupt& interrupt) { solve_small(method, interrupt, crew); });
        }
        instance_.price_points_without_mass(crew);
        source_ = solved(instance_.source);
        target_ = solved(instance_.target);
    }

private:
    static constexpr Index kSmall = 512;  // points: up to here lists from a grid are faster than a tree
    // Measured on the problems of multiscale_simplex.hpp and on 300 000 points with neighbours in reach (1.1 s on one
    // thread): a quarter and four times each value change the sum of the times by 10 % at most. The rule needs to know
    // which problems are local, not where exactly the two methods are equally fast.
    static constexpr Index kTile = 25000;        // targets of a tile: its points and labels fit into a core's cache
    static constexpr std::ptrdiff_t kTurns = 8;  // parts of a tile's sources after which its progress is looked at
    static constexpr int kMostRegions = 4;       // of a part that the simplex solves one by one before it takes all
    // In four dimensions and more the simplex is dear: with twice the looks 2500 uniform points take a third of the
    // time, and a cloud and the same squeezed to a fifth up to half more.
    static constexpr double kLooks = D > 0 ? 8.0 : 16.0;         // looks for a point and for each unit of sqrt(N)
    static constexpr double kMostLooks = D > 0 ? 400.0 : 800.0;  // looks for a point, however large N is
    static constexpr double kFreeLooks = 2000.0;  // looks that take less time than a start of the simplex

    // What one thread works with.
    struct alignas(128) Worker {  // two threads never write to one cache line
        ShortestPaths<D> paths;
        Surroundings<D> surroundings;
        MultiscaleSimplex<D> simplex;
        std::vector<Index> unplaced;
        std::vector<Waiting> left;
        std::vector<Index> around;
        int regions = 0;  // that shortest paths have left to the simplex in this part
        std::int64_t by_simplex = 0;
    };

    // What a part leaves to the one that it belongs to: sources with mass, and whether more searches are a waste.
    struct Left {
        std::vector<Waiting> sources;
        bool hopeless = false;
    };

    void load(const Measure& from, const Measure& to, double reach, bool tiny_tiles, Crew& crew) {
        const Index leaf = tiny_tiles ? 1 : std::max(from.points.n, to.points.n) > kSmall ? KdTree<D>::kLeaf : kNone;
        instance_.load(from.points.in<D>(), from.mass, to.points.in<D>(), to.mass, reach, leaf, crew);
    }

    Solved solved(const typename Instance<D>::Side& side) const {
        return {side.points.n, side.potential.data(), instance_.has_trees() ? side.tree.originals() : nullptr};
    }

    static double allowed_looks(Method method, double points) {
        if (method == Method::shortest_paths || method == Method::paths_in_tiles)
            return std::numeric_limits<double>::infinity();
        if (method == Method::simplex_in_tiles) return -1.0;
        return kFreeLooks + points * std::min(kMostLooks, kLooks * std::sqrt(points));
    }

    void solve_small(Method method, Interrupt& interrupt, Crew& crew) {
        Worker& mine = workers_[0];
        const Index sources = instance_.source.points.n;
        mine.paths.rows.list_all(instance_, target_box_, interrupt);
        mine.paths.enter(instance_, plan_, labels_, {0, 0});
        mine.unplaced.clear();
        for (Index x = 0; x < sources; ++x) {
            if (!mine.paths.place_at_nearest(x, std::numeric_limits<double>::infinity())) mine.unplaced.push_back(x);
        }
        bool hopeless = method == Method::simplex;
        if (!hopeless && !mine.unplaced.empty()) {
            labels_.reset(sources, instance_.target.points.n, crew);
            mine.paths.limit_looks(allowed_looks(method, sources + static_cast<double>(instance_.target.points.n)),
                                   0.0);
            for (std::size_t i = 0; i < mine.unplaced.size() && !hopeless; ++i) {
                const double share = static_cast<double>(i + 1) / static_cast<double>(mine.unplaced.size());
                hopeless = !mine.paths.place(mine.unplaced[i], share, mine.left);
            }
        }
        if (hopeless) {
            solve_all_by_simplex(mine, interrupt);
            return;
        }
        for (Index x = 0; x < sources; ++x) {
            if (!(instance_.source.mass[x] > 0.0)) continue;
            instance_.tighten(x, instance_.reach, [&](const double& limit, const auto& visit) {
                mine.paths.rows.visit_cheap(x, limit, visit);
            });
        }
    }

    void solve_all_by_simplex(Worker& mine, Interrupt& interrupt) {
        std::vector<Index> from(instance_.source.points.n);
        std::vector<Index> to(instance_.target.points.n);
        std::iota(from.begin(), from.end(), 0);
        std::iota(to.begin(), to.end(), 0);
        by_simplex_ = instance_.source.points.n;
        mine.simplex.solve(
            instance_, plan_, mine.paths.stock, from, to, [this](Index) { return instance_.reach; }, interrupt);
    }

    void solve_large(Method method, Index tile, Crew& crew) {
        proved_.clear();
        if (method == Method::simplex) {
            crew.run(1, [&](std::size_t, int worker, Interrupt& interrupt) {
                solve_all_by_simplex(workers_[worker], interrupt);
            });
            return;
        }
        tiles_.cut(instance_, tile, crew);
        labels_.reset(instance_.source.points.n, instance_.target.points.n, crew);
        for (Worker& worker : workers_) worker.by_simplex = 0;
        std::vector<Left> left;
        std::vector<Left> below;
        for (int level = tiles_.levels(); level >= 0; --level) {
            left.swap(below);
            left.assign(std::size_t{1} << level, {});
            crew.run(left.size(), [&](std::size_t k, int worker, Interrupt& interrupt) {
                Worker& mine = workers_[worker];
                const Part part = part_of(level, k, method);
                mine.paths.rows.enter(instance_, part.targets, interrupt);
                mine.paths.enter(instance_, plan_, labels_, part.targets);
                mine.paths.limit_looks(part.looks, 0.0);
                mine.left.clear();
                mine.regions = 0;
                const bool done = level == tiles_.levels()
                                      ? place_first(part, mine, interrupt)
                                      : place_waiting(part, below[2 * k], below[2 * k + 1], mine, interrupt);
                left[k].hopeless = !done && method != Method::simplex_in_tiles && !is_local(part);
                if (!done && !left[k].hopeless) {
                    list_waiting(mine);
                    gather_region(part, mine, interrupt);
                    mine.left.clear();
                    solve_region(part, mine, interrupt);
                }
                if (mine.regions > 0) drop_repeated(mine.left);
                left[k].sources = mine.left;
                mine.paths.rows.leave();
            });
        }
        for (const Worker& worker : workers_) by_simplex_ += worker.by_simplex;
        tighten_potentials(crew);
    }

    // A node of the target tree with the sources that belong to it.
    struct Part {
        int level;
        std::size_t k;
        Subtree targets;
        std::size_t sources;
        double looks;  // that shortest paths are allowed
    };

    Part part_of(int level, std::size_t k, Method method) const {
        const Subtree at = instance_.target.tree.subtree(level, k);
        const auto [begin, end] = instance_.target.tree.range(at);
        const auto sources = static_cast<std::size_t>(tiles_.end(level, k) - tiles_.begin(level, k));
        return {level, k, at, sources,
                allowed_looks(method, static_cast<double>(end - begin) + static_cast<double>(sources))};
    }

    // Places mine.unplaced by shortest paths, which is the work between two shares of all. Where they lag, the region
    // around the longest search is left to the simplex, if it is but a part of all. False if that doesn't help; those
    // whose turn didn't come then still wait in mine.unplaced.
    bool place_listed(const Part& part, Worker& mine, double share_before, double share_after, Interrupt& interrupt) {
        const double step = (share_after - share_before) / static_cast<double>(mine.unplaced.size());
        for (std::size_t i = 0; i < mine.unplaced.size(); ++i) {
            const double share = share_before + step * static_cast<double>(i + 1);
            while (!mine.paths.place(mine.unplaced[i], share, mine.left)) {
                if (mine.paths.hardest() != kNone && mine.regions < kMostRegions) {
                    ++mine.regions;
                    mine.around.assign(1, mine.paths.hardest());
                    gather_region(part, mine, interrupt);
                    if (2 * mine.surroundings.sources.size() <= part.sources) {
                        solve_region(part, mine, interrupt);
                        mine.paths.limit_looks(part.looks, share);
                        continue;
                    }
                }
                mine.unplaced.erase(mine.unplaced.begin(), mine.unplaced.begin() + static_cast<std::ptrdiff_t>(i));
                return false;
            }
        }
        return true;
    }

    // The sources of a tile, some at a time, so that a hopeless tile is noticed before all of them are looked at.
    bool place_first(const Part& part, Worker& mine, Interrupt& interrupt) {
        const auto* const begin = tiles_.begin(part.level, part.k);
        const auto* const end = tiles_.end(part.level, part.k);
        const std::ptrdiff_t turn = (end - begin) / kTurns + 1;
        for (const auto* at = begin; at != end;) {
            const auto* const turn_begin = at;
            const auto* const turn_end = end - at > turn ? at + turn : end;
            mine.unplaced.clear();
            for (; at != turn_end; ++at) {
                if (!mine.paths.place_at_nearest(at->x, at->margin)) mine.unplaced.push_back(at->x);
            }
            const auto share = [&](const auto* of) {
                return static_cast<double>(of - begin) / static_cast<double>(end - begin);
            };
            if (place_listed(part, mine, share(turn_begin), share(turn_end), interrupt)) continue;
            for (; at != end; ++at) mine.unplaced.push_back(at->x);
            give_up(part, mine);
            return false;
        }
        return true;
    }

    // The sources that waited for this part. Those that wait for a larger one go on waiting.
    bool place_waiting(const Part& part, const Left& first, const Left& second, Worker& mine, Interrupt& interrupt) {
        mine.unplaced.clear();
        for (const Left* below : {&first, &second}) {
            for (const Waiting& source : below->sources) {
                if (source.level < part.level) {
                    mine.left.push_back(source);
                } else {
                    mine.unplaced.push_back(source.x);
                }
            }
        }
        if (!first.hopeless && !second.hopeless && place_listed(part, mine, 0.0, 1.0, interrupt)) return true;
        give_up(part, mine);
        return false;
    }

    void give_up(const Part& part, Worker& mine) {
        for (const Index x : mine.unplaced) mine.left.push_back({x, part.level - 1});
    }

    // All that is connected to mine.around.
    void gather_region(const Part& part, Worker& mine, Interrupt& interrupt) {
        mine.surroundings.gather(
            instance_, part.targets, mine.around, [&](Index x) { return tiles_.holds(part.level, part.k, x); },
            interrupt);
    }

    static void list_waiting(Worker& mine) {
        mine.around.clear();
        for (const Waiting& source : mine.left) mine.around.push_back(source.x);
    }

    // A source that the simplex left may have been searched from again.
    static void drop_repeated(std::vector<Waiting>& sources) {
        std::stable_sort(sources.begin(), sources.end(), [](const Waiting& a, const Waiting& b) { return a.x < b.x; });
        sources.erase(
            std::unique(sources.begin(), sources.end(), [](const Waiting& a, const Waiting& b) { return a.x == b.x; }),
            sources.end());
    }

    // Solves mine.surroundings afresh by the simplex.
    void solve_region(const Part& part, Worker& mine, Interrupt& interrupt) {
        auto& tree = instance_.target.tree;
        const auto margin = [&](Index x) { return tree.margin(part.targets, instance_.source.points[x]); };
        mine.simplex.solve(
            instance_, plan_, mine.paths.stock, mine.surroundings.sources, mine.surroundings.targets,
            [&](Index x) { return std::min(instance_.reach, margin(x).distance); }, interrupt);
        mine.by_simplex += static_cast<std::int64_t>(mine.surroundings.sources.size());
        tree.bound_prices(part.targets, [this](Index y) { return instance_.target.potential[y]; });
        if (part.level == 0) proved_.resize(instance_.source.points.n, false);
        for (const Index x : mine.surroundings.sources) {
            if (plan_.source_left[x] > 0.0 && instance_.source.potential[x] < instance_.reach)
                mine.left.push_back({x, margin(x).level});
            if (part.level == 0) proved_[x] = true;
        }
    }

    // Whether most sources of a part have everything in reach inside it. Elsewhere the simplex would solve a problem
    // that has little to do with the whole.
    bool is_local(const Part& part) const {
        const auto* const begin = tiles_.begin(part.level, part.k);
        const auto* const end = tiles_.end(part.level, part.k);
        const auto deep = std::count_if(begin, end, [&](const auto& at) {
            return instance_.target.tree.margin(part.targets, instance_.source.points[at.x]).distance >=
                   instance_.reach;
        });
        return 2 * deep >= end - begin;
    }

    void tighten_potentials(Crew& crew) {
        const auto price = [this](Index y) {
            return instance_.target.mass[y] > 0.0 ? instance_.target.potential[y] : instance_.reach;
        };
        instance_.target.tree.bound_prices(price, crew);
        over_ranges(instance_.source.points.n, crew, [&](std::size_t begin, std::size_t end) {
            for (auto x = static_cast<Index>(begin); x < static_cast<Index>(end); ++x) {
                if (!(instance_.source.mass[x] > 0.0) || (!proved_.empty() && proved_[x])) continue;
                instance_.tighten(x, instance_.reach, [&](const double& limit, const auto& visit) {
                    instance_.target.tree.look_cheap(instance_.source.points[x], limit, price, visit);
                });
            }
        });
    }

    Measure sources_;
    Measure targets_;
    Box<D> target_box_;
    Instance<D> instance_;
    Labels labels_;
    Tiles<D> tiles_;
    std::deque<Worker> workers_;  // which are never moved
    std::vector<char> proved_;    // sources whose potentials the simplex has made feasible for good; empty: none
};

// What `new_transport` gives for D coordinates. Each D is compiled in a file of its own, as it takes longest.
template <int D>
std::unique_ptr<PartialTransport> new_transport() {
    return std::make_unique<Transport<D>>();
}
extern template std::unique_ptr<PartialTransport> new_transport<0>();
extern template std::unique_ptr<PartialTransport> new_transport<2>();
extern template std::unique_ptr<PartialTransport> new_transport<3>();

}  // namespace flatmetric
