/* SPDX-License-Identifier: Apache-2.0 */
/* Makes system calls on files fail, those of the C library itself included: a seccomp filter turns them into signals,
 * whose handler makes the calls, or does not. Where what fails is not a file's, no filter is installed. */
#define _GNU_SOURCE
#include "inject_own.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const unsigned calls[] = {
    SYS_read,     SYS_pread64, SYS_readv,      SYS_write,      SYS_pwrite64, SYS_writev,   SYS_open,       SYS_openat,
    SYS_close,    SYS_stat,    SYS_fstat,      SYS_lstat,      SYS_lseek,    SYS_mmap,     SYS_ftruncate,  SYS_rename,
    SYS_renameat, SYS_unlink,  SYS_unlinkat,   SYS_mkdir,      SYS_mkdirat,  SYS_readlink, SYS_readlinkat, SYS_access,
    SYS_fchmod,   SYS_fcntl,   SYS_newfstatat, SYS_getdents64, SYS_flock,    SYS_eventfd2, SYS_dup,        SYS_statx,
};

/* The only call that the filter lets through; the address behind the instruction is what the filter sees. */
__asm__(".text\n"
        ".globl inject_call\n.hidden inject_call\n.type inject_call, @function\n"
        ".globl inject_called\n.hidden inject_called\n"
        "inject_call:\n"
        "  mov %rdi, %rax\n  mov %rsi, %rdi\n  mov %rdx, %rsi\n  mov %rcx, %rdx\n  mov %r8, %r10\n  mov %r9, %r8\n"
        "  mov 8(%rsp), %r9\n  syscall\n"
        "inject_called:\n"
        "  ret\n"
        ".size inject_call, .-inject_call\n");
long inject_call(long number, long a, long b, long c, long d, long e, long f);
extern const char inject_called[];

static bool is_write(long number)
{
    return number == SYS_write || number == SYS_pwrite64 || number == SYS_writev;
}

static bool is_read(long number)
{
    return number == SYS_read || number == SYS_pread64 || number == SYS_readv;
}

static bool is_open(long number)
{
    return number == SYS_open || number == SYS_openat;
}

static bool creates(long number, const greg_t *r)
{
    const long flags = number == SYS_open ? r[REG_RSI] : number == SYS_openat ? r[REG_RDX] : 0;
    return flags & O_CREAT || number == SYS_rename || number == SYS_renameat || number == SYS_mkdir ||
           number == SYS_mkdirat || number == SYS_ftruncate;
}

static bool makes_descriptor(long number, const greg_t *r)
{
    return is_open(number) || number == SYS_eventfd2 || number == SYS_dup ||
           (number == SYS_fcntl && (r[REG_RSI] == F_DUPFD_CLOEXEC || r[REG_RSI] == F_DUPFD));
}

/* Whether the system may answer this call so. What is written to the standard error output must arrive. */
static bool may_fail(long number, const greg_t *r)
{
    if (number == SYS_fcntl && !makes_descriptor(number, r))
        return false;
    if (is_write(number) && r[REG_RDI] == STDERR_FILENO)
        return false;
    switch (inject_what) {
    case INJECT_EIO:
        return !makes_descriptor(number, r) || is_open(number);
    case INJECT_ENOSPC:
        return is_write(number) || creates(number, r);
    case INJECT_EINTR:
        return is_write(number) || is_read(number) || is_open(number);
    case INJECT_EMFILE:
        return makes_descriptor(number, r);
    case INJECT_SHORT:
        return (is_write(number) || is_read(number)) && r[REG_RDX] > 1;
    default:
        return false;
    }
}

static const int errors[] = {
    [INJECT_EIO] = EIO, [INJECT_ENOSPC] = ENOSPC, [INJECT_EINTR] = EINTR, [INJECT_EMFILE] = EMFILE
};

static void on_call(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const long number = info->si_syscall;
    long size = r[REG_RDX];
    bool fails = may_fail(number, r) && inject_fails();
    (void)signal;
    if (fails && inject_what == INJECT_SHORT)
        size = number == SYS_readv || number == SYS_writev ? 1 : size / 2;
    if (fails && inject_what != INJECT_SHORT && number != SYS_close) {
        r[REG_RAX] = -errors[inject_what];
        return;
    }
    long result = inject_call(number, r[REG_RDI], r[REG_RSI], size, r[REG_R10], r[REG_R8], r[REG_R9]);
    r[REG_RAX] = fails && number == SYS_close ? -errors[inject_what] : result;
}

/* ---- the filter ---- */

#define WORD(at)              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define FIELD(name)           WORD(offsetof(struct seccomp_data, name))
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define RETURN(value)         BPF_STMT(BPF_RET | BPF_K, value)

static bool filter(void)
{
    enum { CALLS = COUNT(calls), HEAD = 3, TAIL = 10 };
    const uintptr_t own = (uintptr_t)inject_called;
    const struct sock_filter head[HEAD] = { FIELD(arch), EQUAL(AUDIT_ARCH_X86_64, 0, CALLS + 1), FIELD(nr) };
    const struct sock_filter tail[TAIL] = {
        RETURN(SECCOMP_RET_ALLOW),
        EQUAL(SYS_mmap, 0, 2), /* the calls jump to here; memory that is no file's is allowed */
        FIELD(args[4]),
        EQUAL(-1, 4, 0),
        FIELD(instruction_pointer),
        EQUAL(own, 0, 3),
        WORD(offsetof(struct seccomp_data, instruction_pointer) + 4),
        EQUAL((uint64_t)own >> 32, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_TRAP),
    };
    struct sock_filter code[HEAD + CALLS + TAIL];
    const struct sock_fprog program = { COUNT(code), code };
    memcpy(code, head, sizeof(head));
    for (size_t i = 0; i < CALLS; i++)
        code[HEAD + i] = (struct sock_filter)EQUAL(calls[i], (uint8_t)(CALLS - i), 0);
    memcpy(code + HEAD + CALLS, tail, sizeof(tail));
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

bool inject_files_start(void)
{
    const struct sigaction action = { .sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_RESTART };
    return !sigaction(SIGSYS, &action, NULL) && filter();
}
#else
bool inject_files_start(void)
{
    return false;
}
#endif

/* A thread that blocks the signal would end at its next call. */
__attribute__((visibility("default"))) int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    static int (*next)(int, const sigset_t *, sigset_t *);
    sigset_t without;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_sigmask");
    if (set && how != SIG_UNBLOCK) {
        without = *set;
        sigdelset(&without, SIGSYS);
        set = &without;
    }
    return next(how, set, before);
}
