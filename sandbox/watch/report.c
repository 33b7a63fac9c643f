/* The words for each step stand in sandbox/child/steps.h; here they meet the plan's objects. */
#include "sandbox/watch/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/error.h"

static const char *const step_texts[ISO_STEP_COUNT] = {[ISO_STEP_UNSET] = "",
#define ISO_STEP_TEXT(name, text) [ISO_STEP_##name] = text,
						       ISO_STEPS(ISO_STEP_TEXT)
#undef ISO_STEP_TEXT
};

/* What the operator can do, by step and errno; 0 matches any. The first match counts. */
static const struct {
	uint32_t step;
	int os_errno;
	const char *hint;
} remedies[] = {
	{ISO_STEP_ID_MAP, 0,
	 "ordinary users may not use user namespaces here: isorun doctor names the setting (on "
	 "Ubuntu "
	 "kernel.apparmor_restrict_unprivileged_userns, or an AppArmor profile for isorun)"},
	{ISO_STEP_USER_NAMESPACE, ENOSPC, "raise the sysctl user.max_user_namespaces"},
	{ISO_STEP_PROPAGATION, 0,
	 "this process may not change its mount tree: start it outside the container, or with "
	 "CAP_SYS_ADMIN"},
	{ISO_STEP_FORK, EAGAIN, "raise the process limit (--pids, or RLIMIT_NPROC)"},
	{ISO_STEP_SECCOMP, EINVAL,
	 "this kernel has no seccomp filter mode (CONFIG_SECCOMP_FILTER)"},
	{ISO_STEP_WORKDIR, EACCES,
	 "the payload has an identity of its own: the directory must be open to others, or be "
	 "bound "
	 "with --rw"},
};

const char *iso_step_text(uint32_t step)
{
	return step < ISO_STEP_COUNT ? step_texts[step] : "";
}

static void describe_fsop(const struct iso_world *world, uint32_t index, char *ret_text,
			  size_t size)
{
	if (index >= world->fsop_count) {
		snprintf(ret_text, size, "mount %u", index);
		return;
	}
	const struct iso_fsop *op = &world->fsops[index];
	bool from_host = op->kind == ISO_FSOP_BIND && strcmp(op->source, op->target) != 0;
	snprintf(ret_text, size, "mount %u: %s \"%s\"%s%s%s", index, iso_fsop_name(op->kind),
		 from_host ? op->source : op->target, from_host ? " at \"" : "",
		 from_host ? op->target : "", from_host ? "\"" : "");
}

static void describe(const struct iso_plan *plan, const struct iso_record *record, char *ret_text,
		     size_t size)
{
	switch (record->step) {
	case ISO_STEP_FSOP:
		describe_fsop(&plan->world, record->index, ret_text, size);
		break;
	case ISO_STEP_WORKDIR:
		snprintf(ret_text, size, "enter the working directory \"%s\"",
			 plan->command.workdir);
		break;
	case ISO_STEP_HOSTNAME:
		snprintf(ret_text, size, "set the host name \"%s\"", plan->world.hostname);
		break;
	case ISO_STEP_EXEC:
		snprintf(ret_text, size, "execute \"%s\"", plan->command.argv.items[0]);
		break;
	default:
		snprintf(ret_text, size, "%s", iso_step_text(record->step));
	}
}

/* Refusals that any step may meet, where no better advice is known. */
static void hint_refusal(struct iso_error *error)
{
	if (error->hint[0] != '\0')
		return;
	if (error->os_errno == ENOSYS)
		iso_error_hint(error, "this kernel, or the seccomp profile of a container, has no "
				      "such system call: isorun doctor names what is missing");
	else if (error->os_errno == EPERM)
		iso_error_hint(error,
			       "the seccomp profile of a container or a security module forbids "
			       "it here: isorun doctor looks closer");
}

void iso_report_hang(const struct iso_plan *plan, uint64_t at, struct iso_error *ret_error)
{
	char what[400] = "set up the isolation";
	const struct iso_record record = {.step = iso_step_of(at), .index = (uint32_t)at};
	if (record.step != ISO_STEP_UNSET)
		describe(plan, &record, what, sizeof(what));
	iso_error_set(ret_error, ISO_ERR_LAUNCH, 0, "%s: it hangs", what);
}

static bool is_masked_proc(const struct iso_plan *plan, const struct iso_record *record)
{
	return record->step == ISO_STEP_FSOP && record->value == EPERM &&
	       record->index < plan->world.fsop_count &&
	       plan->world.fsops[record->index].kind == ISO_FSOP_PROC;
}

void iso_report_failure(const struct iso_plan *plan, const struct iso_record *record,
			struct iso_error *ret_error)
{
	char what[400];
	describe(plan, record, what, sizeof(what));
	if (record->step == ISO_STEP_FSOP && record->value == ESTALE)
		iso_error_set(ret_error, ISO_ERR_LAUNCH, 0,
			      "%s: it was replaced since the plan was made", what);
	else
		iso_error_set(ret_error, ISO_ERR_LAUNCH, record->value, "%s", what);
	if (is_masked_proc(plan, record))
		iso_error_hint(ret_error,
			       "the host's own /proc is partly covered (as in a container), "
			       "so the kernel allows no fresh one: start the container with "
			       "an unmasked /proc");
	for (size_t i = 0; i < ISO_COUNT(remedies); i++) {
		if (remedies[i].step == record->step &&
		    (remedies[i].os_errno == 0 || remedies[i].os_errno == record->value)) {
			iso_error_hint(ret_error, "%s", remedies[i].hint);
			break;
		}
	}
	if (record->step != ISO_STEP_EXEC) /* there it is the program's own matter */
		hint_refusal(ret_error);
}
