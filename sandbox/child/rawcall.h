/*
 * System calls without libc: the result is the kernel's own, a negative errno on failure.
 *
 * The child after clone shares the parent's memory and with it the parent's errno, which libc's
 * wrappers would overwrite under a running thread; the init has no libc at all. Both use this.
 */
#ifndef ISORUN_SANDBOX_CHILD_RAWCALL_H
#define ISORUN_SANDBOX_CHILD_RAWCALL_H

#include <stdint.h>

#if !defined(__x86_64__)
#error "isorun knows the system call convention of x86-64 only; add yours to this file"
#endif

static inline long iso_raw6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* A pointer as a system call argument. */
#define ISO_ARG(pointer)	   ((long)(uintptr_t)(pointer))

#define iso_raw0(n)		   iso_raw6((n), 0, 0, 0, 0, 0, 0)
#define iso_raw1(n, a)		   iso_raw6((n), (a), 0, 0, 0, 0, 0)
#define iso_raw2(n, a, b)	   iso_raw6((n), (a), (b), 0, 0, 0, 0)
#define iso_raw3(n, a, b, c)	   iso_raw6((n), (a), (b), (c), 0, 0, 0)
#define iso_raw4(n, a, b, c, d)	   iso_raw6((n), (a), (b), (c), (d), 0, 0)
#define iso_raw5(n, a, b, c, d, e) iso_raw6((n), (a), (b), (c), (d), (e), 0)

/*
 * clone3 into `entry(argument)` on the stack that `args` names. `entry` must not return.
 * Returns the child's pid or a negative errno, in the parent only.
 */
static inline long iso_raw_clone3(const void *args, unsigned long size, void (*entry)(const void *),
				  const void *argument)
{
	long result;
	register void (*r12)(const void *) __asm__("r12") = entry;
	register const void *r13 __asm__("r13") = argument;
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t" /* the outermost frame */
			 "movq %%r13, %%rdi\n\t"
			 "callq *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"(435L /* clone3 */), "D"(args), "S"(size), "r"(r12), "r"(r13)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
