/*
 * Build-time program: compile the default profile and print its BPF instructions as C.
 *
 * Compiling costs milliseconds, loading the bytes is part of every run: the kernel translates them
 * and runs them once for every number there is. So most calls are decided in front by bisecting the
 * ranges of numbers that share a verdict, a third of what libseccomp makes of the same lists, and
 * libseccomp compiles the rest: rules about arguments, and the check of the architecture.
 * tests/test_seccomp.c holds the outcome against the lists, number by number.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/filter/seccomp_profile.h"

#define FILTER_MAX	4096
#define SHAPES_MAX	8
#define ARGUMENTS	6
#define INIT		1 /* its PID, inside */
#define MAKES_A_FILE	(O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
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

/* What the number of a call alone does not decide. */
static size_t compile_conditions(struct sock_filter *program, size_t capacity)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	check(filter == NULL ? -ENOMEM : 0, "seccomp_init");
	check(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "bad arch");
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

/* What becomes of a call, as far as its number says. */
enum verdict {
	REFUSE,
	ALLOW,
	ABSENT,
	IOCTL,
	SOCKET,
	CONDITIONS,
	MODES,			      /* and so many more: the shapes of iso_seccomp_modes */
	TARGETS = MODES + SHAPES_MAX, /* likewise, of iso_seccomp_targets by argument */
	VERDICT_COUNT = TARGETS + ARGUMENTS,
};

/* Which calls share code: those with the same arguments. */
struct shape {
	unsigned int mode_index;
	int flags_index;
};
static struct shape shapes[SHAPES_MAX];
static unsigned int shape_count;

static unsigned int shape_of(const struct iso_seccomp_mode *mode)
{
	unsigned int i = 0;
	while (i < shape_count && (shapes[i].mode_index != mode->mode_index ||
				   shapes[i].flags_index != mode->flags_index))
		i++;
	check(i == SHAPES_MAX ? -ERANGE : 0, mode->call);
	if (i == shape_count)
		shapes[shape_count++] = (struct shape){mode->mode_index, mode->flags_index};
	return i;
}

/* A name this libseccomp does not know is a call newer than it, which is absent anyway. */
static void judge(unsigned char *verdicts, const char *name, enum verdict verdict)
{
	int number = number_of(name);
	check(number >= HIGHEST_PROBED ? -ERANGE : 0, name);
	if (number >= 0)
		verdicts[number] = (unsigned char)verdict;
}

static void judge_all(unsigned char *verdicts, bool may_set_id)
{
	for (const char *const *name = iso_seccomp_allowed; *name != NULL; name++)
		judge(verdicts, *name, ALLOW);
	for (const char *const *name = iso_seccomp_absent; *name != NULL; name++)
		judge(verdicts, *name, ABSENT);
	for (unsigned int i = 0; i < iso_seccomp_choice_count; i++)
		judge(verdicts, iso_seccomp_choices[i].call, CONDITIONS);
	for (unsigned int i = 0; i < iso_seccomp_flag_rule_count; i++)
		judge(verdicts, iso_seccomp_flag_rules[i].call, CONDITIONS);
	for (unsigned int i = 0; i < iso_seccomp_mode_count; i++)
		judge(verdicts, iso_seccomp_modes[i].call,
		      may_set_id ? ALLOW : (enum verdict)(MODES + shape_of(&iso_seccomp_modes[i])));
	for (unsigned int i = 0; i < iso_seccomp_target_count; i++)
		judge(verdicts, iso_seccomp_targets[i].call,
		      (enum verdict)(TARGETS + iso_seccomp_targets[i].index));
	judge(verdicts, "ioctl", IOCTL);
	judge(verdicts, "socket", SOCKET);
	for (unsigned int number = highest_known_call() + 1; number <= HIGHEST_PROBED; number++)
		verdicts[number] = ABSENT;
}

/* Numbers from `first` on, until the next range's, share a verdict; the last range has no end. */
struct range {
	uint32_t first;
	enum verdict verdict;
};

