/* runner/workspace: snapshots and diffs, on real trees (DIFF-1 to DIFF-5). */
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/workspace/diff.h"
#include "runner/workspace/snapshot_dir.h"

static char tree[] = "/tmp/isorun-snapshot.XXXXXX";
static int tree_fd = -1;

static void write_file(const char *path, const char *text)
{
	int fd = openat(tree_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static struct iso_snapshot take_with(const struct iso_snapshot_options *options)
{
	struct iso_snapshot snapshot;
	struct iso_error err = {0};
	assert_int_equal(iso_snapshot_take(tree_fd, options, &snapshot, &err), 0);
	return snapshot;
}

static struct iso_snapshot take(void)
{
	struct iso_snapshot snapshot = take_with(&iso_snapshot_standard);
	iso_snapshot_settle(&snapshot);
	return snapshot;
}

/* Compare `before` with now, as text; both snapshots are released. */
static char *changes(struct iso_snapshot *before)
{
	struct iso_snapshot after = take();
	struct iso_diff diff;
	struct iso_error err = {0};
	char *text = NULL;
	assert_int_equal(iso_diff_compare(before, &after, NULL, &diff, &err), 0);
	assert_int_equal(iso_diff_print(&diff, &text, &err), 0);
	iso_diff_done(&diff);
	iso_snapshot_done(before);
	iso_snapshot_done(&after);
	return text;
}

static void expect(struct iso_snapshot *before, const char *expected)
{
	char *text = changes(before);
	assert_string_equal(text, expected);
	free(text);
}

static void test_nothing_changed_is_nothing_listed(void **state)
{
	(void)state;
	mkdirat(tree_fd, "d", 0755);
	write_file("d/f", "x");
	struct iso_snapshot before = take();
	assert_int_equal(before.entry_count, 2);
	char buffer[2];
	int fd = openat(tree_fd, "d/f", O_RDONLY); /* reading is no change */
	assert_int_equal(read(fd, buffer, 1), 1);
	close(fd);
	expect(&before, "");
}

static void test_every_kind_of_change_is_seen(void **state)
{
	(void)state;
	write_file("content", "1");
	write_file("mode", "1");
	write_file("gone", "1");
	write_file("type", "1");
	assert_int_equal(symlinkat("one", tree_fd, "link"), 0);
	mkdirat(tree_fd, "dirmode", 0755);
	mkdirat(tree_fd, "becomes-file", 0755);
	write_file("becomes-file/inner", "1");
	struct iso_snapshot before = take();
	write_file("content", "2");
	assert_int_equal(fchmodat(tree_fd, "mode", 0600, 0), 0);
	unlinkat(tree_fd, "gone", 0);
	unlinkat(tree_fd, "type", 0);
	mkfifoat(tree_fd, "type", 0644);
	unlinkat(tree_fd, "link", 0);
	assert_int_equal(symlinkat("two", tree_fd, "link"), 0);
	assert_int_equal(fchmodat(tree_fd, "dirmode", 0700, 0), 0);
	unlinkat(tree_fd, "becomes-file/inner", 0);
	unlinkat(tree_fd, "becomes-file", AT_REMOVEDIR);
	write_file("becomes-file", "1");
	mkdirat(tree_fd, "new", 0755);
	write_file("new/inner", "1");
	expect(&before, "A  new\nA  new/inner\n"
			"M  becomes-file\nM  content\nM  dirmode\nM  link\nM  mode\nM  type\n"
			"D  becomes-file/inner\nD  gone\n");
}

/* T130: what changes after the snapshot gets a later timestamp, whatever the kernel's tick. */
static void test_the_clock_has_left_the_newest_change_behind(void **state)
{
	(void)state;
	struct stat st;
	struct timespec tick;
	write_file("newest", "a");
	assert_int_equal(fstatat(tree_fd, "newest", &st, 0), 0);
	struct iso_snapshot snapshot = take();
	assert_int_equal(clock_gettime(CLOCK_REALTIME_COARSE, &tick), 0);
	assert_true(snapshot.newest_ctime_ns ==
		    st.st_ctim.tv_sec * 1000000000L + st.st_ctim.tv_nsec);
	assert_true(tick.tv_sec * 1000000000L + tick.tv_nsec > snapshot.newest_ctime_ns);
	iso_snapshot_done(&snapshot);
}

static void test_what_cannot_be_read_is_remembered(void **state)
{
	(void)state;
	struct iso_dir_reader reader;
	struct iso_arena arena;
	const struct iso_patience patience = {ISO_NEVER, -1};
	write_file("file", "");
	int fd = openat(tree_fd, "file", O_RDONLY | O_CLOEXEC);
	assert_int_equal(iso_arena_open(&arena, 1 << 20, false), 0);
	assert_int_equal(iso_dir_reader_init(&reader, false), 0);
	assert_null(
		iso_dir_reader_read(&reader, fd, NULL, 1, &patience, &arena)); /* no directory */
	assert_false(reader.no_memory);
	iso_dir_reader_done(&reader);
	assert_string_equal(reader.incomplete, ISO_CUT_UNREADABLE);
	iso_arena_close(&arena);
	close(fd);
}

/* A second look that fails says so, and not that everything is gone. */
static void test_a_root_that_cannot_be_read_is_no_deletion(void **state)
{
	(void)state;
	struct iso_error err = {0};
	write_file("file", "");
	struct iso_snapshot before = take(), after;
	int fd = openat(tree_fd, ".", O_PATH | O_CLOEXEC);
	assert_int_equal(iso_snapshot_take(fd, &iso_snapshot_standard, &after, &err), 0);
	close(fd);
	struct iso_diff diff;
	assert_int_equal(iso_diff_compare(&before, &after, NULL, &diff, &err), 0);
	assert_string_equal(diff.incomplete, ISO_CUT_UNREADABLE);
	assert_int_equal(diff.deleted.total, 0);
	iso_diff_done(&diff);
	iso_snapshot_done(&before);
	iso_snapshot_done(&after);
}

/* T130: same size, mtime set back, immediately after the snapshot; a hundred times, so that a tick
 * would be hit. */
static void test_a_hidden_change_within_a_tick_is_seen(void **state)
{
	(void)state;
	for (int round = 0; round < 100; round++) {
		write_file("racy", "a");
		struct stat st;
		fstatat(tree_fd, "racy", &st, 0);
		struct iso_snapshot before = take();
		write_file("racy", "b");
		const struct timespec times[2] = {st.st_atim, st.st_mtim};
		utimensat(tree_fd, "racy", times, 0);
		expect(&before, "M  racy\n");
	}
}

static void test_any_name_survives(void **state)
{
	(void)state;
	char longest[256];
	memset(longest, 'n', 255);
	longest[255] = '\0';
	struct iso_snapshot before = take();
	write_file("new\nline", "");
	write_file("bad\xff", "");
	write_file("back\\slash", "");
	write_file("-dash", "");
	write_file(" ", "");
	write_file("\x1b[31m", "");
	write_file(longest, "");
	char expected[700];
	snprintf(expected, sizeof(expected),
		 "A  \\x1b[31m\nA   \nA  -dash\nA  back\\\\slash\nA  bad\\xff\nA  new\\x0aline\nA  "
		 "%s\n",
		 longest);
	expect(&before, expected);
}

/* Deeper than the window of descriptors, with paths longer than PATH_MAX, and a sibling far up. */
static void test_deep_trees_work(void **state)
{
	(void)state;
	enum { DEPTH = 600 };
	int fd = dup(tree_fd);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(fd, "directory", 0755), 0);
		if (i % 50 == 0)
			assert_int_equal(mkdirat(fd, "sibling", 0755), 0);
		int below = openat(fd, "directory", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = below;
	}
	struct iso_snapshot before = take();
	assert_null(before.incomplete);
	assert_int_equal(before.entry_count, DEPTH + DEPTH / 50);
	int leaf = openat(fd, "leaf", O_WRONLY | O_CREAT, 0644);
	close(leaf);
	close(fd);
	struct iso_snapshot after = take();
	struct iso_diff diff;
	struct iso_error err = {0};
	assert_int_equal(iso_diff_compare(&before, &after, NULL, &diff, &err), 0);
	assert_int_equal(diff.created.total, 1);
	assert_int_equal(diff.modified.total, 0);
	assert_true(diff.truncated);
	assert_int_equal(strlen(diff.created.paths[0]), ISO_DIFF_PATH_MAX);
	iso_diff_done(&diff);
	iso_snapshot_done(&before);
	iso_snapshot_done(&after);
}

static void test_skipped_directories_are_not_entered(void **state)
{
	(void)state;
	struct iso_snapshot before = take();
	mkdirat(tree_fd, "node_modules", 0755);
	write_file("node_modules/x", "");
	mkdirat(tree_fd, "sub", 0755);
	mkdirat(tree_fd, "sub/__pycache__", 0755);
	write_file("sub/__pycache__/x", "");
	mkdirat(tree_fd, ".git", 0755);
	mkdirat(tree_fd, ".git/hooks", 0755);
	mkdirat(tree_fd, ".git/objects", 0755);
	write_file(".git/hooks/pre-commit", "");
	write_file(".git/config", "");
	write_file(".git/index", "");
	expect(&before, "A! .git (it makes a repository)\n"
			"A! .git/config (git obeys it)\n"
			"A  .git/hooks\n"
			"A! .git/hooks/pre-commit (git runs it)\n"
			"A  node_modules\nA  sub\nA  sub/__pycache__\n");
}

static void test_links_are_not_followed(void **state)
{
	(void)state;
	mkdirat(tree_fd, "real", 0755);
	assert_int_equal(symlinkat("/", tree_fd, "root"), 0);
	assert_int_equal(symlinkat("real", tree_fd, "alias"), 0);
	assert_int_equal(symlinkat(".", tree_fd, "loop"), 0);
	struct iso_snapshot before = take();
	assert_int_equal(before.entry_count, 4);
	write_file("real/x", "");
	expect(&before, "A  real/x\n");
}

static void test_lists_are_bounded_sorted_and_counted(void **state)
{
	(void)state;
	struct iso_snapshot before = take();
	for (int i = 0; i < 250; i++) {
		char name[32];
		snprintf(name, sizeof(name), "f%03d", 249 - i);
		write_file(name, "");
	}
	struct iso_snapshot after = take();
	struct iso_diff diff;
	struct iso_error err = {0};
	assert_int_equal(iso_diff_compare(&before, &after, NULL, &diff, &err), 0);
	assert_int_equal(diff.created.count, ISO_DIFF_LIST_MAX);
	assert_int_equal(diff.created.total, 250);
	assert_true(diff.truncated);
	for (size_t i = 0; i < diff.created.count; i++) {
		char name[32];
		snprintf(name, sizeof(name), "f%03zu", i);
		assert_string_equal(diff.created.paths[i], name);
	}
	iso_diff_done(&diff);
	iso_snapshot_done(&before);
	iso_snapshot_done(&after);
}

/* Paths sort as whole strings: "a.b" stands before "a/x". */
static void test_order_is_of_whole_paths(void **state)
{
	(void)state;
	struct iso_snapshot before = take();
	mkdirat(tree_fd, "a", 0755);
	write_file("a/x", "");
	write_file("a.b", "");
	write_file("a0", "");
	expect(&before, "A  a\nA  a.b\nA  a/x\nA  a0\n");
}

static void test_DIFF_3_secrets_are_redacted_and_counted(void **state)
{
	(void)state;
	struct iso_snapshot before = take(), after;
	mkdirat(tree_fd, "conf", 0755);
	write_file("conf/Server.PEM", "");
	write_file("conf/plain", "");
	write_file(".env.local", "");
	after = take();
	struct iso_diff diff;
	struct iso_error err = {0};
	assert_int_equal(iso_diff_compare(&before, &after, NULL, &diff, &err), 0);
	assert_int_equal(diff.redacted, 2);
	assert_int_equal(diff.created.count, 4);
	for (size_t i = 0; i < diff.created.count; i++) {
		assert_null(strstr(diff.created.paths[i], "PEM"));
		assert_null(strstr(diff.created.paths[i], ".env"));
	}
	iso_diff_done(&diff);
	iso_snapshot_done(&before);
	iso_snapshot_done(&after);
}

static void test_a_limit_that_is_reached_is_said(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		char name[32];
		snprintf(name, sizeof(name), "d%d", i);
		mkdirat(tree_fd, name, 0755);
		snprintf(name, sizeof(name), "d%d/f", i);
		write_file(name, "");
	}
	struct iso_snapshot_options options = iso_snapshot_standard;
	options.entry_limit = 25;
	struct iso_snapshot snapshot = take_with(&options);
	assert_string_equal(snapshot.incomplete, ISO_CUT_ENTRIES);
	assert_true(snapshot.entry_count <= 25);
	iso_snapshot_done(&snapshot);
	options.entry_limit = 10; /* the first directory alone has more */
	snapshot = take_with(&options);
	assert_string_equal(snapshot.incomplete, ISO_CUT_ENTRIES);
	assert_int_equal(snapshot.entry_count, 0);
	iso_snapshot_done(&snapshot);
	options = iso_snapshot_standard;
	options.memory_limit = 1024;
	snapshot = take_with(&options);
	assert_string_equal(snapshot.incomplete, ISO_CUT_ENTRIES);
	iso_snapshot_done(&snapshot);
	options = iso_snapshot_standard;
	options.depth_limit = 0;
	snapshot = take_with(&options);
	assert_string_equal(snapshot.incomplete, ISO_CUT_DEPTH);
	assert_int_equal(snapshot.entry_count, 20);
	iso_snapshot_done(&snapshot);
}

