/* Probing asks the kernel by doing, or reads what it says; it never goes by version numbers. */
#include "sandbox/host.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/error.h"

static const struct {
	cap_value_t value;
	const char *name;
} needed[] = {
	{CAP_SYS_ADMIN, "cap_sys_admin"}, {CAP_SETUID, "cap_setuid"}, {CAP_SETGID, "cap_setgid"},
	{CAP_SETPCAP, "cap_setpcap"},	  {CAP_CHOWN, "cap_chown"},   {CAP_MKNOD, "cap_mknod"},
	{CAP_NET_ADMIN, "cap_net_admin"},
};

const char *iso_host_missing_capability(void)
{
	cap_t own = cap_get_proc();
	if (own == NULL)
		return needed[0].name;
	const char *missing = NULL;
	for (size_t i = 0; i < ISO_COUNT(needed) && missing == NULL; i++) {
		cap_flag_value_t value = CAP_CLEAR;
		if (cap_get_flag(own, needed[i].value, CAP_EFFECTIVE, &value) < 0 ||
		    value != CAP_SET)
			missing = needed[i].name;
	}
	(void)cap_free(own);
	return missing;
}

int iso_host_memory(uint64_t *ret_bytes, struct iso_error *err)
{
	struct sysinfo info;
	if (sysinfo(&info) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the host's resources");
	*ret_bytes = (uint64_t)info.totalram * info.mem_unit;
	return 0;
}

int iso_host_probe(struct iso_host *ret_host, struct iso_error *err)
{
	uint64_t memory_bytes;
	struct rlimit nofile;
	if (iso_host_memory(&memory_bytes, err) < 0)
		return -1;
	if (getrlimit(RLIMIT_NOFILE, &nofile) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the host's resources");
	struct iso_id_range host_ids = {0};
	if (geteuid() == 0 && iso_id_range_read(ISO_HOST_IDS_FILE, &host_ids, err) < 0)
		return -1;
	*ret_host = (struct iso_host){
		.euid = geteuid(),
		.egid = getegid(),
		.memory_bytes = memory_bytes,
		.nofile_hard_count = nofile.rlim_max,
		.host_ids = host_ids,
	};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	ret_host->landlock_abi = abi > 0 ? (uint32_t)abi : 0;
	/* Inside a user namespace that does not map them, the ids of nobody do not exist. */
	ret_host->privileged = ret_host->euid == 0 && iso_host_missing_capability() == NULL &&
			       iso_id_range_is_mapped(&host_ids);
	return 0;
}
