#include "frames/solve_in.hpp"

namespace flatmetric {

template Solution solve_in<1>(const Cloud&, const Cloud&, int, double, double, Method, int,
                              const std::function<bool()>&);

}  // namespace flatmetric
