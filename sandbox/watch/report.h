/* From a child's fixed record to words: the parent has the plan, and with it the object. */
#ifndef ISORUN_SANDBOX_WATCH_REPORT_H
#define ISORUN_SANDBOX_WATCH_REPORT_H

#include "sandbox/child/steps.h"
#include "sandbox/plan.h"

/* Describe the failed step of `record`, its object, reason and, where there is one, remedy. */
void iso_report_failure(const struct iso_plan *plan, const struct iso_record *record,
			struct iso_error *ret_error);

/* The same of a set-up that does not get on; `at` says where (iso_step_pack). */
void iso_report_hang(const struct iso_plan *plan, uint64_t at, struct iso_error *ret_error);

/* What a step does, e.g. "enter the working directory". Static; "" for an unknown one. */
const char *iso_step_text(uint32_t step);

#endif
