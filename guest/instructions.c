// SPDX-License-Identifier: Apache-2.0
// A plugin of QEMU, for testbeds of `kind: vm` without KVM: it counts the instructions that the guest executes, by where
// in the guest's kernel they are. The counts are in a file that natxy reads while the guest runs.
//
//     -plugin file=instructions.so,counts=FILE
//
// The file holds, as 64-bit numbers of this machine: a magic number, the number of places in use, and then the places.
// A place is an address and the instructions executed there. An address is that of a block of instructions which QEMU
// translated as one. Place 0 has no address, but all blocks outside of the kernel's half of the address space. Place 1
// has the first address of that half, and all blocks of the kernel that came when there were no more places. Counts of
// several virtual CPUs would be lost where they meet, so that a guest has to have one.
//
// A repeated string instruction (x86) counts once, as a processor counts it; not at all if a jump leads to it. QEMU
// executes each repetition after the first as a block of its own, which would make 4,096 instructions of a page that the
// kernel clears.

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Debian's packages of QEMU 7.2 lack its header. These are the parts of the interface's version 1 that are used here.
typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t number);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*on_block)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, enum qemu_plugin_op, void *count, uint64_t);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;

#define MAGIC UINT64_C(0x3173746375727473)
#define FIRST_OF_KERNEL UINT64_C(0x8000000000000000)
#define MOST_PLACES (UINT64_C(1) << 19)
#define BUCKETS (2 * MOST_PLACES)

struct place {
	uint64_t address, instructions;
};

struct counts {
	uint64_t magic, used;
	struct place places[MOST_PLACES];
};

static struct counts *counts;
// Numbers of places by their addresses; 0 where there is none.
static uint32_t buckets[BUCKETS];

enum { OUTSIDE, REST, FIRST };

// Returns the place of an address, a new one if there is none.
static struct place *place_of(uint64_t address) {
	if (address < FIRST_OF_KERNEL)
		return &counts->places[OUTSIDE];
	uint64_t bucket = address * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (BUCKETS - 1);
	while (buckets[bucket] && counts->places[buckets[bucket]].address != address)
		bucket = (bucket + 1) & (BUCKETS - 1);
	if (!buckets[bucket] && counts->used < MOST_PLACES) {
		counts->places[counts->used].address = address;
		buckets[bucket] = (uint32_t)counts->used;
		__atomic_store_n(&counts->used, counts->used + 1, __ATOMIC_RELEASE);
	}
	return &counts->places[buckets[bucket] ? buckets[bucket] : REST];
}

// Returns whether an instruction is INS, OUTS, MOVS, CMPS, STOS, LODS or SCAS with a prefix REP.
static bool is_repeated(const struct qemu_plugin_insn *instruction) {
	const uint8_t *const bytes = qemu_plugin_insn_data(instruction);
	const size_t size = qemu_plugin_insn_size(instruction);
	bool repeated = false;
	for (size_t i = 0; i < size; ++i) {
		const uint8_t byte = bytes[i];
		if (byte == 0xf2 || byte == 0xf3)
			repeated = true;
		else if ((byte & 0xf0) != 0x40 && (byte < 0x64 || byte > 0x67))
			return repeated && ((byte & 0xfc) == 0x6c || (byte & 0xfc) == 0xa4 || (byte >= 0xaa && byte <= 0xaf));
	}
	return false;
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
	(void)id;
	if (qemu_plugin_tb_n_insns(block) == 1 && is_repeated(qemu_plugin_tb_get_insn(block, 0)))
		return;
	struct place *place = place_of(qemu_plugin_tb_vaddr(block));
	qemu_plugin_register_vcpu_tb_exec_inline(
	    block, QEMU_PLUGIN_INLINE_ADD_U64, &place->instructions, qemu_plugin_tb_n_insns(block));
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count, char **arguments) {
	(void)info;
	const char *const name = "counts=";
	if (count != 1 || strncmp(arguments[0], name, strlen(name)) != 0) {
		fputs("instructions.so: expected the one argument counts=FILE\n", stderr);
		return 1;
	}
	const int file = open(arguments[0] + strlen(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, sizeof *counts) != 0) {
		perror("instructions.so: cannot write the file of counts");
		return 1;
	}
	counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (counts == MAP_FAILED) {
		perror("instructions.so: cannot map the file of counts");
		return 1;
	}
	counts->places[REST].address = FIRST_OF_KERNEL;
	counts->used = FIRST;
	__atomic_store_n(&counts->magic, MAGIC, __ATOMIC_RELEASE);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	return 0;
}
