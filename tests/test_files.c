/* runner/workspace: places beneath a root (PATH), and the file tools (TOOL-3 to TOOL-6). */
#include "tests/needs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/digest.h"
#include "runner/workspace/file_tools.h"

static char root[] = "/tmp/isorun-files.XXXXXX";
static struct iso_workspace workspace;

static void put(const char *name, const char *text)
{
	int fd = openat(workspace.root_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void check_content(const char *name, const char *expected)
{
	char text[256] = "";
	int fd = openat(workspace.root_fd, name, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, expected);
	close(fd);
}

static const char *digest(const char *text)
{
	static char hex[ISO_SHA256_HEX_SIZE];
	iso_sha256_hex(text, strlen(text), hex);
	return hex;
}

static void test_PATH_2_what_a_name_leads_to(void **state)
{
	(void)state;
	needs_openat2();
	static const struct {
		const char *path, *leads_to; /* relative; NULL: refused */
		enum iso_code code;
	} rows[] = {
		{"file", "file", ISO_OK},
		{"dir/../file", "file", ISO_OK},
		{"dir/inner", "dir/inner", ISO_OK},
		{"link", "file", ISO_OK},
		{"up/file", "file", ISO_OK},
		{".", "", ISO_OK},
		{"missing", NULL, ISO_ERR_SYSTEM},
		{"..", NULL, ISO_ERR_DENIED},
		{"dir/../../etc/passwd", NULL, ISO_ERR_DENIED},
		{"out", NULL, ISO_ERR_DENIED},
		{"absolute", NULL, ISO_ERR_DENIED},
		{"loop", NULL, ISO_ERR_DENIED},
		{".git/config", NULL, ISO_ERR_DENIED},
		{"to-git/config", NULL, ISO_ERR_DENIED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_place place = {.fd = -1};
		struct iso_error err = {0};
		int status = iso_workspace_find(&workspace, rows[i].path, &place, &err);
		if ((status == 0) != (rows[i].leads_to != NULL) || err.code != rows[i].code)
			fail_msg("%s: %d \"%s\"", rows[i].path, status, err.message);
		if (status == 0)
			assert_string_equal(place.path, rows[i].leads_to);
		iso_place_done(&place);
	}
}

static void test_TOOL_3_reading(void **state)
{
	(void)state;
	needs_openat2();
	struct iso_text text;
	struct iso_error err = {0};
	assert_int_equal(iso_tool_read(&workspace, "file", 100, &text, &err), 0);
	assert_string_equal(text.data, "content\n");
	assert_int_equal(text.size, 8);
	free(text.data);
	static const struct {
		const char *path;
		uint64_t limit;
		const char *part;
	} rows[] = {
		{"file", 7, "File exceeds configured read limit"},
		{"binary", 100, "UTF-8"},
		{"dir", 100, ""},
		{"fifo", 100, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			iso_tool_read(&workspace, rows[i].path, rows[i].limit, &text, &err), -1);
		if (strstr(err.message, rows[i].part) == NULL)
			fail_msg("%s: \"%s\"", rows[i].path, err.message);
	}
}

static void test_TOOL_4_listing(void **state)
{
	(void)state;
	needs_openat2();
	struct iso_text text;
	struct iso_error err = {0};
	assert_int_equal(iso_tool_list(&workspace, "dir", &text, &err), 0);
	assert_string_equal(text.data, "[\"a\",\"inner\",\"sub/\"]");
	free(text.data);
	assert_int_equal(iso_tool_list(&workspace, ".", &text, &err), 0);
	assert_null(strstr(text.data, ".git"));
	assert_null(strstr(text.data, "\"out\"")); /* a link that leads outside */
	free(text.data);
}

static void test_TOOL_5_compare_and_swap(void **state)
{
	(void)state;
	needs_openat2();
	static const char exists[] = "Existing files require matching expected_sha256";
	struct iso_text text;
	struct iso_error err = {0};
	assert_int_equal(iso_tool_write(&workspace, "new/deep/file", "one", NULL, &text, &err), 0);
	assert_non_null(strstr(text.data, digest("one")));
	free(text.data);
	check_content("new/deep/file", "one");
	static const struct {
		const char *path, *expected, *sentence;
	} rows[] = {
		{"new/deep/file", NULL, exists},
		{"new/deep/file",
		 "0000000000000000000000000000000000000000000000000000000000000000", exists},
		{"new/other", "0000000000000000000000000000000000000000000000000000000000000000",
		 "Expected an existing file"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(iso_tool_write(&workspace, rows[i].path, "two", rows[i].expected,
						&text, &err),
				 -1);
		assert_string_equal(err.message, rows[i].sentence);
	}
	check_content("new/deep/file", "one");
	assert_int_equal(
		iso_tool_write(&workspace, "new/deep/file", "two", digest("one"), &text, &err), 0);
	free(text.data);
	check_content("new/deep/file", "two");
}

static void test_PATH_4_only_regular_files_are_written(void **state)
{
	(void)state;
	static const char *const paths[] = {"fifo", "dir", "out", ".git/config", "absolute"};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct iso_text text;
		struct iso_error err = {0};
		if (iso_tool_write(&workspace, paths[i], "x", NULL, &text, &err) == 0)
			fail_msg("%s was written", paths[i]);
	}
}

/* TOOL-6: what is left of a writer that was killed goes, and nothing else that is not ours. */
static void test_TOOL_6_a_replaced_file_keeps_mode_and_leaves_nothing(void **state)
{
	(void)state;
	needs_openat2();
	struct iso_text text;
	struct iso_error err = {0};
	struct stat st;
	put("program", "one");
	assert_int_equal(fchmodat(workspace.root_fd, "program", 0751, 0), 0);
	assert_int_equal(iso_tool_write(&workspace, "program", "two", digest("one"), &text, &err),
			 0);
	free(text.data);
	assert_int_equal(fstatat(workspace.root_fd, "program", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0751);
	assert_int_equal(iso_tool_list(&workspace, ".", &text, &err), 0);
	assert_null(strstr(text.data, ".isorun-write"));
	free(text.data);
}

static int make_tree(void **state)
{
	static const struct iso_strv no_names = {NULL, 0};
	static const struct {
		const char *text, *name;
	} links[] = {{"file", "link"}, {"dir/..", "up"},
		     {"..", "out"},    {"/etc/passwd", "absolute"},
		     {"loop", "loop"}, {".git", "to-git"}};
	struct iso_error err = {0};
	(void)state;
	if (mkdtemp(root) == NULL || iso_workspace_open(root, &no_names, &workspace, &err) < 0)
		return -1;
	int fd = workspace.root_fd;
	int failed = mkdirat(fd, "dir", 0755) | mkdirat(fd, "dir/sub", 0755) |
		     mkdirat(fd, ".git", 0755) | mkfifoat(fd, "fifo", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		failed |= symlinkat(links[i].text, fd, links[i].name);
	put("file", "content\n");
	put("binary", "\xff\xfe");
	put("dir/inner", "");
	put("dir/a", "");
	put(".git/config", "");
	return failed;
}

static int remove_tree(void **state)
{
	char command[64];
	(void)state;
	iso_workspace_close(&workspace);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_PATH_2_what_a_name_leads_to),
		cmocka_unit_test(test_TOOL_3_reading),
		cmocka_unit_test(test_TOOL_4_listing),
		cmocka_unit_test(test_TOOL_5_compare_and_swap),
		cmocka_unit_test(test_PATH_4_only_regular_files_are_written),
		cmocka_unit_test(test_TOOL_6_a_replaced_file_keeps_mode_and_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
