/*
 * `probe_tree make N` fills the current directory with N files in directories of a hundred;
 * `probe_tree change` changes ten things in such a tree, each in its own way; `probe_tree deep N`
 * makes N directories, each in the one before.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(int result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
}

static void write_file(const char *path, const char *text, int flags)
{
	int fd = open(path, O_WRONLY | flags, 0644);
	check(fd, path);
	check((int)write(fd, text, strlen(text)), path);
	close(fd);
}

static void make(unsigned long count)
{
	char path[64];
	for (unsigned long i = 0; i < count; i++) {
		if (i % 100 == 0) {
			snprintf(path, sizeof(path), "d%04lu", i / 100);
			check(mkdir(path, 0755), path);
		}
		snprintf(path, sizeof(path), "d%04lu/f%02lu", i / 100, i % 100);
		write_file(path, "content\n", O_CREAT | O_EXCL);
	}
	check(symlink("f00", "d0000/link"), "link");
}

static void change(void)
{
	struct stat st;
	/* created */
	write_file("d0001/new", "", O_CREAT | O_EXCL);
	write_file("d0002/new\nline", "", O_CREAT | O_EXCL);
	write_file("d0003/bad\xff\xfe", "", O_CREAT | O_EXCL);
	/* modified: in place with the same size and the old time, appended, chmod, relinked */
	check(stat("d0004/f04", &st), "stat");
	write_file("d0004/f04", "CONTENT\n", 0);
	const struct timespec times[2] = {st.st_atim, st.st_mtim};
	check(utimensat(AT_FDCWD, "d0004/f04", times, 0), "utimensat");
	write_file("d0005/f05", "more\n", O_APPEND);
	check(chmod("d0006/f06", 0600), "chmod");
	check(unlink("d0000/link"), "unlink");
	check(symlink("f01", "d0000/link"), "link");
	/* deleted */
	check(unlink("d0007/f07"), "unlink");
	check(unlink("d0008/f08"), "unlink");
	/* moved within its directory's file system: one deleted, one replaced */
	check(rename("d0009/f09", "d0009/f10"), "rename");
}

static void deepen(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		check(mkdir("d", 0755), "mkdir");
		check(chdir("d"), "chdir");
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "make") == 0)
		make(strtoul(argv[2], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "deep") == 0)
		deepen(strtoul(argv[2], NULL, 10));
	else if (argc == 2 && strcmp(argv[1], "change") == 0)
		change();
	else
		return 2;
	return 0;
}