/* F081: below a depth that no project has, nothing is looked at, and above it nothing is slow. */
static void test_a_tree_of_any_depth_is_left_again(void **state)
{
	(void)state;
	enum { DEPTH = 16000 };
	int fd = dup(tree_fd);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(fd, "d", 0755), 0);
		int below = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = below;
	}
	close(fd);
	write_file("file", "");
	struct iso_snapshot before = take();
	assert_string_equal(before.incomplete, ISO_CUT_DEPTH);
	assert_int_equal(before.entry_count, iso_snapshot_standard.depth_limit + 2);
	write_file("file", "changed");
	expect(&before, "M  file\nincomplete: " ISO_CUT_DEPTH "\n");
}

static void test_a_look_that_is_cancelled_or_late_ends(void **state)
{
	(void)state;
	struct iso_snapshot_options options = iso_snapshot_standard;
	struct iso_snapshot snapshot;
	int pipe_fds[2];
	write_file("file", "");
	options.patience.deadline_ns = 1;
	snapshot = take_with(&options);
	assert_string_equal(snapshot.incomplete, ISO_CUT_TIME);
	iso_snapshot_done(&snapshot);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	options.patience = (struct iso_patience){ISO_NEVER, pipe_fds[0]};
	snapshot = take_with(&options);
	assert_string_equal(snapshot.incomplete, ISO_CUT_CANCELLED);
	iso_snapshot_done(&snapshot);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* F030: the same seen by another process. */
static void test_a_look_from_apart_is_the_same(void **state)
{
	(void)state;
	struct iso_error err = {0};
	struct iso_snapshot before, after;
	struct iso_diff diff;
	mkdirat(tree_fd, "d", 0755);
	write_file("d/f", "1");
	assert_int_equal(
		iso_snapshot_take_apart(tree_fd, tree, &iso_snapshot_standard, &before, &err), 0);
	iso_snapshot_settle(&before);
	after = take();
	assert_int_equal(before.entry_count, 2);
	assert_int_equal(iso_diff_compare(&before, &after, NULL, &diff, &err), 0);
	assert_int_equal(diff.created.total + diff.modified.total + diff.deleted.total, 0);
	iso_diff_done(&diff);
	iso_snapshot_done(&after);
	write_file("d/f", "22");
	expect(&before, "M  d/f\n");
}

/* One worker and two see the same. */
static void test_two_workers_agree_with_one(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		char name[64];
		snprintf(name, sizeof(name), "d%d", i);
		mkdirat(tree_fd, name, 0755);
		for (int j = 0; j < 100; j++) {
			snprintf(name, sizeof(name), "d%d/f%d", i, j);
			write_file(name, "");
		}
	}
	struct iso_snapshot_options one = iso_snapshot_standard;
	one.threads = 1;
	for (int round = 0; round < 20; round++) {
		struct iso_snapshot before = take_with(&one), after = take();
		struct iso_diff diff;
		struct iso_error err = {0};
		assert_int_equal(before.entry_count, 10100);
		assert_int_equal(after.entry_count, 10100);
		assert_int_equal(iso_diff_compare(&before, &after, NULL, &diff, &err), 0);
		assert_int_equal(diff.created.total + diff.modified.total + diff.deleted.total, 0);
		iso_diff_done(&diff);
		iso_snapshot_done(&before);
		iso_snapshot_done(&after);
	}
}

