#include "transport/transport.hpp"

namespace flatmetric {

std::unique_ptr<PartialTransport> new_transport(int dim) {
    if (dim == 2) return new_transport<2>();
    if (dim == 3) return new_transport<3>();
    return new_transport<0>();
}

template std::unique_ptr<PartialTransport> new_transport<0>();

}  // namespace flatmetric
