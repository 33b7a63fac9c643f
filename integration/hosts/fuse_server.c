/*
 * A file system that behaves badly: fuse_server BEHAVIOUR MOUNTPOINT. It says "ready" once it is
 * mounted and serves until a signal ends it.
 *
 *   silent   its root can be looked at, everything else is never answered
 *   dead     nothing at all is answered, once it is mounted
 *   slow     every first look at a name takes ten seconds
 *   liar     impossible sizes, link counts, kinds and names
 *   endless  its root holds more names, however many have been read
 */
#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOW_S	     10
#define INODE_FILE   2
#define INODE_FOLDER 3

static const char *behaviour;

static bool is(const char *name)
{
	return strcmp(behaviour, name) == 0;
}

/* What is asked for and never answered: the kernel waits for as long as we live. */
static bool is_ignored(fuse_ino_t inode)
{
	return is("dead") || (is("silent") && inode != FUSE_ROOT_ID);
}

static struct stat describe(fuse_ino_t inode)
{
	const bool folder = inode == FUSE_ROOT_ID || inode == INODE_FOLDER;
	struct stat st = {
		.st_ino = inode,
		.st_mode = folder ? S_IFDIR | 0755 : S_IFREG | 0644,
		.st_nlink = folder ? 2 : 1,
	};
	if (is("liar") && inode == INODE_FILE) {
		st.st_size = INT64_MAX;
		st.st_blocks = INT64_MAX;
		st.st_nlink = 0;
		st.st_mtime = INT64_MAX;
		st.st_ctime = INT64_MIN;
	}
	return st;
}

static void answer_attributes(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
	(void)info;
	const struct stat st = describe(inode);
	if (!is_ignored(inode))
		fuse_reply_attr(request, &st, 0);
}

static void look_up(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	(void)parent;
	if (is("silent") || is("dead"))
		return;
	if (is("slow"))
		sleep(SLOW_S);
	if (strcmp(name, "file") != 0 && strcmp(name, "folder") != 0 && !is("endless")) {
		fuse_reply_err(request, ENOENT);
		return;
	}
	const fuse_ino_t inode = strcmp(name, "folder") == 0 ? INODE_FOLDER : INODE_FILE;
	const struct fuse_entry_param entry = {.ino = inode, .attr = describe(inode)};
	fuse_reply_entry(request, &entry);
}

static void open_directory(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
	(void)inode;
	if (!is("silent") && !is("dead"))
		fuse_reply_open(request, info);
}

/* Add an entry if it still fits. */
static bool add(fuse_req_t request, char *buffer, size_t size, size_t *used, const char *name,
		fuse_ino_t inode, off_t next)
{
	const struct stat st = describe(inode);
	size_t needed = fuse_add_direntry(request, buffer + *used, size - *used, name, &st, next);
	if (needed > size - *used)
		return false;
	*used += needed;
	return true;
}

static void read_directory(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
			   struct fuse_file_info *info)
{
	static const char *const honest[] = {"file", "folder"};
	static const char *const lies[] = {"file", "file", "folder",	 "..",
					   "a/b",  "",	   "folder/file"};
	const bool liar = is("liar"), endless = is("endless");
	const char *const *names = liar ? lies : honest;
	const off_t count = liar ? 7 : 2;
	char buffer[65536];
	size_t used = 0;
	(void)info;
	if (size > sizeof(buffer))
		size = sizeof(buffer);
	bool fits = inode == FUSE_ROOT_ID;
	for (off_t next = offset + 1; fits && (endless || next <= count); next++) {
		char name[32] = "";
		if (endless)
			snprintf(name, sizeof(name), "name-%lld", (long long)next);
		else
			snprintf(name, sizeof(name), "%s", names[next - 1]);
		fits = add(request, buffer, size, &used, name,
			   strcmp(name, "folder") == 0 ? INODE_FOLDER : INODE_FILE, next);
	}
	fuse_reply_buf(request, buffer, used);
}

static void open_file(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
	if (!is_ignored(inode))
		fuse_reply_open(request, info);
}

static void read_file(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
		      struct fuse_file_info *info)
{
	(void)offset;
	(void)info;
	(void)size;
	if (!is_ignored(inode))
		fuse_reply_buf(request, NULL, 0);
}

static const struct fuse_lowlevel_ops operations = {
	.lookup = look_up,
	.getattr = answer_attributes,
	.opendir = open_directory,
	.readdir = read_directory,
	.open = open_file,
	.read = read_file,
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: fuse_server BEHAVIOUR MOUNTPOINT\n");
		return 2;
	}
	behaviour = argv[1];
	char *options[] = {argv[0], (char *)"-oallow_other,fsname=fuse_server"};
	struct fuse_args args = FUSE_ARGS_INIT(2, options);
	struct fuse_session *session =
		fuse_session_new(&args, &operations, sizeof(operations), NULL);
	if (session == NULL || fuse_set_signal_handlers(session) != 0 ||
	    fuse_session_mount(session, argv[2]) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	fuse_session_loop(session);
	fuse_session_unmount(session);
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	return 0;
}
