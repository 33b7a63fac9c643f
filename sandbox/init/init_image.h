/* The init program, embedded by init_image.S. Read-only, valid for the process's life. */
#ifndef ISORUN_SANDBOX_INIT_INIT_IMAGE_H
#define ISORUN_SANDBOX_INIT_INIT_IMAGE_H

#define ISO_INIT_IMAGE_HIDDEN __attribute__((visibility("hidden")))

extern const char iso_init_image_start[] ISO_INIT_IMAGE_HIDDEN;
extern const char iso_init_image_end[] ISO_INIT_IMAGE_HIDDEN;

#endif