static int make_tree(void **state)
{
	(void)state;
	strcpy(tree + strlen(tree) - 6, "XXXXXX");
	if (mkdtemp(tree) == NULL)
		return -1;
	tree_fd = open(tree, O_RDONLY | O_DIRECTORY);
	return tree_fd < 0 ? -1 : 0;
}

static int remove_tree(void **state)
{
	(void)state;
	char command[64];
	close(tree_fd);
	snprintf(command, sizeof(command), "rm -rf %s", tree);
	return system(command); /* the deep tree has paths that only rm's own walk can name */
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_nothing_changed_is_nothing_listed),
		TREE_TEST(test_every_kind_of_change_is_seen),
		TREE_TEST(test_the_clock_has_left_the_newest_change_behind),
		TREE_TEST(test_what_cannot_be_read_is_remembered),
		TREE_TEST(test_a_root_that_cannot_be_read_is_no_deletion),
		TREE_TEST(test_a_hidden_change_within_a_tick_is_seen),
		TREE_TEST(test_any_name_survives),
		TREE_TEST(test_deep_trees_work),
		TREE_TEST(test_skipped_directories_are_not_entered),
		TREE_TEST(test_links_are_not_followed),
		TREE_TEST(test_lists_are_bounded_sorted_and_counted),
		TREE_TEST(test_order_is_of_whole_paths),
		TREE_TEST(test_DIFF_3_secrets_are_redacted_and_counted),
		TREE_TEST(test_a_limit_that_is_reached_is_said),
		TREE_TEST(test_a_tree_of_any_depth_is_left_again),
		TREE_TEST(test_a_look_that_is_cancelled_or_late_ends),
		TREE_TEST(test_a_look_from_apart_is_the_same),
		TREE_TEST(test_two_workers_agree_with_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
