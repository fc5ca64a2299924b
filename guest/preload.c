// SPDX-License-Identifier: Apache-2.0
// Preloaded into Debian's user-mode Linux. It corrects three system calls that the guest's kernel makes on the host.
//
// ptrace: the guest stores a process's floating point registers in 2696 bytes. On a CPU with AMX they take more, the host
// rejects the call, and the guest panics ("ptrace set fp regs failed"). Here the registers pass through a buffer that is
// large enough, and those that the guest does not know remain unchanged.
//
// bind: frames wait for the guest in its packet socket, as in the ring of a network card. The host's default size
// (net.core.rmem_default) holds 280 frames. It is replaced by GUEST_RECEIVE_BUFFER bytes. The guest's sending socket is
// bound to no protocol; otherwise it would receive every IPv4 frame, and nothing would read them.
//
// sendmmsg: the guest gets an interrupt whenever the state of its sending socket changes, which is twice for every frame.
// It sends through a second socket instead, which it does not poll and which receives nothing. This nearly doubles the
// rate at which the guest forwards frames.

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

// The registers of a core take far less than this: 11 KiB with AMX.
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
        // The system call stores the word, whereas the C library's function returns it.
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

static void set_option(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

int bind(int fd, const struct sockaddr *address, socklen_t length) {
    const char *bytes = getenv("GUEST_RECEIVE_BUFFER");
    struct sockaddr_ll link;
    if (address->sa_family == AF_PACKET && length == sizeof link && bytes != NULL) {
        memcpy(&link, address, sizeof link);
        if (link.sll_protocol == htons(ETH_P_ALL)) {
            // The kernel doubles the requested size to allow for its own bookkeeping.
            set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, atoi(bytes) / 2);
        } else {
            link.sll_protocol = 0;
        }
        address = (const struct sockaddr *)&link;
    }
    return (int)syscall(SYS_bind, fd, address, length);
}

// The sending sockets that receive nothing, indexed by the guest's own socket: 0 if not made yet, -1 if not replaced.
static int send_socket[1024];

static int make_send_socket(int fd) {
    struct sockaddr_ll link;
    socklen_t length = sizeof link;
    if (getsockname(fd, (struct sockaddr *)&link, &length) < 0 || link.sll_family != AF_PACKET) {
        return -1;
    }
    int replacement = socket(AF_PACKET, SOCK_RAW, 0);
    if (replacement < 0) {
        return -1;
    }
    int offload_header = 0;
    length = sizeof offload_header;
    getsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &offload_header, &length);
    set_option(replacement, SOL_PACKET, PACKET_VNET_HDR, offload_header);
    // Without this option the guest receives a copy of every frame that it sends.
    set_option(replacement, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
    set_option(replacement, SOL_SOCKET, SO_SNDBUFFORCE, 8 << 20);
    link.sll_protocol = 0;
    if (bind(replacement, (struct sockaddr *)&link, sizeof link) < 0) {
        close(replacement);
        return -1;
    }
    return replacement;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    if (fd >= 0 && fd < (int)(sizeof send_socket / sizeof *send_socket)) {
        if (send_socket[fd] == 0) {
            send_socket[fd] = make_send_socket(fd);
        }
        if (send_socket[fd] > 0) {
            fd = send_socket[fd];
        }
    }
    // The replacement socket would block, and while the guest waits for the host it is stopped as a whole.
    return (int)syscall(SYS_sendmmsg, fd, messages, count, flags | MSG_DONTWAIT);
}
