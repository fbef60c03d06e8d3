#pragma once

#include <cstddef>
#include <vector>

#include "geometry/points.hpp"

namespace flatmetric {

// Four-ary heap of (key, node), smallest key first, equal keys by node.
class Heap {
public:
    struct Item {
        double key;
        Index node;
    };

    bool empty() const { return size_ == 0; }
    void clear() { size_ = 0; }

    void push(double key, Index node) {
        if (size_ == items_.size()) items_.resize(2 * size_ + 64);
        const Item item{key, node};
        std::size_t at = size_++;
        while (at > 0) {
            const std::size_t up = (at - 1) / 4;
            if (!before(item, items_[up])) break;
            items_[at] = items_[up];
            at = up;
        }
        items_[at].key = key;
        items_[at].node = node;
    }

    Item pop() {
        const Item top = items_[0];
        const Item item = items_[--size_];
        const std::size_t n = size_;
        std::size_t at = 0;
        while (4 * at + 1 < n) {
            std::size_t best = 4 * at + 1;
            if (best + 4 <= n) {
                const std::size_t left = first_of(best, best + 1);
                best = first_of(left, first_of(best + 2, best + 3));
            } else {
                for (std::size_t child = best + 1; child < n; ++child) best = first_of(best, child);
            }
            if (!before(items_[best], item)) break;
            items_[at] = items_[best];
            at = best;
        }
        if (n > 0) items_[at] = item;
        return top;
    }

private:
    // Without a branch, since which of two comes first is unpredictable.
    static bool before(const Item& a, const Item& b) {
        return static_cast<int>(a.key < b.key) | (static_cast<int>(a.key == b.key) & static_cast<int>(a.node < b.node));
    }

    std::size_t first_of(std::size_t a, std::size_t b) const { return before(items_[b], items_[a]) ? b : a; }

    std::vector<Item> items_;
    std::size_t size_ = 0;
};

}  // namespace flatmetric
