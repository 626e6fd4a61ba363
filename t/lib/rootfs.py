"""rootfs.py: makes a small Debian for a class, of packages that this host has.

    rootfs.why_not()            # why it cannot be made here, or nothing
    rootfs.make("/a/new/dir")   # owned by the service's user

This needs no network and a few seconds; t/sandbox/rootfs.t uses mmdebstrap.
"""
import os
import shutil
import subprocess

PACKAGES = ("apt", "base-files", "bash", "coreutils", "dash", "debianutils", "diffutils",
            "dpkg", "findutils", "grep", "gzip", "hostname", "libc-bin", "login", "mawk", "mount",
            "passwd", "perl-base", "procps", "python3", "sed", "tar", "util-linux")
# directories that the packages' own scripts would make
DIRS = ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "opt", "proc", "root", "run", "srv", "sys", "tmp",
        "dev", "var/backups", "var/cache/apt/archives/partial", "var/lib/apt/lists/partial",
        "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log/apt", "usr/local/bin",
        "usr/local/lib")
NODE = ("/usr/bin/node", "/usr/lib/node_modules/npm")


def output(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def why_not():
    for program in ("dpkg-query", "apt-cache", "setpriv"):
        if not shutil.which(program):
            return "no Debian to copy: there is no %s" % program
    return ""


def closure():
    """PACKAGES and the packages that they depend on, as far as installed here."""
    needed = output("apt-cache", "depends", "--recurse", "--installed", "--no-recommends",
                    "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces",
                    "--no-enhances", *PACKAGES)
    names = {line.strip() for line in needed.splitlines()
             if line and not line.startswith((" ", "<", "|"))}
    there = {line.split("\t")[0] for line in
             output("dpkg-query", "-W", "-f", "${Package}\t${db:Status-Status}\n").splitlines()
             if line.endswith("\tinstalled")}
    return sorted((names | set(PACKAGES)) & there)


def files_of(packages):
    listed = set(output("dpkg-query", "-L", *packages).splitlines())
    return sorted(path for path in listed if path.startswith("/") and path != "/."
                  and os.path.lexists(path) and not path.startswith(("/usr/share/doc", "/usr/share/man",
                                                                      "/usr/share/locale", "/boot"))
                  and (os.path.islink(path) or not os.path.isdir(path)))


def copy(root, files):
    """Copies the files of the list, with the directories they need."""
    feed = subprocess.Popen(["tar", "-c", "-C", "/", "--no-recursion", "-T", "-"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    take = subprocess.Popen(["tar", "-x", "-p", "--no-same-owner", "--keep-directory-symlink",
                             "-C", root], stdin=feed.stdout)
    feed.stdout.close()
    # a path through a link (/bin is a link to /usr/bin) becomes its real path
    real = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in files}
    feed.stdin.write("".join("%s\n" % path[1:] for path in sorted(real)).encode())
    feed.stdin.close()
    if feed.wait() or take.wait():
        raise OSError("cannot copy the packages of this host")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make(root, node=False):
    packages = closure()
    os.makedirs(root)
    for name in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(root + "/usr/" + name, exist_ok=True)
        os.symlink("usr/" + name, root + "/" + name)
    for name in DIRS:
        os.makedirs(root + "/" + name, exist_ok=True)
    files = files_of(packages)
    if node:
        files += [os.path.join(top, name) for tree in NODE for top, _, names in os.walk(tree)
                  for name in names] + [NODE[0]]
    copy(root, files)
    for name in ("passwd", "group"):
        shutil.copy("/usr/share/base-passwd/%s.master" % name, root + "/etc/" + name)
    write(root + "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    os.symlink("mawk", root + "/usr/bin/awk")
    os.symlink("/tmp", root + "/var/tmp")
    write(root + "/var/lib/dpkg/status", output("dpkg-query", "-s", *packages))
    for package in packages:
        write("%s/var/lib/dpkg/info/%s.list" % (root, package), output("dpkg-query", "-L", package))
    if node:
        os.symlink("../lib/node_modules/npm/bin/npm-cli.js", root + "/usr/bin/npm")
    if os.getuid() == 0:
        subprocess.run(["chown", "-hR", "sandlease:", root], check=True)
