#!/usr/bin/python3
"""full.t: tests a disk that runs full, with cgroups that can be frozen."""
import disk_checks  # noqa: F401, the cases
import disk_world

disk_world.main()
