/*
 * The kernel tells a mount's kind by the mount's id (Linux 6.8), and mountinfo tells everybody's.
 * Of many kinds the kernel has not even a driver, as its list of file systems says.
 */
#include "runner/base/file/slow.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/path.h"

/* Kinds that the kernel answers for itself, from memory or from a disk. */
static const char *const quick[] = {
	"bcachefs",  "bpf",	    "btrfs",	"cgroup",   "cgroup2",	 "configfs",   "cpuset",
	"debugfs",   "devpts",	    "devtmpfs", "efivarfs", "erofs",	 "exfat",      "ext2",
	"ext3",	     "ext4",	    "f2fs",	"fusectl",  "hugetlbfs", "iso9660",    "jfs",
	"mqueue",    "msdos",	    "nilfs2",	"nsfs",	    "ntfs3",	 "overlay",    "pipefs",
	"proc",	     "pstore",	    "ramfs",	"reiserfs", "rootfs",	 "rpc_pipefs", "securityfs",
	"selinuxfs", "sockfs",	    "squashfs", "sysfs",    "tmpfs",	 "tracefs",    "udf",
	"vfat",	     "binfmt_misc", "xfs",	"zfs",
};

/* Kinds whose mount point answers from memory as long as nobody goes in. */
static const char *const quick_outside[] = {"fuse", "fuseblk"};

#define MOUNTINFO_MAX	 ((size_t)64 << 20)
#define STATMOUNT_NUMBER 457   /* on every architecture */
#define STATMOUNT_KIND	 0x20U /* STATMOUNT_FS_TYPE */

static bool is_listed(const char *const *list, size_t count, const char *kind, size_t length)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(list[i]) == length && memcmp(list[i], kind, length) == 0)
			return true;
	}
	return false;
}

static bool is_quick(const char *kind, size_t length)
{
	return is_listed(quick, ISO_COUNT(quick), kind, length);
}

/* "fuse.sshfs" is of the kind "fuse". */
static bool is_quick_outside(const char *kind, size_t length)
{
	const char *dot = memchr(kind, '.', length);
	return is_quick(kind, length) || is_listed(quick_outside, ISO_COUNT(quick_outside), kind,
						   dot != NULL ? (size_t)(dot - kind) : length);
}

/* Read a file of /proc whole; NULL when that fails. */
static char *read_whole(const char *path)
{
	ISO_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t size;
	return fd < 0 || iso_fd_read_all(fd, MOUNTINFO_MAX, &text, &size) < 0 ? NULL : text;
}

/* Whether this kernel knows any kind that is not `accepted`: lines of "nodev" or nothing, a tab,
 * and the kind. */
static bool kernel_knows_others(bool (*accepted)(const char *kind, size_t length))
{
	ISO_AUTO_FREE char *text = read_whole("/proc/filesystems");
	if (text == NULL)
		return true;
	for (const char *line = text; *line != '\0';) {
		const char *end = strchrnul(line, '\n');
		const char *tab = memchr(line, '\t', (size_t)(end - line));
		if (tab != NULL && !accepted(tab + 1, (size_t)(end - tab) - 1))
			return true;
		line = *end == '\0' ? end : end + 1;
	}
	return false;
}

/* One mount of mountinfo: "ID PARENT DEV ROOT POINT OPTIONS [TAGS…] - KIND SOURCE OPTIONS". */
struct mount {
	uint64_t id;
	const char *point;
	size_t point_length; /* as it is written, with octal escapes */
	const char *kind;
	size_t kind_length;
};

/* Read the mount in the line at `line`, and return where the next one is. */
static const char *read_mount(const char *line, struct mount *ret_mount)
{
	const char *end = strchrnul(line, '\n');
	const char *field = line;
	for (int i = 0; i < 4 && field < end; i++)
		field += strcspn(field, " \n") + 1;
	const char *kind = strstr(field, " - ");
	*ret_mount = (struct mount){
		.id = strtoull(line, NULL, 10),
		.point = field,
		.point_length = strcspn(field, " \n"),
		.kind = kind != NULL && kind < end ? kind + 3 : "",
	};
	ret_mount->kind_length = strcspn(ret_mount->kind, " \n");
	return *end == '\0' ? end : end + 1;
}

/* What statmount(2) fills; the kernel's header has it since Linux 6.8. */
struct statmount_answer {
	uint32_t size, options;
	uint64_t mask;
	uint32_t device_major, device_minor;
	uint64_t magic;
	uint32_t flags, kind; /* where its name is in `text` */
	uint64_t others[59];
	char text[512];
};

/* Ask the kernel for the kind of one mount; false: it cannot be asked so. */
static bool ask_kernel(uint64_t unique_id, bool *ret_quick)
{
	const struct {
		uint32_t size, reserved;
		uint64_t id, mask;
	} request = {sizeof(request), 0, unique_id, STATMOUNT_KIND};
	struct statmount_answer answer;
	if (unique_id == 0 || syscall(STATMOUNT_NUMBER, &request, &answer, sizeof(answer), 0) < 0 ||
	    (answer.mask & STATMOUNT_KIND) == 0 || answer.kind >= sizeof(answer.text))
		return false;
	const char *kind = answer.text + answer.kind;
	*ret_quick = is_quick(kind, strnlen(kind, sizeof(answer.text) - answer.kind));
	return true;
}

bool iso_slow_is_mount(const struct iso_mount_id *id)
{
	bool quick_kind;
	if (ask_kernel(id->unique, &quick_kind))
		return !quick_kind;
	ISO_AUTO_FREE char *text = read_whole("/proc/self/mountinfo");
	struct mount mount;
	for (const char *line = text != NULL ? text : ""; *line != '\0';) {
		line = read_mount(line, &mount);
		if (mount.id == id->reused)
			return !is_quick(mount.kind, mount.kind_length);
	}
	return true; /* not of this namespace: nobody can tell */
}

bool iso_slow_is(int fd)
{
	struct iso_mount_id id;
	return iso_file_mount_of(fd, &id) < 0 || iso_slow_is_mount(&id);
}

/* Undo the octal escapes of mountinfo, in place. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from != '\0';) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] != '\0' &&
		    from[3] != '\0') {
			*to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 +
				       (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/*
 * Find a mount that is not `accepted` at or below `path`, or that holds it.
 *
 * ret_point  its mount point, for the caller to free, or NULL when that is not known; NULL: not
 * asked
 */
static bool find_near(const char *path, bool (*accepted)(const char *kind, size_t length),
		      char **ret_point)
{
	if (ret_point != NULL)
		*ret_point = NULL;
	if (!kernel_knows_others(accepted))
		return false;
	ISO_AUTO_FREE char *text = read_whole("/proc/self/mountinfo");
	struct mount mount;
	if (text == NULL)
		return true;
	for (const char *line = text; *line != '\0';) {
		line = read_mount(line, &mount);
		if (accepted(mount.kind, mount.kind_length))
			continue;
		ISO_AUTO_FREE char *point = strndup(mount.point, mount.point_length);
		if (point == NULL)
			return true;
		unescape(point);
		if (!iso_path_is_beneath(point, path) && !iso_path_is_beneath(path, point))
			continue;
		if (ret_point != NULL)
			*ret_point = ISO_TAKE_PTR(point);
		return true;
	}
	return false;
}

bool iso_slow_exists(void)
{
	return find_near("/", is_quick, NULL);
}

bool iso_slow_is_near(const char *path)
{
	return find_near(path, is_quick_outside, NULL);
}

char *iso_slow_find(const char *path)
{
	char *point;
	(void)find_near(path, is_quick, &point); /* an unknown one has no name */
	return point;
}
