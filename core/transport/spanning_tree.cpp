#include "transport/spanning_tree.hpp"

#include <algorithm>

namespace flatmetric {

template <bool kSources>
void SpanningTree::halve_node(const Keyed* begin, const Keyed* end, Index half, const std::vector<Exact>& mass) {
    const auto flow = [&](const Keyed* at) -> const Exact& { return arcs[at->arc].flow; };
    const auto far_end = [&](const Keyed* at) { return other<kSources>(arcs[at->arc]); };
    const Keyed* const parent = std::find_if(begin, end, [&](const Keyed& at) { return arcs[at.arc].up == kSources; });
    Exact rest = mass[half];
    const Keyed* cut = begin;
    for (; cut != end && rest.positive() && flow(cut) <= rest; ++cut) rest -= flow(cut);
    const Keyed* second = cut;
    const Keyed* joint = end;  // the arc by which the half without the parent's arc hangs on the tree
    if (cut != end && rest.positive()) {
        put<kSources>(half, far_end(cut), parent >= cut, rest);
        put<kSources>(half + 1, far_end(cut), parent <= cut, flow(cut) - rest);
        ++second;
    } else if (kSources) {
        const bool hang_second = parent < cut;
        put<kSources>(hang_second ? half + 1 : half, far_end(hang_second ? cut - 1 : cut), true, Exact());
    } else {
        // A target hangs on a source that sends it mass; that source hangs on the other half.
        const bool hang_second = parent < cut;
        const Keyed* const group_end = hang_second ? end : cut;
        joint =
            std::find_if(hang_second ? cut : begin, group_end, [&](const Keyed& at) { return flow(&at).positive(); });
        if (joint != group_end) {
            put<kSources>(hang_second ? half : half + 1, far_end(joint), false, Exact());
        } else {  // only where masses are too far apart for exact sums: no mass arrives
            joint = end;
            const Index alone = hang_second ? half + 1 : half;
            put<kSources>(alone, kNone, true, mass[alone]);
        }
    }
    for (const Keyed* at = begin; at != cut; ++at)
        put<kSources>(half, far_end(at), at == parent || at == joint, flow(at));
    for (const Keyed* at = second; at != end; ++at)
        put<kSources>(half + 1, far_end(at), at == parent || at == joint, flow(at));
}

template <bool kSources>
void SpanningTree::halve(const std::vector<Index>& first, const std::vector<Exact>& mass, const Key& key) {
    const std::size_t count = first.size() - 1;
    begin_.assign(count + 2, 0);
    halved_.clear();
    for (const TreeArc& arc : arcs) {
        if (own<kSources>(arc) == kNone) {
            halved_.push_back(arc);
        } else {
            ++begin_[own<kSources>(arc) + 2];
        }
    }
    for (std::size_t v = 2; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
    by_node_.resize(arcs.size());
    for (Index a = 0; a < static_cast<Index>(arcs.size()); ++a) {
        const Index v = own<kSources>(arcs[a]);
        if (v != kNone) by_node_[begin_[v + 1]++].arc = a;
    }
    for (Index v = 0; v < static_cast<Index>(count); ++v) {
        Keyed* const begin = by_node_.data() + begin_[v];
        Keyed* const end = by_node_.data() + begin_[v + 1];
        if (first[v + 1] - first[v] == 1) {
            for (const Keyed* at = begin; at != end; ++at) {
                const TreeArc& arc = arcs[at->arc];
                put<kSources>(first[v], other<kSources>(arc), arc.up == kSources, arc.flow);
            }
            continue;
        }
        for (Keyed* at = begin; at != end; ++at) at->key = key(v, other<kSources>(arcs[at->arc]));
        std::sort(begin, end,
                  [](const Keyed& a, const Keyed& b) { return a.key != b.key ? a.key < b.key : a.arc < b.arc; });
        halve_node<kSources>(begin, end, first[v], mass);
    }
    arcs.swap(halved_);
}

void SpanningTree::halve_sources(const std::vector<Index>& first, const std::vector<Exact>& mass, const Key& key) {
    halve<true>(first, mass, key);
}

void SpanningTree::halve_targets(const std::vector<Index>& first, const std::vector<Exact>& mass, const Key& key) {
    halve<false>(first, mass, key);
}

}  // namespace flatmetric
