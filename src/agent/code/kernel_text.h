/*
 * kernel_text.h: declares the source texts of the programs that kernels run.
 */
#ifndef SANDLEASE_AGENT_CODE_KERNEL_TEXT_H
#define SANDLEASE_AGENT_CODE_KERNEL_TEXT_H

extern const char kernel_text_python[], kernel_text_python_end[];
extern const char kernel_text_node[], kernel_text_node_end[];

#endif
