/* The name is resolved once, to a descriptor; what is read and judged is that object. */
#include "runner/workspace/operator_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/patient.h"

int iso_operator_file_read(const char *path, const char *what, size_t limit,
			   struct iso_operator_file *ret_file, struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (iso_named_path_open(path, what, &named, err) < 0)
		return -1;
	if (!S_ISREG(named.mode))
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "open %s \"%s\": it is no regular file", what, path);
	ISO_AUTO_CLOSE int fd = iso_patient_reopen(named.fd, O_RDONLY, NULL);
	ISO_AUTO_FREE char *text = NULL;
	size_t size;
	if (fd < 0 || iso_fd_read_all(fd, limit, &text, &size) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "read %s \"%s\"", what, path);
	ret_file->named = named;
	named = (struct iso_named_path){.fd = -1};
	ret_file->text = ISO_TAKE_PTR(text);
	ret_file->size = size;
	return 0;
}

void iso_operator_file_done(struct iso_operator_file *file)
{
	iso_named_path_done(&file->named);
	free(file->text);
	*file = (struct iso_operator_file){0};
}
