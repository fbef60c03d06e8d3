#pragma once

#include <vector>

#include "points.hpp"

namespace flatmetric {

constexpr Index kNone = -1;

// Mass carried from one source to one target.
struct Cell {
    Index source;
    Index target;
    Index next_of_source;
    Index next_of_target;
    double mass;
};

// The plan as it stands: the cells with mass, linked into a list for each source and each target.
class Flow {
public:
    void reset(Index sources, Index targets) {
        first_of_source_.assign(sources, kNone);
        first_of_target_.assign(targets, kNone);
        cells_.clear();
        unused_ = kNone;
    }

    const Cell& operator[](Index cell) const { return cells_[cell]; }
    Index first_of_source(Index source) const { return first_of_source_[source]; }
    Index first_of_target(Index target) const { return first_of_target_[target]; }

    void add(Index source, Index target, double mass) {
        for (Index c = first_of_target_[target]; c != kNone; c = cells_[c].next_of_target) {
            if (cells_[c].source == source) {
                cells_[c].mass += mass;
                return;
            }
        }
        const Cell fresh{source, target, first_of_source_[source], first_of_target_[target], mass};
        Index at = unused_;
        if (at != kNone) {
            unused_ = cells_[at].next_of_source;
            cells_[at] = fresh;
        } else {
            at = static_cast<Index>(cells_.size());
            cells_.push_back(fresh);
        }
        first_of_source_[source] = at;
        first_of_target_[target] = at;
    }

    // Takes `mass`, at most what the cell carries, away; an empty cell leaves the plan.
    void take(Index cell, double mass) {
        Cell& c = cells_[cell];
        c.mass -= mass;
        if (c.mass > 0.0) return;
        Index* link = &first_of_source_[c.source];
        while (*link != cell) link = &cells_[*link].next_of_source;
        *link = c.next_of_source;
        link = &first_of_target_[c.target];
        while (*link != cell) link = &cells_[*link].next_of_target;
        *link = c.next_of_target;
        c.next_of_source = unused_;
        unused_ = cell;
    }

private:
    std::vector<Index> first_of_source_;
    std::vector<Index> first_of_target_;
    std::vector<Cell> cells_;
    Index unused_ = kNone;
};

}  // namespace flatmetric
