// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mempool.h>

#include <cstddef>
#include <string>

namespace natxy {

/// Creates a pool as rte_pktmbuf_pool_create does, except that the buffers of a `dense` pool are adjacent. DPDK's
/// AF_XDP driver gives the kernel the memory of exactly that many adjacent buffers. With gaps before page boundaries,
/// the last buffers would lie outside this memory on small pages, and every frame in them would be lost silently. Nor
/// is padding added to spread buffers over memory channels, because the longest AF_XDP buffers fill a page. Returns
/// nullptr and sets rte_errno if there is no memory.
rte_mempool* create_buffer_pool(const std::string& name, unsigned buffers, std::size_t frame_bytes, int numa,
                                bool dense);

}  // namespace natxy
