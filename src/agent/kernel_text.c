/*
 * kernel_text.c: the programs that kernels run, taken in by the assembler.
 *
 * They live in files of their own, where editors and linters know them.
 */
#include "agent/kernel_text.h"

/* clang-format off */
#define TAKE_IN(name, file)                                                    \
	__asm__(".pushsection .rodata\n"                                       \
		".globl " name "\n.type " name ", %object\n"                   \
		name ":\n.incbin \"" file "\"\n"                               \
		".globl " name "_end\n.type " name "_end, %object\n"           \
		name "_end:\n.byte 0\n"                                        \
		".size " name ", . - " name "\n"                               \
		".popsection\n")
/* clang-format on */

TAKE_IN("kernel_text_python", "agent/kernel_python.py");
TAKE_IN("kernel_text_node", "agent/kernel_node.js");
