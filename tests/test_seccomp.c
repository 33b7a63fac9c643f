/*
 * The default profile as data and as compiled: a small interpreter of the BPF subset that seccomp
 * uses runs the embedded program on every call, and each answer is compared with the lists.
 */
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/filter/embedded.h"
#include "sandbox/filter/seccomp_profile.h"

#define X32_BIT 0x40000000u

static uint64_t capabilities;

static uint32_t run_filter(const struct seccomp_data *data)
{
	uint32_t accumulator = 0;
	size_t count;
	const struct sock_filter *filter = iso_default_filter(capabilities, &count);
	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *op = &filter[pc];
		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(op->k % 4 == 0 && op->k < sizeof(*data));
			memcpy(&accumulator, (const char *)data + op->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			accumulator &= op->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += op->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += accumulator == op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += accumulator > op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += accumulator >= op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += accumulator & op->k ? op->jt : op->jf;
			break;
		case BPF_RET | BPF_K:
			return op->k;
		default:
			fail_msg("instruction %zu has the unexpected code 0x%x", pc, op->code);
		}
	}
	fail_msg("the filter runs off its end");
	return 0;
}

static uint32_t answer(int number, unsigned int index, uint64_t argument)
{
	struct seccomp_data data = {.nr = number, .arch = AUDIT_ARCH_X86_64};
	data.args[index] = argument;
	return run_filter(&data);
}

static bool is_listed(const char *const *list, int number)
{
	for (; *list != NULL; list++) {
		if (seccomp_syscall_resolve_name(*list) == number)
			return true;
	}
	return false;
}

static bool is_conditional(int number)
{
	for (unsigned int i = 0; i < iso_seccomp_choice_count; i++) {
		if (seccomp_syscall_resolve_name(iso_seccomp_choices[i].call) == number)
			return true;
	}
	for (unsigned int i = 0; i < iso_seccomp_flag_rule_count; i++) {
		if (seccomp_syscall_resolve_name(iso_seccomp_flag_rules[i].call) == number)
			return true;
	}
	for (unsigned int i = 0; i < iso_seccomp_mode_count; i++) {
		if (seccomp_syscall_resolve_name(iso_seccomp_modes[i].call) == number)
			return true;
	}
	for (unsigned int i = 0; i < iso_seccomp_target_count; i++) {
		if (seccomp_syscall_resolve_name(iso_seccomp_targets[i].call) == number)
			return true;
	}
	return number == SYS_ioctl || number == SYS_socket;
}

static void test_every_call_is_answered_as_listed(void **state)
{
	(void)state;
	unsigned int allowed = 0, refused = 0;
	for (int number = 0; number < 1024; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
		uint32_t expected = SECCOMP_RET_ERRNO | EPERM;
		if (is_conditional(number)) {
			free(name);
			continue;
		}
		if (is_listed(iso_seccomp_allowed, number))
			expected = SECCOMP_RET_ALLOW;
		else if (is_listed(iso_seccomp_absent, number) || (name == NULL && number > 450))
			expected = SECCOMP_RET_ERRNO | ENOSYS;
		uint32_t got = answer(number, 0, 0);
		if (got != expected)
			fail_msg("%d (%s): 0x%x instead of 0x%x", number, name ? name : "?", got,
				 expected);
		allowed += got == SECCOMP_RET_ALLOW;
		refused += got == (SECCOMP_RET_ERRNO | EPERM);
		free(name);
	}
	assert_true(allowed > 250);
	assert_true(refused > 40);
}

