// SPDX-License-Identifier: Apache-2.0
// Preloaded into Debian's user-mode Linux, to put right three things that its kernel program asks of the host.
//
// ptrace: it keeps a process's floating point registers in 2696 bytes. Those of a CPU with AMX take more, the host
// refuses, and the guest panics ("ptrace set fp regs failed"). Here they pass through a buffer that is large enough,
// and what the guest doesn't know of stays as it is.
//
// bind: frames wait for the guest in its packet socket, as they would in a network card's ring. The host's default
// (net.core.rmem_default) holds 280 of them; GUEST_RECEIVE_BUFFER bytes are given instead. The socket that the guest
// sends through is bound to no protocol: it would receive every IPv4 frame, for nobody to read.
//
// sendmmsg: the guest is interrupted whenever the socket that it sends through changes, hence twice for every frame. A
// second socket, watched by nobody and deaf, nearly doubles the rate that the guest forwards at.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <elf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// What a core's registers may take is far from this: 11 KiB with AMX.
static char registers[1 << 16] __attribute__((aligned(64)));

static long extended_registers(enum __ptrace_request request, long pid, void *type, struct iovec *wanted) {
    struct iovec all = {registers, sizeof registers};
    long result = syscall(SYS_ptrace, PTRACE_GETREGSET, pid, type, &all);
    if (result < 0) {
        return result;
    }
    size_t size = wanted->iov_len < all.iov_len ? wanted->iov_len : all.iov_len;
    if (request == PTRACE_GETREGSET) {
        memcpy(wanted->iov_base, registers, size);
        wanted->iov_len = size;
        return result;
    }
    memcpy(registers, wanted->iov_base, size);
    return syscall(SYS_ptrace, request, pid, type, &all);
}

long ptrace(enum __ptrace_request request, ...) {
    va_list arguments;
    va_start(arguments, request);
    long pid = va_arg(arguments, int);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);

    if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) && (long)address == NT_X86_XSTATE) {
        return extended_registers(request, pid, address, data);
    }
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        // The system call stores the word that the C library's function returns.
        long word;
        long result = syscall(SYS_ptrace, request, pid, address, &word);
        if (result < 0) {
            return result;
        }
        errno = 0;
        return word;
    }
    return syscall(SYS_ptrace, request, pid, address, data);
}

static void ask(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

int bind(int fd, const struct sockaddr *address, socklen_t length) {
    const char *bytes = getenv("GUEST_RECEIVE_BUFFER");
    struct sockaddr_ll link;
    if (address->sa_family == AF_PACKET && length == sizeof link && bytes != NULL) {
        memcpy(&link, address, sizeof link);
        if (link.sll_protocol == htons(ETH_P_ALL)) {
            // The kernel doubles what it is asked for, to allow for its own bookkeeping.
            ask(fd, SOL_SOCKET, SO_RCVBUFFORCE, atoi(bytes) / 2);
        } else {
            link.sll_protocol = 0;
        }
        address = (const struct sockaddr *)&link;
    }
    return (int)syscall(SYS_bind, fd, address, length);
}

// By the number of the guest's own socket: 0 not looked at yet, -1 nothing to replace it.
static int deaf_socket[1024];

static int make_deaf_socket(int fd) {
    struct sockaddr_ll link;
    socklen_t length = sizeof link;
    if (getsockname(fd, (struct sockaddr *)&link, &length) < 0 || link.sll_family != AF_PACKET) {
        return -1;
    }
    int deaf = socket(AF_PACKET, SOCK_RAW, 0);
    if (deaf < 0) {
        return -1;
    }
    int offload_header = 0;
    length = sizeof offload_header;
    getsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &offload_header, &length);
    ask(deaf, SOL_PACKET, PACKET_VNET_HDR, offload_header);
    // Without it the guest receives a copy of all that it sends.
    ask(deaf, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
    ask(deaf, SOL_SOCKET, SO_SNDBUFFORCE, 8 << 20);
    link.sll_protocol = 0;
    if (bind(deaf, (struct sockaddr *)&link, sizeof link) < 0) {
        close(deaf);
        return -1;
    }
    return deaf;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    if (fd >= 0 && fd < (int)(sizeof deaf_socket / sizeof *deaf_socket)) {
        if (deaf_socket[fd] == 0) {
            deaf_socket[fd] = make_deaf_socket(fd);
        }
        if (deaf_socket[fd] > 0) {
            fd = deaf_socket[fd];
        }
    }
    // The deaf socket blocks like any other, and a guest that waits for the host stands still as a whole.
    return (int)syscall(SYS_sendmmsg, fd, messages, count, flags | MSG_DONTWAIT);
}