static size_t find_ranges(const unsigned char *verdicts, struct range *ranges)
{
	size_t count = 0;
	for (uint32_t number = 0; number <= HIGHEST_PROBED; number++) {
		if (count == 0 || verdicts[number] != ranges[count - 1].verdict)
			ranges[count++] = (struct range){number, verdicts[number]};
	}
	return count;
}

/* A program that grows, and where in it each verdict stands. */
struct output {
	struct sock_filter *program;
	size_t count;
	size_t places[VERDICT_COUNT];
};

static void put(struct output *output, uint16_t code, uint32_t k, unsigned char jt,
		unsigned char jf)
{
	output->program[output->count++] = (struct sock_filter){code, jt, jf, k};
}

/* From the instruction that comes next to `place`; a jump takes at most 255. */
static unsigned char distance(const struct output *output, size_t place)
{
	size_t length = place - output->count - 1;
	check(length > UINT8_MAX ? -ERANGE : 0, "a jump in the filter");
	return (unsigned char)length;
}

/* Bisect `ranges`: `count` ranges take count - 1 comparisons. */
static void put_search(struct output *output, const struct range *ranges, size_t count)
{
	if (count == 1)
		return;
	size_t left = count / 2, right = count - left;
	size_t node = output->count;
	size_t right_place =
		right > 1 ? node + 1 + (left - 1) : output->places[ranges[left].verdict];
	size_t left_place = left > 1 ? node + 1 : output->places[ranges[0].verdict];
	put(output, BPF_JMP | BPF_JGE | BPF_K, ranges[left].first, distance(output, right_place),
	    distance(output, left_place));
	put_search(output, ranges, left);
	put_search(output, ranges + left, right);
}

/* What decides by arguments stands behind the search, each block at its verdict's place. A jump
 * goes forward only, so each has answers of its own. */
static void put_answer(struct output *output, uint32_t answer)
{
	put(output, BPF_RET | BPF_K, answer, 0, 0);
}

static void put_mode(struct output *output, const struct shape *shape)
{
	if (shape->flags_index >= 0) {
		put(output, BPF_LD | BPF_W | BPF_ABS, LOW_ARGUMENT((uint32_t)shape->flags_index), 0,
		    0);
		put(output, BPF_JMP | BPF_JSET | BPF_K, MAKES_A_FILE, 0, 2);
	}
	put(output, BPF_LD | BPF_W | BPF_ABS, LOW_ARGUMENT(shape->mode_index), 0, 0);
	put(output, BPF_JMP | BPF_JSET | BPF_K, ISO_SECCOMP_SET_ID, 1, 0);
	put_answer(output, SECCOMP_RET_ALLOW);
	put_answer(output, ANSWER(EPERM));
}

static void put_target(struct output *output, unsigned int index)
{
	put(output, BPF_LD | BPF_W | BPF_ABS, LOW_ARGUMENT(index), 0, 0);
	put(output, BPF_JMP | BPF_JEQ | BPF_K, INIT, 1, 0);
	put_answer(output, SECCOMP_RET_ALLOW);
	put_answer(output, ANSWER(EPERM));
}

static void put_ioctl(struct output *output)
{
	const unsigned int count = iso_seccomp_ioctl_count;
	put(output, BPF_LD | BPF_W | BPF_ABS, LOW_ARGUMENT(1), 0, 0);
	for (unsigned int i = 0; i < count; i++)
		put(output, BPF_JMP | BPF_JEQ | BPF_K, iso_seccomp_ioctls[i],
		    (unsigned char)(count - i), 0);
	put_answer(output, SECCOMP_RET_ALLOW);
	put_answer(output, ANSWER(EPERM));
}

