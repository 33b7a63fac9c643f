/*
 * Build-time program: compile the default profile and print its BPF instructions as C.
 *
 * libseccomp compiles the lists; compiling costs milliseconds, loading the bytes does not. The tree
 * form (SCMP_FLTATR_CTL_OPTIMIZE 2) loads and runs faster than a line of three hundred comparisons.
 * In front stand a few instructions for what libseccomp cannot say: "all ioctls but these", and
 * "newer than I know".
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/seccomp_profile.h"

#define FILTER_MAX	4096
#define X32_BIT		0x40000000
#define HIGHEST_PROBED	1023
#define ANSWER(error)	(SECCOMP_RET_ERRNO | (error))
#define OFFSET(member)	((uint32_t)offsetof(struct seccomp_data, member))
#define LOW_ARGUMENT(n) (OFFSET(args) + 8 * (n)) /* little endian */

static void check(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "gen_seccomp: %s: %s\n", what, strerror(-result));
		exit(1);
	}
}

static int number_of(const char *name)
{
	return seccomp_syscall_resolve_name(name);
}

/* A name this libseccomp does not know is a call newer than it, which answers ENOSYS anyway. */
static void add_list(scmp_filter_ctx filter, const char *const *names, uint32_t action)
{
	for (; *names != NULL; names++) {
		if (number_of(*names) != __NR_SCMP_ERROR)
			check(seccomp_rule_add(filter, action, number_of(*names), 0), *names);
	}
}

static void add_when(scmp_filter_ctx filter, uint32_t action, const char *call,
		     struct scmp_arg_cmp when)
{
	check(seccomp_rule_add_array(filter, action, number_of(call), 1, &when), call);
}

static int is_chosen(const struct iso_seccomp_choice *choice, uint64_t value)
{
	for (unsigned int i = 0; i < choice->value_count; i++) {
		if (choice->values[i] == value)
			return 1;
	}
	return 0;
}

/* Rules are alternatives, and what none matches is EPERM. Another errno therefore needs its rules:
 * for the gaps between the values one by one, and for all above. */
static void add_choice(scmp_filter_ctx filter, const struct iso_seccomp_choice *choice)
{
	unsigned int index = choice->index;
	uint64_t highest = choice->values[choice->value_count - 1];
	for (unsigned int i = 0; i < choice->value_count; i++)
		add_when(filter, SCMP_ACT_ALLOW, choice->call,
			 SCMP_CMP64(index, SCMP_CMP_EQ, choice->values[i]));
	if (choice->small_value_error == 0)
		return;
	uint32_t refuse = SCMP_ACT_ERRNO((uint16_t)choice->small_value_error);
	for (uint64_t value = 0; value < highest; value++) {
		if (!is_chosen(choice, value))
			add_when(filter, refuse, choice->call,
				 SCMP_CMP64(index, SCMP_CMP_EQ, value));
	}
	add_when(filter, refuse, choice->call, SCMP_CMP64(index, SCMP_CMP_GT, highest));
}

static size_t compile_lists(struct sock_filter *program, size_t capacity)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	check(filter == NULL ? -ENOMEM : 0, "seccomp_init");
	check(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "bad arch");
	check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimise");
	add_list(filter, iso_seccomp_allowed, SCMP_ACT_ALLOW);
	add_list(filter, iso_seccomp_absent, SCMP_ACT_ERRNO(ENOSYS));
	for (unsigned int i = 0; i < iso_seccomp_choice_count; i++)
		add_choice(filter, &iso_seccomp_choices[i]);
	for (unsigned int i = 0; i < iso_seccomp_flag_rule_count; i++) {
		const struct iso_seccomp_flags *rule = &iso_seccomp_flag_rules[i];
		add_when(filter, SCMP_ACT_ALLOW, rule->call,
			 SCMP_CMP64(rule->index, SCMP_CMP_MASKED_EQ, rule->forbidden_mask, 0));
	}

	FILE *exported = tmpfile();
	check(exported == NULL ? -errno : 0, "tmpfile");
	check(seccomp_export_bpf(filter, fileno(exported)), "export");
	seccomp_release(filter);
	rewind(exported);
	size_t count = fread(program, sizeof(*program), capacity, exported);
	check(count == 0 || count == capacity ? -EFBIG : 0, "read the exported filter");
	fclose(exported);
	return count;
}

static uint32_t highest_known_call(void)
{
	int number = HIGHEST_PROBED;
	char *name = NULL;
	while (number > 0 &&
	       (name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number)) == NULL)
		number--;
	free(name);
	return (uint32_t)number;
}

/* See the head of this file. A wrong architecture and x32 numbers fall through to libseccomp's own
 * check, which kills. Offsets count from the instruction behind. */
static size_t write_preamble(struct sock_filter *program)
{
	const unsigned char ioctls = (unsigned char)iso_seccomp_ioctl_count;
	size_t count = 0;
	const unsigned char size = (unsigned char)(10 + ioctls); /* of the whole preamble */

#define LEFT ((unsigned char)(size - count - 1)) /* a jump over what is left of the preamble */
	program[count] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(arch));
	count++;
	program[count] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, LEFT);
	count++;
	program[count] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(nr));
	count++;
	program[count] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, LEFT, 0);
	count++;
	program[count] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, highest_known_call(), 0, 1);
	count++;
	program[count] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, ANSWER(ENOSYS));
	count++;
	program[count] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, LEFT);
	count++;
	program[count] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_ARGUMENT(1));
	count++;
	for (unsigned int i = 0; i < ioctls; i++) {
		unsigned char to_refusal = (unsigned char)(ioctls - i);
		program[count] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      iso_seccomp_ioctls[i], to_refusal, 0);
		count++;
	}
	program[count] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	count++;
	program[count] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, ANSWER(EPERM));
	count++;
#undef LEFT
	check(count == size ? 0 : -EINVAL, "length of the preamble");
	return count;
}

int main(void)
{
	static struct sock_filter program[FILTER_MAX + 1];
	size_t count = write_preamble(program);
	count += compile_lists(program + count, FILTER_MAX - count);

	printf("/* Generated by gen_seccomp; do not edit. */\n");
	for (size_t i = 0; i < count; i++)
		printf("{0x%04x, %u, %u, 0x%08x},\n", program[i].code, program[i].jt, program[i].jf,
		       program[i].k);
	return fflush(stdout) == 0 ? 0 : 1;
}
