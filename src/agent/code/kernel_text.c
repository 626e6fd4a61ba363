/*
 * kernel_text.c: the programs that kernels run, taken in by the assembler.
 *
 * They live in files of their own, where editors and linters know them.
 */
#include "agent/code/kernel_text.h"

/* clang-format off */
#define TAKE_IN(name, files)                                                   \
	__asm__(".pushsection .rodata\n"                                       \
		".globl " name "\n.type " name ", %object\n"                   \
		name ":\n" files                                               \
		".globl " name "_end\n.type " name "_end, %object\n"           \
		name "_end:\n.byte 0\n"                                        \
		".size " name ", . - " name "\n"                               \
		".popsection\n")
/* clang-format on */

#define TEXT_OF(file) ".incbin \"" file "\"\n"
#define NUL ".byte 0\n"

/* the second is only compiled when code asks for it */
TAKE_IN("kernel_text_python",
    TEXT_OF("agent/code/kernel_python.py")
	NUL TEXT_OF("agent/code/kernel_notebook.py"));
TAKE_IN("kernel_text_node", TEXT_OF("agent/code/kernel_node.js"));
