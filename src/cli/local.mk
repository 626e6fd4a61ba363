bin_PROGRAMS += sandlease

EXTRA_DIST += src/cli/README.md src/cli/cmd/README.md src/cli/copy/README.md \
	src/cli/http/README.md

## what unit tests and fuzz targets need of it, and the program
noinst_LIBRARIES += libcli.a
libcli_a_SOURCES = \
	src/cli/args.c src/cli/args.h \
	src/cli/ask.c src/cli/ask.h \
	src/cli/command.c src/cli/command.h \
	src/cli/config.c src/cli/config.h \
	src/cli/config_file.c src/cli/config_file.h \
	src/cli/duration.c src/cli/duration.h \
	src/cli/escape.c src/cli/escape.h \
	src/cli/interrupts.c src/cli/interrupts.h \
	src/cli/network.c src/cli/network.h \
	src/cli/output.c src/cli/output.h \
	src/cli/pairs.c src/cli/pairs.h \
	src/cli/replay.c src/cli/replay.h \
	src/cli/show.c src/cli/show.h \
	src/cli/story.c src/cli/story.h \
	src/cli/tty.c src/cli/tty.h \
	src/cli/http/client.c src/cli/http/client.h \
	src/cli/http/feed.c src/cli/http/feed.h \
	src/cli/http/outcome.c src/cli/http/outcome.h \
	src/cli/http/sessions.c src/cli/http/sessions.h \
	src/cli/http/stream.c src/cli/http/stream.h \
	src/cli/http/transfer.c src/cli/http/transfer.h \
	src/cli/copy/copy.c src/cli/copy/copy.h \
	src/cli/copy/file.c \
	src/cli/copy/progress.c src/cli/copy/progress.h \
	src/cli/copy/tar.c \
	src/cli/copy/tree.c src/cli/copy/tree.h \
	src/cli/copy/volume.c src/cli/copy/volume.h

sandlease_SOURCES = \
	src/cli/cmd/commands.c src/cli/cmd/commands.h \
	src/cli/cmd/complete.c \
	src/cli/cmd/cp.c \
	src/cli/cmd/create.c src/cli/cmd/create.h \
	src/cli/cmd/doctor.c \
	src/cli/cmd/each.c src/cli/cmd/each.h \
	src/cli/cmd/exec.c \
	src/cli/cmd/forward.c \
	src/cli/cmd/help.c src/cli/cmd/help.h \
	src/cli/cmd/login.c \
	src/cli/cmd/logs.c \
	src/cli/cmd/ls.c \
	src/cli/cmd/main.c \
	src/cli/cmd/open.c \
	src/cli/cmd/ports.c src/cli/cmd/ports.h \
	src/cli/cmd/process.c src/cli/cmd/process.h \
	src/cli/cmd/resume.c \
	src/cli/cmd/rm.c \
	src/cli/cmd/run.c \
	src/cli/cmd/shell.c \
	src/cli/cmd/show.c \
	src/cli/cmd/sleep.c \
	src/cli/cmd/snapshot.c \
	src/cli/cmd/ssh_config.c \
	src/cli/cmd/stats.c \
	src/cli/cmd/update.c \
	src/cli/cmd/usage.c
sandlease_LDADD = libcli.a $(LIBCOMMON) $(CURL_LIBS)
sandlease_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)

dist_man_MANS += src/cli/sandlease.1

## where each shell looks
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = src/cli/completion/sandlease
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = src/cli/completion/_sandlease
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = src/cli/completion/sandlease.fish
