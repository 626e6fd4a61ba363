/*
 * kernel_text.c: embeds the programs that kernels run, by the assembler's
 * .incbin.
 *
 * The programs are files of their own, so that editors and linters know them.
 */
#include "agent/code/kernel_text.h"

/* clang-format off */
#define EMBED(name, files)                                                     \
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

/* Python compiles the second file only when code needs it */
EMBED("kernel_text_python",
    TEXT_OF("agent/code/kernel_python.py")
	NUL TEXT_OF("agent/code/kernel_notebook.py"));
EMBED("kernel_text_node", TEXT_OF("agent/code/kernel_node.js"));
