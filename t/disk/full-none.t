#!/usr/bin/python3
"""full-none.t: the same where no cgroup is delegated: by signals."""
import disk_checks

disk_checks.main(cgroup="none")
