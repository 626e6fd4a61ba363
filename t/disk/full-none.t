#!/usr/bin/python3
"""full-none.t: tests a disk that runs full where no cgroup is delegated, so that
sessions are frozen by signals."""
import disk_checks  # noqa: F401, the cases
import disk_world

disk_world.main(cgroup="none")
