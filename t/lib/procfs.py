"""procfs.py: reads facts about processes from /proc."""
import os


def stat(pid):
    """(command, state, parent, start time), or None when the process is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            text = f.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    rest = text[text.rindex(")") + 2:].split()
    return (text[text.index("(") + 1:text.rindex(")")], rest[0],
            int(rest[1]), int(rest[19]))


def alive(pid):
    """Whether any thread lives: the first one may be a zombie while others still
    hold the process's files open."""
    seen = stat(pid)
    if seen is None:
        return False
    try:
        return seen[1] != "Z" or len(os.listdir("/proc/%d/task" % pid)) > 1
    except OSError:
        return False


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            seen = stat(int(name))
            if seen and seen[2] == pid and seen[1] != "Z":
                found.append(int(name))
    return found


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child] + descendants(child)
    return found
