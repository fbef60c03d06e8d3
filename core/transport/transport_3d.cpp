#include "transport/transport.hpp"

namespace flatmetric {

template std::unique_ptr<PartialTransport> new_transport<3>();

}  // namespace flatmetric
