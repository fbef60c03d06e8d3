#include "frames/solve.hpp"

#include <functional>

#include "frames/solve_in.hpp"

namespace flatmetric {

Solution solve_frames(const Cloud& truth, const Cloud& pred, int dim, double lam, double divisor, Method method,
                      int threads, const std::function<bool()>& should_stop) {
    switch (dim) {
        case 1:
            return solve_in<1>(truth, pred, dim, lam, divisor, method, threads, should_stop);
        case 2:
            return solve_in<2>(truth, pred, dim, lam, divisor, method, threads, should_stop);
        case 3:
            return solve_in<3>(truth, pred, dim, lam, divisor, method, threads, should_stop);
        default:
            return solve_in<0>(truth, pred, dim, lam, divisor, method, threads, should_stop);
    }
}

}  // namespace flatmetric
