// SPDX-License-Identifier: Apache-2.0
#include "port/buffer_pool.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace natxy {

namespace {

constexpr unsigned kPoolCache = 256;

/// Gives a pool memory of its own, which the kernel gets back when the pool is freed. DPDK's heap keeps its small pages
/// for ever. It also uses the place of a freed pool for smaller things, so that the next pool may not fit there.
bool populate_apart(rte_mempool* pool) {
  const std::size_t bytes = std::size_t{pool->size} * (pool->header_size + pool->elt_size + pool->trailer_size);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    rte_errno = ENOMEM;
    return false;
  }
  const auto unmap = [](rte_mempool_memhdr* chunk, void*) { munmap(chunk->addr, chunk->len); };
  const int buffers = rte_mempool_populate_iova(pool, static_cast<char*>(memory), RTE_BAD_IOVA, bytes, unmap, nullptr);
  if (buffers <= 0) munmap(memory, bytes);  // otherwise the pool owns it
  return std::cmp_equal(buffers, pool->size);
}

}  // namespace

rte_mempool* create_buffer_pool(const std::string& name, unsigned buffers, std::size_t frame_bytes, int numa,
                                bool dense) {
  const auto room = static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + frame_bytes);
  rte_mempool* pool = rte_mempool_create_empty(name.c_str(), buffers, static_cast<unsigned>(sizeof(rte_mbuf)) + room,
                                               kPoolCache, sizeof(rte_pktmbuf_pool_private), numa,
                                               dense ? RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NO_SPREAD : 0);
  if (pool == nullptr) return nullptr;
  if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr) != 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_pktmbuf_pool_private layout{};
  layout.mbuf_data_room_size = room;
  rte_pktmbuf_pool_init(pool, &layout);
  const bool apart = dense && rte_eal_has_hugepages() == 0;
  if (apart ? !populate_apart(pool) : rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

}  // namespace natxy