/* The family, and of each the protocol. */
static void put_socket(struct output *output)
{
	const unsigned int refused = iso_seccomp_protocol_refused_count;
	const unsigned char block = (unsigned char)(2 + refused + 2);
	for (unsigned int i = 0; i < iso_seccomp_family_count; i++) {
		const struct iso_seccomp_family *family = &iso_seccomp_families[i];
		put(output, BPF_LD | BPF_W | BPF_ABS, LOW_ARGUMENT(0), 0, 0);
		put(output, BPF_JMP | BPF_JEQ | BPF_K, family->family, 0, block);
		put(output, BPF_LD | BPF_W | BPF_ABS, LOW_ARGUMENT(2), 0, 0);
		put(output, BPF_JMP | BPF_JGT | BPF_K, family->highest_protocol,
		    (unsigned char)(refused + 1), 0);
		for (unsigned int j = 0; j < refused; j++)
			put(output, BPF_JMP | BPF_JEQ | BPF_K, iso_seccomp_protocols_refused[j],
			    (unsigned char)(refused - j), 0);
		put_answer(output, SECCOMP_RET_ALLOW);
		put_answer(output, ANSWER(EPROTONOSUPPORT));
	}
	put_answer(output, ANSWER(EAFNOSUPPORT));
}

/* All blocks, noting their places; the search that leads to them is known only then. */
static void put_blocks(struct output *output)
{
	for (unsigned int i = 0; i < shape_count; i++) {
		output->places[MODES + i] = output->count;
		put_mode(output, &shapes[i]);
	}
	for (unsigned int i = 0; i < iso_seccomp_target_count; i++) {
		unsigned int index = iso_seccomp_targets[i].index;
		if (output->places[TARGETS + index] != 0)
			continue; /* another call has it */
		output->places[TARGETS + index] = output->count;
		put_target(output, index);
	}
	output->places[IOCTL] = output->count;
	put_ioctl(output);
	output->places[SOCKET] = output->count;
	put_socket(output);
	output->places[CONDITIONS] = output->count;
}

/*
 * The way to a verdict by the number alone. A wrong architecture and x32 numbers go on to
 * libseccomp's own check, which kills.
 */
static void put_preamble(struct output *output, bool may_set_id)
{
	static unsigned char verdicts[HIGHEST_PROBED + 1];
	static struct range ranges[HIGHEST_PROBED + 1];
	judge_all(verdicts, may_set_id);
	size_t range_count = find_ranges(verdicts, ranges);

	const size_t head = 4;
	output->places[ALLOW] = head + range_count - 1;
	output->places[REFUSE] = output->places[ALLOW] + 1;
	output->places[ABSENT] = output->places[ALLOW] + 2;
	output->count = output->places[ABSENT] + 1;
	put_blocks(output);
	const size_t end = output->count;

	output->count = 0;
	put(output, BPF_LD | BPF_W | BPF_ABS, OFFSET(arch), 0, 0);
	put(output, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0,
	    distance(output, output->places[CONDITIONS]));
	put(output, BPF_LD | BPF_W | BPF_ABS, OFFSET(nr), 0, 0);
	put(output, BPF_JMP | BPF_JGE | BPF_K, X32_BIT,
	    distance(output, output->places[CONDITIONS]), 0);
	put_search(output, ranges, range_count);
	put_answer(output, SECCOMP_RET_ALLOW);
	put_answer(output, ANSWER(EPERM));
	put_answer(output, ANSWER(ENOSYS));
	check(output->count == output->places[ABSENT] + 1 ? 0 : -EINVAL, "the search's length");
	output->count = end;
}

/* gen_seccomp [set-id]: the filter of those who may make set-id files. */
int main(int argc, char **argv)
{
	static struct sock_filter program[FILTER_MAX + 1];
	struct output output = {.program = program};
	put_preamble(&output, argc > 1 && strcmp(argv[1], "set-id") == 0);
	size_t count = output.count;
	count += compile_conditions(program + count, FILTER_MAX - count);

	printf("/* Generated by gen_seccomp; do not edit. */\n");
	for (size_t i = 0; i < count; i++)
		printf("{0x%04x, %u, %u, 0x%08x},\n", program[i].code, program[i].jt, program[i].jf,
		       program[i].k);
	return fflush(stdout) == 0 ? 0 : 1;
}
