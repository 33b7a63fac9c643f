/* The init program as bytes; INIT_PATH comes from the Makefile. */
	.section .rodata
	.balign 16
	.globl iso_init_image_start
	.hidden iso_init_image_start
	.globl iso_init_image_end
	.hidden iso_init_image_end
iso_init_image_start:
	.incbin INIT_PATH
iso_init_image_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
