#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "geometry/points.hpp"
#include "support/exact.hpp"

namespace flatmetric {

// An arc of a spanning tree of the sources, the targets and a root; kNone stands for the root. Mass flows from the
// source to the target; source -> root is mass that stays, root -> target room that stays free. `up` where the source
// is the child.
struct TreeArc {
    Index source;
    Index target;
    bool up;
    Exact flow;
};

// A spanning tree as a list of arcs. It is strongly feasible: an arc without flow points up. Of a source's arcs just
// one is up, the one to its parent; of a target's arcs just one is not.
class SpanningTree {
public:
    using Key = std::function<double(Index, Index)>;

    std::vector<TreeArc> arcs;

    // One source and one target, and as much as possible flows.
    void start(const Exact& supply, const Exact& demand) {
        if (supply < demand) {
            arcs = {{0, 0, true, supply}, {kNone, 0, false, demand - supply}};
        } else {
            arcs = {{0, 0, false, demand}, {0, kNone, true, supply - demand}};
        }
    }

    // Replaces every source, or every target, by its halves. Node v becomes the nodes from first[v] to first[v + 1],
    // one or two, of the given masses. key(v, other) tells where the other end of an arc lies along the axis across
    // which v is halved: the first half takes over the arcs with the smallest keys. The flow stays feasible and the
    // tree strongly feasible.
    void halve_sources(const std::vector<Index>& first, const std::vector<Exact>& mass, const Key& key);
    void halve_targets(const std::vector<Index>& first, const std::vector<Exact>& mass, const Key& key);

private:
    struct Keyed {
        double key;
        Index arc;
    };

    template <bool kSources>
    static Index own(const TreeArc& arc) {
        return kSources ? arc.source : arc.target;
    }
    template <bool kSources>
    static Index other(const TreeArc& arc) {
        return kSources ? arc.target : arc.source;
    }

    template <bool kSources>
    void put(Index own, Index other, bool to_parent, const Exact& flow) {
        const bool up = to_parent == kSources;
        halved_.push_back(kSources ? TreeArc{own, other, up, flow} : TreeArc{other, own, up, flow});
    }

    template <bool kSources>
    void halve(const std::vector<Index>& first, const std::vector<Exact>& mass, const Key& key);

    // The first half takes arcs until they carry its mass. The arc at which that happens goes to both; if it happens
    // between two arcs, the halves are joined by a new arc without flow, which must point up.
    template <bool kSources>
    void halve_node(const Keyed* begin, const Keyed* end, Index half, const std::vector<Exact>& mass);

    std::vector<TreeArc> halved_;
    std::vector<Index> begin_;
    std::vector<Keyed> by_node_;
};

}  // namespace flatmetric