static void test_other_architectures_are_killed(void **state)
{
	(void)state;
	struct seccomp_data data = {.nr = 20, .arch = AUDIT_ARCH_I386};
	assert_int_equal(run_filter(&data), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer((int)(X32_BIT | SYS_getpid), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer((int)(X32_BIT | SYS_ioctl), 1, TIOCSTI), SECCOMP_RET_KILL_PROCESS);
}

static void test_socket_families(void **state)
{
	(void)state;
	for (uint64_t family = 0; family < 64; family++) {
		bool wanted = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			      family == AF_NETLINK;
		uint32_t expected = wanted ? SECCOMP_RET_ALLOW : (SECCOMP_RET_ERRNO | EAFNOSUPPORT);
		if (answer(SYS_socket, 0, family) != expected)
			fail_msg("family %d", (int)family);
		assert_int_equal(answer(SYS_socketpair, 0, family),
				 family == AF_UNIX ? SECCOMP_RET_ALLOW
						   : (SECCOMP_RET_ERRNO | EAFNOSUPPORT));
	}
	/* The kernel looks at 32 bits: what has more must not slip through as something else. */
	assert_int_equal(answer(SYS_socket, 0, 0x100000011u), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

/* F043: its own network a payload may look at. F097: no protocol that loads a module. */
static void test_F043_F097_socket_protocols(void **state)
{
	(void)state;
	static const struct {
		uint64_t family, protocol;
		bool allowed;
	} rows[] = {
		{AF_INET, 0, true},
		{AF_INET, IPPROTO_TCP, true},
		{AF_INET6, IPPROTO_UDP, true},
		{AF_INET6, IPPROTO_ICMPV6, true},
		{AF_INET, IPPROTO_RAW, true}, /* without CAP_NET_RAW the kernel refuses it */
		{AF_INET, 262, false},	      /* MPTCP */
		{AF_INET, IPPROTO_SCTP, false},
		{AF_INET6, IPPROTO_UDPLITE, false},
		{AF_INET, IPPROTO_DCCP, false},
		{AF_INET, 115, false}, /* L2TP */
		{AF_NETLINK, NETLINK_ROUTE, true},
		{AF_NETLINK, NETLINK_SOCK_DIAG, false},
		{AF_NETLINK, NETLINK_KOBJECT_UEVENT, false},
		{AF_NETLINK, NETLINK_GENERIC, false},
		{AF_NETLINK, UINT32_MAX, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct seccomp_data data = {
			.nr = SYS_socket,
			.arch = AUDIT_ARCH_X86_64,
			.args = {rows[i].family, SOCK_STREAM, rows[i].protocol},
		};
		uint32_t got = run_filter(&data);
		uint32_t expected =
			rows[i].allowed ? SECCOMP_RET_ALLOW : (SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
		if (got != expected)
			fail_msg("row %zu: 0x%x", i, got);
	}
}

/* F010: a mode with a set-id bit, in every call that gives one; where flags say that it is one. */
static void test_F010_set_id_bits(void **state)
{
	(void)state;
	static const uint64_t refused[] = {04755, 02755,	   06711,
					   04000, 0100000 | 04755, UINT64_C(0xffff0000000) | 04755};
	static const uint64_t fine[] = {0755, 01777, 0777, 0100644};
	static const uint64_t makes[] = {O_CREAT, O_CREAT | O_WRONLY | O_EXCL, O_TMPFILE | O_RDWR};
	static const uint64_t only_opens[] = {O_RDONLY, O_DIRECTORY, O_RDWR | O_TRUNC};
	for (unsigned int i = 0; i < iso_seccomp_mode_count; i++) {
		const struct iso_seccomp_mode *rule = &iso_seccomp_modes[i];
		struct seccomp_data data = {
			.nr = seccomp_syscall_resolve_name(rule->call),
			.arch = AUDIT_ARCH_X86_64,
		};
		for (size_t m = 0; m < ARRAY_SIZE(refused) + ARRAY_SIZE(fine); m++) {
			bool bad = m < ARRAY_SIZE(refused);
			data.args[rule->mode_index] =
				bad ? refused[m] : fine[m - ARRAY_SIZE(refused)];
			for (size_t f = 0; f < ARRAY_SIZE(makes); f++) {
				if (rule->flags_index >= 0)
					data.args[rule->flags_index] = makes[f];
				capabilities = 0;
				assert_int_equal(run_filter(&data), bad ? SECCOMP_RET_ERRNO | EPERM
									: SECCOMP_RET_ALLOW);
				capabilities = 1 << CAP_FSETID;
				assert_int_equal(run_filter(&data), SECCOMP_RET_ALLOW);
				capabilities = 0;
			}
			/* What is no mode then is whatever the register held. */
			for (size_t f = 0; f < ARRAY_SIZE(only_opens) && rule->flags_index >= 0;
			     f++) {
				data.args[rule->flags_index] = only_opens[f];
				assert_int_equal(run_filter(&data), SECCOMP_RET_ALLOW);
			}
		}
	}
	assert_int_equal(answer(SYS_openat2, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
	assert_int_equal(answer(SYS_mkdir, 1, 02775), SECCOMP_RET_ALLOW);
}

/* F088 */
static void test_F088_the_init_is_nobodys_target(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < iso_seccomp_target_count; i++) {
		int number = seccomp_syscall_resolve_name(iso_seccomp_targets[i].call);
		unsigned int index = iso_seccomp_targets[i].index;
		assert_int_equal(answer(number, index, 1), SECCOMP_RET_ERRNO | EPERM);
		assert_int_equal(answer(number, index, UINT64_C(0x100000001)),
				 SECCOMP_RET_ERRNO | EPERM);
		assert_int_equal(answer(number, index, 0), SECCOMP_RET_ALLOW);
		assert_int_equal(answer(number, index, 2), SECCOMP_RET_ALLOW);
	}
}

static void test_namespace_flags(void **state)
{
	(void)state;
	static const uint64_t flags[] = {CLONE_NEWNS,	CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
					 CLONE_NEWUSER, CLONE_NEWPID,	 CLONE_NEWNET};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		assert_int_equal(answer(SYS_clone, 0, flags[i]), SECCOMP_RET_ERRNO | EPERM);
		assert_int_equal(answer(SYS_clone, 0, flags[i] | CLONE_VM | 17),
				 SECCOMP_RET_ERRNO | EPERM);
		assert_int_equal(answer(SYS_unshare, 0, flags[i]), SECCOMP_RET_ERRNO | EPERM);
	}
	assert_int_equal(answer(SYS_unshare, 0, CLONE_NEWTIME), SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(answer(SYS_unshare, 0, CLONE_FILES), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(SYS_clone, 0, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(answer(SYS_clone3, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
}

static void test_ioctls_are_compared_in_32_bits(void **state)
{
	(void)state;
	assert_int_equal(answer(SYS_ioctl, 1, TIOCSTI), SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(answer(SYS_ioctl, 1, TIOCSTI | UINT64_C(0xdead00000000)),
			 SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(answer(SYS_ioctl, 1, 0x541C), SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(answer(SYS_ioctl, 1, TIOCSETD), SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(answer(SYS_ioctl, 1, TIOCGWINSZ), SECCOMP_RET_ALLOW);
}

static void test_no_call_is_listed_twice(void **state)
{
	(void)state;
	for (size_t i = 0; iso_seccomp_allowed[i] != NULL; i++) {
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(iso_seccomp_allowed[i], iso_seccomp_allowed[j]);
		assert_false(is_conditional(seccomp_syscall_resolve_name(iso_seccomp_allowed[i])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_call_is_answered_as_listed),
		cmocka_unit_test(test_other_architectures_are_killed),
		cmocka_unit_test(test_socket_families),
		cmocka_unit_test(test_F043_F097_socket_protocols),
		cmocka_unit_test(test_F010_set_id_bits),
		cmocka_unit_test(test_F088_the_init_is_nobodys_target),
		cmocka_unit_test(test_namespace_flags),
		cmocka_unit_test(test_ioctls_are_compared_in_32_bits),
		cmocka_unit_test(test_no_call_is_listed_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
