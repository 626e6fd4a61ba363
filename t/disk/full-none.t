#!/usr/bin/python3
"""full-none.t: the same where no cgroup is delegated: by signals."""
import disk_checks  # noqa: F401, the cases
import disk_world

disk_world.main(cgroup="none")
