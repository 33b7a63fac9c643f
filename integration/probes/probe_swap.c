/*
 * An attacker who swaps what a name means as fast as can be:
 * 	probe_swap NAME CANARY MILLISECONDS
 * NAME in the current directory becomes, by turns, a regular file, a link to CANARY (absolute), a
 * link to it through "..", a FIFO, a directory, a link to a directory, nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void put_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, "mine\n", 5) != 5)
		return;
	close(fd);
}

int main(int argc, char **argv)
{
	char relative[512];
	if (argc != 4)
		return 2;
	const char *name = argv[1], *canary = argv[2];
	long long end = now_ms() + atoi(argv[3]);
	snprintf(relative, sizeof(relative), "../../../../../../../..%s", canary);
	for (unsigned int turn = 0; now_ms() < end; turn++) {
		const char *made = ".swap-made";
		remove(made);
		switch (turn % 7) {
		case 0:
			put_file(made);
			break;
		case 1:
			(void)!symlink(canary, made);
			break;
		case 2:
			(void)!symlink(relative, made);
			break;
		case 3:
			mkfifo(made, 0600);
			break;
		case 4:
			mkdir(made, 0700);
			break;
		case 5:
			(void)!symlink("/etc", made);
			break;
		default:
			break;
		}
		if (rename(made, name) < 0) { /* a directory is in the way, or it is one */
			rmdir(name);
			remove(name);
			rename(made, name);
		}
	}
	remove(".swap-made");
	rmdir(name);
	remove(name);
	return 0;
}
