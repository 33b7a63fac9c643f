/* From what is prepared to a child in its namespaces, and the program that it becomes. */
#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/reopen.h"
#include "sandbox/init/init_image.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

/* The cgroup namespace is unshared later (sandbox/child/child.c), and for root the user
 * namespace last of all (sandbox/init/init.c): see docs/decisions/002-namespace-order.md. */
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

static int explain_clone(const struct iso_prepared *prepared, int os_errno, struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_LAUNCH, os_errno, "clone into new namespaces");
	if (prepared->child.own_user_namespace && (os_errno == EPERM || os_errno == ENOSPC))
		return iso_error_hint(err,
				      "this host does not let ordinary users make user namespaces: "
				      "isorun doctor names the setting");
	if (os_errno == EPERM)
		return iso_error_hint(
			err, "CAP_SYS_ADMIN is needed: isorun doctor says what is missing");
	return -1;
}

int iso_launch(struct iso_prepared *prepared, const struct iso_cgroup *cgroup,
	       struct iso_process *ret_process, struct iso_error *err)
{
	struct iso_spawn spawn = {
		.flags = NAMESPACES,
		.cgroup_fd = cgroup != NULL ? cgroup->dir_fd : -1,
		.stack = prepared->stack,
		.stack_size = ISO_CHILD_STACK_SIZE,
		.entry = iso_child_main,
		.argument = &prepared->child,
	};
	if (prepared->child.template_fd >= 0)
		spawn.flags &= ~(uint64_t)CLONE_NEWNS; /* it is the template's that is copied */
	if (prepared->child.own_user_namespace)
		spawn.flags |= CLONE_NEWUSER;
	int failed = iso_spawn(&spawn, ret_process);
	if (failed < 0)
		return explain_clone(prepared, -failed, err);

	/* From here on the pair's other end closes when the child does not live any more. */
	prepared->child_control_fd = iso_fd_close(prepared->child_control_fd);
	return 0;
}

static int explain_filling(int os_errno, struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_SYSTEM, os_errno, "fill the init's memfd");
	return os_errno == EFBIG
		       ? iso_error_hint(err,
					"raise the limit of this process's file size: ulimit -f")
		       : -1;
}

static int open_init(struct iso_error *err)
{
	/* cppcheck-suppress comparePointers ; two labels of one section */
	size_t size = (size_t)(iso_init_image_end - iso_init_image_start);
	ISO_AUTO_CLOSE int fd =
		memfd_create("isorun-init", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 every memfd was executable */
		fd = memfd_create("isorun-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fd = iso_fd_above_stdio(fd);
	if (fd < 0) {
		iso_error_set(err, ISO_ERR_UNSUPPORTED, errno, "create an executable memfd");
		return errno == EACCES
			       ? iso_error_hint(err, "set the sysctl vm.memfd_noexec to 0 or 1")
			       : -1;
	}
	if (iso_fd_write_all(fd, iso_init_image_start, size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return explain_filling(errno, err);
	/* A writable descriptor would make every exec fail with ETXTBSY. */
	int read_only = iso_reopen(fd, O_RDONLY);
	if (read_only < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open the init's memfd anew");
	return read_only;
}

int iso_launcher_init(struct iso_launcher *ret_launcher, const struct iso_id_range *host_ids,
		      struct iso_error *err)
{
	int init_fd = open_init(err);
	if (init_fd < 0)
		return -1;
	ret_launcher->init_fd = init_fd;
	iso_idmap_cache_init(&ret_launcher->idmaps, host_ids->first);
	iso_template_cache_init(&ret_launcher->templates);
	iso_host_ids_init(&ret_launcher->host_ids, host_ids);
	return 0;
}

void iso_launcher_done(struct iso_launcher *launcher)
{
	iso_idmap_cache_done(&launcher->idmaps);
	iso_template_cache_done(&launcher->templates);
	iso_host_ids_done(&launcher->host_ids);
	iso_fd_close(launcher->init_fd);
}
