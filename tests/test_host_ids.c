/* sandbox/host_ids: the range, its blocks, and what stands in the maps. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/host_ids.h"

static char path[] = "/tmp/isorun-ids.XXXXXX";

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_map_inside(void **state)
{
	char map[ISO_ID_MAP_SIZE];
	(void)state;
	iso_id_map_inside(1879048192, 1000, map);
	assert_string_equal(map, "0 1879048192 65536\n");
	iso_id_map_inside(131072, 65536, map);
	assert_string_equal(map, "0 131072 65535\n65536 196607 1\n");
	assert_int_equal(iso_id_slot(65535), 65535);
	assert_int_equal(iso_id_slot(4000000000u), 65535);
}

/* F012: the owner and the payload change places, all others keep their own. */
static void test_map_mount(void **state)
{
	static const struct {
		uint32_t slot, owner;
		const char *map;
	} cases[] = {
		{1000, 1000, "0 131072 1000\n1000 132072 1\n1001 132073 64535\n"},
		{1000, 0, "0 132072 1\n1000 131072 1\n1 131073 999\n1001 132073 64535\n"},
		{0, 1000, "1000 131072 1\n0 132072 1\n1 131073 999\n1001 132073 64535\n"},
		{1000, 1001, "0 131072 1000\n1001 132072 1\n1000 132073 1\n1002 132074 64534\n"},
		{65535, 65534, "0 131072 65534\n65534 196607 1\n65535 196606 1\n"},
		{1000, 65536, "0 131072 1000\n65536 132072 1\n1001 132073 64535\n"},
		{0, 4294967294u, "4294967294 131072 1\n1 131073 65535\n"},
		{65535, 4294967294u, "0 131072 65535\n4294967294 196607 1\n"},
	};
	char map[ISO_ID_MAP_SIZE];
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		iso_id_map_mount(131072, cases[i].slot, cases[i].owner, map);
		assert_string_equal(map, cases[i].map);
	}
}

/* Whatever the ids: no id of either side stands in two lines, which the kernel would refuse. */
static void test_maps_do_not_overlap(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		char map[ISO_ID_MAP_SIZE];
		uint32_t slot = (uint32_t)random() % ISO_ID_BLOCK;
		uint32_t owner = (uint32_t)random() % (round % 2 == 0 ? ISO_ID_BLOCK : UINT32_MAX);
		uint32_t inside[8], outside[8], count[8];
		unsigned int lines = 0;
		iso_id_map_mount(131072, slot, owner, map);
		for (char *rest = map; *rest != '\0'; lines++) {
			assert_true(lines < 8);
			inside[lines] = (uint32_t)strtoul(rest, &rest, 10);
			outside[lines] = (uint32_t)strtoul(rest, &rest, 10);
			count[lines] = (uint32_t)strtoul(rest, &rest, 10);
			rest++;
			assert_true(outside[lines] >= 131072);
			assert_true(outside[lines] + count[lines] <= 131072 + ISO_ID_BLOCK);
			for (unsigned int i = 0; i < lines; i++) {
				assert_true(inside[lines] >= inside[i] + count[i] ||
					    inside[i] >= inside[lines] + count[lines]);
				assert_true(outside[lines] >= outside[i] + count[i] ||
					    outside[i] >= outside[lines] + count[lines]);
			}
		}
	}
}

static void test_range(void **state)
{
	struct iso_id_range range;
	struct iso_error err = {0};
	(void)state;
	unlink(path);
	assert_int_equal(iso_id_range_read(path, &range, &err), 0);
	assert_int_equal(range.first, 1879048192);
	assert_int_equal(range.block_count, 4094);
	if (geteuid() != 0)
		return; /* a file must be root's */
	write_file("# of this host\n\n  \n65536:2147418112\n");
	assert_int_equal(iso_id_range_read(path, &range, &err), 0);
	assert_int_equal(range.first, 65536);
	assert_int_equal(range.block_count, 32767);
	static const char *const wrong[] = {
		"",
		"\n",
		"65536",
		"65535:65536",
		"65536:65535",
		"65536:65536x",
		"65536:65536:1",
		"-1:65536",
		"65536:2147418113",
		"2147418113:65536",
		"65536:65536\n65536:65536",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_file(wrong[i]);
		assert_int_equal(iso_id_range_read(path, &range, &err), -1);
		assert_int_equal(err.code, ISO_ERR_INVALID);
	}
	write_file("65536:65536\n");
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(iso_id_range_read(path, &range, &err), -1);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chown(path, 1000, 0), 0);
	assert_int_equal(iso_id_range_read(path, &range, &err), -1);
	unlink(path);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(iso_id_range_read(path, &range, &err), -1);
	unlink(path);
}

static void test_subordinate_ids(void **state)
{
	(void)state;
	unlink(path);
	assert_false(iso_id_block_is_subordinate(path, 131072));
	write_file("one:100000:31072\nnonsense\n:\nthree:a:b\ntwo:196608:1\n");
	assert_false(iso_id_block_is_subordinate(path, 131072));
	assert_true(iso_id_block_is_subordinate(path, 65536));
	assert_true(iso_id_block_is_subordinate(path, 196608));
	assert_true(iso_id_block_is_subordinate(path, 131073));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_inside),	    cmocka_unit_test(test_map_mount),
		cmocka_unit_test(test_maps_do_not_overlap), cmocka_unit_test(test_range),
		cmocka_unit_test(test_subordinate_ids),
	};
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return status;
}
